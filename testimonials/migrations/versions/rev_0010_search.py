"""An index to search testimonials by words."""

revision: str = "0010"
down_revision: str | None = "0009"


def upgrade() -> None:
    """Change the schema."""
