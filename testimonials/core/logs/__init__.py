"""Logs and error reports, without secrets."""
