"""`serve`: the parent process, its workers, and their connections."""
