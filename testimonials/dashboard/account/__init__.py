"""The account and its activity."""
