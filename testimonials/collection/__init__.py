"""The public collection page."""
