"""What the background thread does."""
