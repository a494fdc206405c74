"""The testimonials for places that take no widget: newsletters, Markdown, feed readers."""
