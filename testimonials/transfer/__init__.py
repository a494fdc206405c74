"""Data in and out of the service as files: archives of projects and accounts, and tables."""
