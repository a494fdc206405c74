"""Questions and forms, recordings, verified customers, imports that can be undone, names."""

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"


def upgrade() -> None:
    """Change the schema."""
    _create_collection_form()
    _create_recording()
    _create_table_import()
    _create_waiting_archive()
    _add_to_project()
    _add_to_testimonial()
    _add_to_others()
    _thank_once()


def _reference(table: str, column: str, target: str, ondelete: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target}")
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=name, ondelete=ondelete)


def _create_collection_form() -> None:
    op.create_table(
        "collection_form",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=80), nullable=False),
        sa.Column("design", sa.JSON(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        _reference("collection_form", "project_id", "project", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection_form")),
    )
    op.create_index(
        "uq_collection_form_project_id_name", "collection_form", ["project_id", "name"], unique=True
    )


def _create_recording() -> None:
    op.create_table(
        "recording",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("testimonial_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.String(length=60), nullable=True),
        sa.Column("codecs", sa.String(length=80), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("poster_id", sa.String(), nullable=True),
        sa.Column("transcript", sa.Text(), nullable=False),
        sa.Column("shows_transcript", sa.Boolean(), nullable=False),
        sa.Column("captions", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        _reference("recording", "project_id", "project", "CASCADE"),
        _reference("recording", "testimonial_id", "testimonial", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recording")),
        sa.UniqueConstraint("testimonial_id", name=op.f("uq_recording_testimonial_id")),
    )
    op.create_index("ix_recording_project_id_created_at", "recording", ["project_id", "created_at"])
    op.create_index(op.f("ix_recording_poster_id"), "recording", ["poster_id"])


def _create_table_import() -> None:
    op.create_table(
        "table_import",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("actor", sa.String(length=254), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("photos", sa.Integer(), nullable=False),
        sa.Column("photos_done", sa.Integer(), nullable=False),
        sa.Column("photos_to", sa.String(), nullable=True),
        sa.Column("outcome", sa.JSON(), nullable=False),
        sa.Column("problem", sa.String(length=300), nullable=True),
        sa.Column("leased_until", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("undone_at", sa.BigInteger(), nullable=True),
        _reference("table_import", "project_id", "project", "CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_table_import")),
    )
    op.create_index(
        "ix_table_import_project_id_created_at", "table_import", ["project_id", "created_at"]
    )
    op.create_index("ix_table_import_state", "table_import", ["state"])


def _create_waiting_archive() -> None:
    op.create_table(
        "waiting_archive",
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _reference("waiting_archive", "account_id", "account", "CASCADE"),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_waiting_archive")),
    )


def _add_to_project() -> None:
    op.add_column(
        "project", sa.Column("page_design", sa.JSON(), server_default="{}", nullable=False)
    )
    op.add_column("project", sa.Column("cover_id", sa.String(), nullable=True))
    op.add_column("project", sa.Column("portrait_id", sa.String(), nullable=True))
    op.add_column(
        "project", sa.Column("private_questions", sa.JSON(), server_default="[]", nullable=False)
    )
    op.add_column("project", sa.Column("purchase_secret", sa.String(), nullable=True))
    op.create_index(op.f("ix_project_cover_id"), "project", ["cover_id"])
    op.create_index(op.f("ix_project_portrait_id"), "project", ["portrait_id"])


def _add_to_testimonial() -> None:
    op.add_column(
        "testimonial",
        sa.Column("kind", sa.String(length=10), server_default="written", nullable=False),
    )
    op.add_column("testimonial", sa.Column("answers", sa.JSON(), nullable=True))
    op.add_column("testimonial", sa.Column("form_name", sa.String(length=60), nullable=True))
    op.add_column(
        "testimonial",
        sa.Column("is_rewarded", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column(
        "testimonial", sa.Column("purchase_reference", sa.String(length=120), nullable=True)
    )
    op.add_column("testimonial", sa.Column("purchase_verified_at", sa.BigInteger(), nullable=True))
    op.add_column("testimonial", sa.Column("import_id", sa.String(), nullable=True))
    op.create_index(
        "uq_testimonial_project_id_purchase_reference",
        "testimonial",
        ["project_id", "purchase_reference"],
        unique=True,
    )
    op.create_index(op.f("ix_testimonial_import_id"), "testimonial", ["import_id"])


def _add_to_others() -> None:
    op.add_column("account", sa.Column("display_name", sa.String(length=80), nullable=True))
    op.add_column(
        "notification_choice",
        sa.Column("decides_by_mail", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("invitation", sa.Column("started_at", sa.BigInteger(), nullable=True))
    op.add_column(
        "invitation", sa.Column("purchase_reference", sa.String(length=120), nullable=True)
    )
    op.add_column("invitation_batch", sa.Column("form_name", sa.String(length=60), nullable=True))
    op.add_column("outbox_mail", sa.Column("sender_name", sa.String(length=120), nullable=True))
    op.add_column("testimonial_change", sa.Column("project_id", sa.String(), nullable=True))
    op.add_column("testimonial_change", sa.Column("undone_at", sa.BigInteger(), nullable=True))
    op.add_column(
        "testimonial_change",
        sa.Column("is_by_mail", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_index(
        "ix_testimonial_change_project_id_created_at",
        "testimonial_change",
        ["project_id", "created_at"],
    )


def _thank_once() -> None:
    """Shorten the message that nobody chose: the page's heading says thank you by name."""
    shorter = "Your words mean a lot to us."
    project = sa.table("project", sa.column("id"), sa.column("page_config", sa.JSON()))
    connection = op.get_bind()
    for key, config in connection.execute(sa.select(project.c.id, project.c.page_config)).all():
        if config.get("thankYouMessage") == f"Thank you! {shorter}":
            changed = config | {"thankYouMessage": shorter}
            chosen = sa.update(project).where(project.c.id == key)
            connection.execute(chosen.values(page_config=changed))
