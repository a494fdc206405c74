"""The widget: its settings, its snippet, its script and the data it shows."""
