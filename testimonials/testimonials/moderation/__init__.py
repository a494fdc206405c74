"""Deciding, editing, tagging and undoing."""
