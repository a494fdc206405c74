"""`testimonials doctor`."""
