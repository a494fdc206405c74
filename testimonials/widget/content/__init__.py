"""Which testimonials a widget shows, and in which order."""
