"""The testimonials for places that take no widget: newsletters and feed readers."""
