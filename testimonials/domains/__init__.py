"""Customers’ own host names: claiming, checking and serving them."""
