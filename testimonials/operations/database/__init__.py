"""The schema, upgrades, and moving to PostgreSQL."""
