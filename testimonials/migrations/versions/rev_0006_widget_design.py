"""The widget's design, saved widgets, highlighted words, replies and pictures."""

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"


def upgrade() -> None:
    """Change the schema."""
    op.add_column(
        "project", sa.Column("widget_design", sa.JSON(), server_default="{}", nullable=False)
    )
    op.add_column("project", sa.Column("widget_draft", sa.JSON(), nullable=True))
    op.add_column("testimonial", sa.Column("highlights", sa.JSON(), nullable=True))
    op.add_column("testimonial", sa.Column("reply", sa.Text(), nullable=True))
    op.add_column("testimonial", sa.Column("replied_at", sa.BigInteger(), nullable=True))
    # SQLite can't add a stored one, and PostgreSQL has no other before version 18.
    persisted = True if op.get_bind().dialect.name == "postgresql" else None
    computed = sa.Computed("coalesce(rating, 0)", persisted=persisted)
    op.add_column("testimonial", sa.Column("rank", sa.Double(), computed, nullable=False))
    op.create_index(
        "ix_testimonial_visible_best_first",
        "testimonial",
        ["project_id", "is_visible", "is_pinned", "rank", "created_at", "id"],
    )
    op.create_table(
        "saved_widget",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("design", sa.JSON(), nullable=False),
        sa.Column("draft", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_saved_widget_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_widget")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_saved_widget_project_id_name")),
    )
    _create_pictures()


def _create_pictures() -> None:
    op.create_table(
        "testimonial_picture",
        sa.Column("testimonial_id", sa.String(), nullable=False),
        sa.Column("look", sa.String(length=20), nullable=False),
        sa.Column("size", sa.String(length=20), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        *(
            sa.ForeignKeyConstraint(
                [f"{target}_id"],
                [f"{target}.id"],
                name=op.f(f"fk_testimonial_picture_{target}_id_{target}"),
                ondelete="CASCADE",
            )
            for target in ("testimonial", "project")
        ),
        sa.PrimaryKeyConstraint(
            "testimonial_id", "look", "size", name=op.f("pk_testimonial_picture")
        ),
    )
    op.create_index(
        op.f("ix_testimonial_picture_project_id_created_at"),
        "testimonial_picture",
        ["project_id", "created_at"],
    )
