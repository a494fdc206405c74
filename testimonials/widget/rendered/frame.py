"""What the pages around a server-rendered widget have in common."""

import hashlib
from base64 import b64encode
from typing import Any

from flask import g, render_template, request
from markupsafe import Markup

from testimonials.core.urls import (
    collection_page_url,
    image_url,
    json_feed_url,
    oembed_url,
    share_picture_url,
    wall_url,
    widget_page_url,
)
from testimonials.projects.models import Project
from testimonials.widget.formats.choosing import add_query
from testimonials.widget.rendered.look import page_styles
from testimonials.widget.rendered.rendering import Still
from testimonials.widget.settings import read_cta

# Further pages, and the wall's order, are not what somebody embeds.
SELECTING = ("shape", "id", "tag", "min", "theme", "widget")


def render_page(
    template: str, project: Project, still: Still, theme: str = "", **values: Any
) -> str:
    """Render a page with the styles of its cards; `theme` overrides the configured one."""
    theme = theme or still.settings.config["theme"]
    has_extras = still.has_extras
    styles = page_styles(still.settings, theme, still.kind, still.total, has_extras=has_extras)
    digest = b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    g.style_source = f"'sha256-{digest}'"
    return render_template(
        template,
        project=describe_project(project),
        feed_url=json_feed_url(project.id),
        oembed_url=oembed_url(_read_address(project)),
        theme=theme,
        # Made from the program's own files; it contains nothing that people typed.
        styles=Markup(styles),  # noqa: S704
        still=still,
        **values,
    )


def _read_address(project: Project) -> str:
    """Return this page's address with what it selects, but for the place within that."""
    query = {name: value for name, value in request.args.items() if value and name in SELECTING}
    below = request.path.removeprefix(f"/{project.slug}/")
    if below != request.path:
        page = f"{collection_page_url(project.slug, project.own_host)}/{below}"
    else:
        page = widget_page_url(project.id)
    return add_query(page, query)


def describe_project(project: Project) -> dict[str, Any]:
    """Return what the pages show of a project besides its testimonials."""
    website: str = project.page_config["website"]
    button = read_cta(project)
    leads_to_page = button["url"] == collection_page_url(project.slug, project.own_host)
    return {
        "name": project.name,
        "wall_url": wall_url(project.slug, project.own_host),
        "share_url": share_picture_url(project.slug, project.own_host),
        "logo_url": image_url(project.logo_id),
        "website": website,
        "website_label": website.partition("://")[2].removeprefix("www.").rstrip("/"),
        # A paused page takes nothing, but the owner's own link may lead anywhere.
        "button": button if project.is_open or not leads_to_page else None,
    }
