"""What proves who somebody is, besides a password: passkeys, an app's codes, recovery codes."""
