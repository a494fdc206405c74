"""A project's team and the invitations to it."""
