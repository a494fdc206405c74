"""The editors of the widget and of the collection page."""
