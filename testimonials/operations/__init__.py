"""Running the service: server, backups, health, metrics, expiry, and pages about the service."""
