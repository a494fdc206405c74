"""The Insights page in a browser."""
