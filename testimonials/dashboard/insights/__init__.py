"""The Insights page: views, the way to a testimonial, what is read, websites and ratings."""
