"""The picture that a shared link shows."""
