"""Imports of tables."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.projects.models import Project


class TableImport(Base):
    """An import of a table and its progress.

    Its state is `draft` while a person maps the columns, `running`, `stopped` (by a person, or
    because of a `problem`), `done` or `undone`.
    """

    __table_args__ = (
        Index("ix_table_import_project_id_created_at", "project_id", "created_at"),
        Index("ix_table_import_state", "state"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    # Who imports; only a name if it is not an account.
    account_id: Mapped[str | None]
    actor: Mapped[str] = mapped_column(String(254))
    file_name: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(20))
    # How the file is read: `columns`, `order`, `status`, `encoding`, `repairs`, `photos`.
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    # The file, compressed, until it is imported.
    content: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    # The number of lines to add, of those processed, and of those added.
    total: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    added: Mapped[int] = mapped_column(default=0)
    # The number of pictures to copy and of those tried, and the last testimonial that was tried.
    photos: Mapped[int] = mapped_column(default=0)
    photos_done: Mapped[int] = mapped_column(default=0)
    photos_to: Mapped[str | None]
    # The counts of lines `there` and `refused`, the first `photos` that failed, and how many
    # testimonials an undo has `removed`.
    outcome: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    problem: Mapped[str | None] = mapped_column(String(300))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    undone_at: Mapped[datetime | None] = mapped_column(Timestamp)
