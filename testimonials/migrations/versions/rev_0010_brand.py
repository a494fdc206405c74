"""Give each project a brand, with the color chosen for its widget or its page.

Visitors see no change, since the widget and the page keep their own settings.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"

FORMER_BUTTON = "#4F46E5"
PALETTES = {
    "indigo": "#4F46E5",
    "emerald": "#047857",
    "amber": "#B45309",
    "rose": "#E11D48",
    "sky": "#0369A1",
}


def upgrade() -> None:
    op.add_column("project", sa.Column("brand", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("project", sa.Column("brand_logo_id", sa.String()))
    op.create_index("ix_project_brand_logo_id", "project", ["brand_logo_id"])
    connection = op.get_bind()
    names = ("widget_design", "page_config", "widget_config", "brand")
    project = sa.table("project", sa.column("id"), *(sa.column(each, sa.JSON()) for each in names))
    query = sa.select(project.c.id, *(project.c[each] for each in names[:3]))
    found = [
        {"of": id, "brand": {"color": color}}
        for id, *settings in connection.execute(query).all()
        if (color := _choose_color(*settings))
    ]
    if found:
        connection.execute(project.update().where(project.c.id == sa.bindparam("of")), found)


def _choose_color(
    design: dict[str, Any], page: dict[str, Any], widget: dict[str, Any]
) -> str | None:
    """Return the color that a project has chosen, if any."""
    button = page.get("buttonColor", FORMER_BUTTON).upper()
    return (
        design.get("brandColor")
        or (button if button != FORMER_BUTTON else None)
        or PALETTES.get(widget.get("palette", ""))
    )
