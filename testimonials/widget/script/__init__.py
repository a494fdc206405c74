"""The widget's script."""
