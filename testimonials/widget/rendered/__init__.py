"""The widget as the server renders it."""
