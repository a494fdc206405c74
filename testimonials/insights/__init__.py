"""What the widget, the wall and the collection page do, counted by day."""
