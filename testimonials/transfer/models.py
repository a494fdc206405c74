"""Imports of tables."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.projects.models import Project


class TableImport(Base):
    """One import of a table: how far it is, and whether it was undone."""

    __tablename__ = "table_import"
    __table_args__ = (Index("ix_table_import_project_id_created_at", "project_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = mapped_column(ForeignKey(Project.id, ondelete="CASCADE"))
    actor: Mapped[str] = mapped_column(String(254))
    file_name: Mapped[str] = mapped_column(String(255))
    state: Mapped[str] = mapped_column(String(20))
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    # The file, until it is imported.
    content: Mapped[bytes | None] = mapped_column(LargeBinary)
    # Lines.
    total: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    added: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    undone_at: Mapped[datetime | None] = mapped_column(Timestamp)
