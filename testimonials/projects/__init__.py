"""Projects: their addresses, limits, settings and teams."""
