"""Backups: made, scheduled and restored."""
