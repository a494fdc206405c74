"""Making, scheduling, copying and restoring backups."""
