"""Signing in with the company's account."""
