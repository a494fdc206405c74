"""Changing an account's e-mail address, and taking the account back."""
