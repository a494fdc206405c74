"""What the author of a testimonial may do with it later."""
