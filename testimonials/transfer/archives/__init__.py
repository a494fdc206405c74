"""Projects and accounts as archives."""
