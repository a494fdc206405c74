"""The owner's colors on pages of the dashboard that show what visitors will see."""

from flask import Response

from testimonials.core.http.blueprints import settings
from testimonials.core.http.static import compress
from testimonials.core.images.colors import derive_colours
from testimonials.core.mail.look import FONTS, PLAIN
from testimonials.dashboard.framework import require_role
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import find_brand

# Their names in a style sheet, and those of what is derived from the brand's color.
NAMES = {
    "owner": "solid", "on-owner": "on", "owner-accent": "accent", "owner-soft": "soft",
    "owner-tint": "tint", "owner-mark": "mark", "owner-star": "star", "owner-text": "text",
    "owner-muted": "muted", "owner-line": "line",
}  # fmt: skip


def write_owner_styles(color: str, font: str) -> str:
    """Return a brand's colors, in both themes, and its font as custom properties of the page."""
    both = derive_colours(color)
    lines = [
        f"--{own}:light-dark({both.light[name]},{both.dark[name]})" for own, name in NAMES.items()
    ]
    return f":root{{{';'.join(lines)};--owner-font:{FONTS.get(font, PLAIN)}}}"


@settings.get("/dashboard/projects/<project_id>/brand.css")
@require_role(Role.READER)
def show_brand_styles(access: Access) -> Response:
    """Send the brand's colors as a style sheet, since pages here allow no inline style.

    A page links it by `brand_sheet()` of `dashboard/_brand.html`, within its `head`, and draws with
    `var(--owner)`, `var(--on-owner)` and the others of `NAMES`; `.button.brand` does. A script that
    tries another color sets these properties on an element, which the policy allows.
    """
    brand = find_brand(access.project)
    response = Response(write_owner_styles(brand.color, brand.font), mimetype="text/css")
    response.headers["Cache-Control"] = "no-store"
    return compress(response)
