"""Tests of webhooks and of the list of events."""
