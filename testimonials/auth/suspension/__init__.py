"""Suspended accounts: what is refused, and in which words."""
