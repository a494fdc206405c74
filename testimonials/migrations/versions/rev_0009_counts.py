"""Counts of testimonials, kept by the database."""

revision: str = "0009"
down_revision: str | None = "0008"


def upgrade() -> None:
    """Change the schema."""
