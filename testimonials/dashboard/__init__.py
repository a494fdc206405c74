"""The dashboard: the pages of owners and their colleagues."""
