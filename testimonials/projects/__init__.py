"""Projects, slugs, limits and the settings of their pages and widgets."""
