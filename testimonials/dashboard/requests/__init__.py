"""Requests by mail."""
