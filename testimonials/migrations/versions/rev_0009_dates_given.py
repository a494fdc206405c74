"""Order what is shown by the date on the card, which an import brings along."""

from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"

INDEXES = {
    "ix_testimonial_visible_pinned_first": ["is_pinned"],
    "ix_testimonial_visible_best_first": ["is_pinned", "rank"],
}


def upgrade() -> None:
    for name, order in INDEXES.items():
        op.drop_index(name, "testimonial")
        columns = ["project_id", "is_visible", *order, "submitted_at", "id"]
        op.create_index(name, "testimonial", columns)
