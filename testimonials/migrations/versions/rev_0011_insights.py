"""What was seen, read and clicked, by day."""

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"


def upgrade() -> None:
    """Change the schema."""
    _create("insight_day", [_text("surface", 10), _text("website", 260)], ["views", "clicks"], True)
    _create("insight_testimonial_day", [_text("testimonial_id", None)], ["seen", "read"])
    _create("insight_funnel_day", [_text("form", 60)], ["opened", "started"])
    op.create_index(
        "ix_insight_testimonial_day_testimonial_id", "insight_testimonial_day", ["testimonial_id"]
    )
    # Ratings over time, and what came in by the collection page, are counted in this index alone.
    op.create_index(
        "ix_testimonial_over_time",
        "testimonial",
        ["project_id", "submitted_at", "source", "status", "deleted_at", "rating"],
    )


def _text(name: str, length: int | None) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=length), nullable=False)


def _create(
    table: str, keys: list[sa.Column[str]], counts: list[str], has_time: bool = False
) -> None:
    times = [sa.Column("last_seen_at", sa.BigInteger(), nullable=False)] if has_time else []
    references = [
        sa.ForeignKeyConstraint(
            [column],
            [f"{target}.id"],
            name=op.f(f"fk_{table}_{column}_{target}"),
            ondelete="CASCADE",
        )
        for column, target in (("project_id", "project"), ("testimonial_id", "testimonial"))
        if column in ("project_id", *(key.name for key in keys))
    ]
    op.create_table(
        table,
        _text("project_id", None),
        _text("day", 10),
        *keys,
        *(sa.Column(name, sa.Integer(), nullable=False) for name in counts),
        *times,
        *references,
        sa.PrimaryKeyConstraint(
            "project_id", "day", *(key.name for key in keys), name=op.f(f"pk_{table}")
        ),
    )
    op.create_index(f"ix_{table}_day", table, ["day"])
