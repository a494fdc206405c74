"""Recordings of testimonials: how they are described, captioned and opened."""
