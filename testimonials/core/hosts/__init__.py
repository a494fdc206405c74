"""Customers’ own host names in requests and links, and what the DNS says of them."""
