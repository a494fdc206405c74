"""The counts that triggers of the database keep."""
