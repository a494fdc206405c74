"""The database and files."""
