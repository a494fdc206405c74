"""The widget's design: its colours, looks and words."""
