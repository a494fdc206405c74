"""Backups off this machine: copied, encrypted, fetched and rehearsed."""
