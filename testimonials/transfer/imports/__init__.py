"""Imports of tables as rows: prepared, worked through in the background, undone."""
