"""A whole project in one call, which is safe to repeat."""
