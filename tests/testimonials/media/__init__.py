"""Recordings: uploads, checks, serving and removal."""
