"""The operator’s pages in Chromium."""
