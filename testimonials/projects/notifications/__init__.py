"""Who hears of new testimonials by mail."""
