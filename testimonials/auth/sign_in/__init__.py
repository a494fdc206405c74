"""Passwords, sessions and signing in."""
