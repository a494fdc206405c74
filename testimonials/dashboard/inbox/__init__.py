"""The inbox, and one testimonial."""
