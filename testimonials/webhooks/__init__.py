"""Webhooks: what happened, sent to addresses that the owner named."""
