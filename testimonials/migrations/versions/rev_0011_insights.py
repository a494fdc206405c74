"""What was seen, read and clicked, by day."""

revision: str = "0011"
down_revision: str | None = "0010"


def upgrade() -> None:
    """Change the schema."""
