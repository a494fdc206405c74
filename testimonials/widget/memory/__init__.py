"""Answers kept as bytes: what of a request tells them apart, and how they are sent."""
