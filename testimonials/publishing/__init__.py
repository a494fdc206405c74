"""Widgets, walls and fragments as files, which a static host serves."""
