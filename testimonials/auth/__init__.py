"""Accounts, signing in, and who calls the API."""
