"""Asking people for testimonials by mail."""
