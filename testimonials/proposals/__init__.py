"""Proposals: what agents would change, and what the owner decides about it."""
