"""Changing an account's e-mail address."""
