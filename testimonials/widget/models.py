"""Saved widgets."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, synonym

from testimonials.core.changed import Settings
from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.projects.defaults import fill_in
from testimonials.projects.models import Project
from testimonials.projects.widget_design import read_design


class SavedWidget(Base):
    """A further widget of a project, with its own name, look and selection.

    The settings of the project's first widget, which has no name, are columns of the project.
    """

    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    name: Mapped[str] = mapped_column(String(40))
    config: Mapped[dict[str, Any]] = mapped_column(JSON)
    design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # Unpublished changes of the editor: `config` and `design`.
    draft: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    # A project's columns have these names.
    widget_config: Mapped[dict[str, Any]] = synonym("config")
    widget_design: Mapped[dict[str, Any]] = synonym("design")
    widget_draft: Mapped[dict[str, Any] | None] = synonym("draft")

    SETTINGS: ClassVar[Settings] = {"name": None, "config": fill_in, "design": read_design}
