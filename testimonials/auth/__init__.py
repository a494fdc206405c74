"""Accounts, API keys and claiming."""
