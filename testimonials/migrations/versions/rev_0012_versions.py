"""PostgreSQL tells every host when a project changes."""

revision: str = "0012"
down_revision: str | None = "0011"


def upgrade() -> None:
    """Change the schema."""
