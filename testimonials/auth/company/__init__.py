"""Signing in with the company's account, by OpenID Connect."""
