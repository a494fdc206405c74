"""A project's settings, team and notifications."""
