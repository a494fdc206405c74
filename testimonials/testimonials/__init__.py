"""Testimonials and the samples of a first project."""
