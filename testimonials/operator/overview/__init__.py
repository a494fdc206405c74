"""What the operator’s first page says: what needs somebody, and how everything is."""
