"""The database, and files."""
