"""Running the service: health, expiry, the sample, the documents it serves, admin commands."""
