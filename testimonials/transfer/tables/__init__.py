"""Testimonials as CSV and JSON."""
