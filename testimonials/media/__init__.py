"""Recordings: uploads, files, and the doors they are served at."""
