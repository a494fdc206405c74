"""Reports of abuse: what visitors tell of public pages, and what operators do about it."""
