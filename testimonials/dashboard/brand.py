"""The brand page, and the style sheet with a project's colors."""

import io
from typing import Any

from flask import Response, request, url_for

from testimonials.core.audit import record
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Color, OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.static import compress
from testimonials.core.http.urls import collection_page_url, face_url, wall_url
from testimonials.core.images import uploads
from testimonials.core.images.colors import TEXTS, derive_colors, find_text, from_hex
from testimonials.core.mail.outbox import FONTS, PLAIN
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    keep_removed,
    require_role,
    take_removed,
)
from testimonials.projects import brand as brands
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import Brand, find_brand
from testimonials.projects.defaults import BUSINESS_NAME_LENGTH, WEBSITE_LENGTH
from testimonials.projects.events import PAGE_CHANGED, PROJECT_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.projects import Website, find_free_slug
from testimonials.projects.settings import update_page_config
from testimonials.projects.website import READINGS, WebsiteReading, read_website, store_reading
from testimonials.projects.widget_design import choose_brand
from testimonials.testimonials.samples import PEOPLE, SAMPLES
from testimonials.widget.settings import find_settings

# Custom properties, and the derived color that each is set to.
NAMES = {
    "owner": "solid", "on-owner": "on", "owner-accent": "accent", "owner-soft": "soft",
    "owner-tint": "tint", "owner-mark": "mark", "owner-star": "star", "owner-text": "text",
    "owner-muted": "muted", "owner-line": "line",
}  # fmt: skip
# Names of colors, by their highest OKLCH hue in degrees.
HUES = {
    33: gettext_noop("Red"), 43: gettext_noop("Orange-red"), 78: gettext_noop("Orange"),
    112: gettext_noop("Yellow"), 175: gettext_noop("Green"), 215: gettext_noop("Turquoise"),
    272: gettext_noop("Blue"), 325: gettext_noop("Violet"), 360: gettext_noop("Pink"),
}  # fmt: skip
FONT_NAMES = {
    "site": gettext_noop("As your site"),
    "plain": gettext_noop("Plain"),
    "classic": gettext_noop("Classic"),
}
# The number of cards in the preview, and of swatches beside the chosen color.
CARDS, SWATCHES = 4, 4
ANOTHER = "another"


class TrialForm(FormSchema):
    color = Color()
    ground = Color()
    font = Choice(*brands.TYPEFACES)


def write_owner_styles(color: str, font: str, ground: str | None = None) -> str:
    """Return a brand's colors in both themes, font and website's `ground` as custom properties."""
    both = derive_colors(color)
    lines = [
        f"--{own}:light-dark({both.light[name]},{both.dark[name]})" for own, name in NAMES.items()
    ]
    if ground:
        lines += [f"--owner-ground:{ground}", f"--on-owner-ground:{find_text(ground, TEXTS[1])}"]
    return f":root{{{';'.join(lines)};--owner-font:{FONTS.get(font, PLAIN)}}}"


@settings.get("/dashboard/projects/<project_id>/brand.css")
@require_role(Role.READER)
def show_brand_styles(access: Access) -> Response:
    """Send the brand's colors as a style sheet, since pages allow no inline style.

    Pages link it by `brand_sheet()` of `dashboard/_brand.html` in their `head`, and use the custom
    properties of `NAMES`, such as `var(--owner)`.
    """
    brand, read = find_brand(access.project), access.project.brand.get("read", {})
    return _send_styles(brand.color, brand.typeface, read.get("ground"))


@settings.get("/dashboard/brand.css")
def show_tried_styles() -> Response:
    """Send the same for ``?color=`` and ``?font=``, for a script to try out."""
    tried = TrialForm().read(request.args).values
    color = tried.get("color") or brands.TRADES["anything"]
    return _send_styles(color, tried.get("font") or brands.TYPEFACES[0], tried.get("ground"))


def _send_styles(color: str, font: str, ground: str | None) -> Response:
    response = Response(write_owner_styles(color, font, ground), mimetype="text/css")
    response.headers["Cache-Control"] = "no-store"
    return compress(response)


screen = ProjectPage(settings, "settings/brand", "settings/brand.html")


class Swatch(Color):
    """A color, or `ANOTHER` for the one in the field beside it."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **options: Any) -> Any:
        return value if value == ANOTHER else super()._deserialize(value, attr, data, **options)


class BrandForm(FormSchema):
    businessName = OneLine(BUSINESS_NAME_LENGTH, attribute="name", load_default="")
    website = Website(WEBSITE_LENGTH, load_default="")
    color = Swatch()
    another = Color()
    trade = Choice(*brands.TRADES)
    font = Choice(*brands.FONTS)


@screen.show
def show_brand(access: Access) -> Values:
    project, brand = access.project, find_brand(access.project)
    return describe_screen(brand, project.brand) | {
        "typed": fill_in(brand, project.business_name),
        "own": _list_own(project, brand),
        "page_url": collection_page_url(project.slug, project.own_host),
        "wall_url": wall_url(project.slug, project.own_host),
    }


def describe_screen(brand: Brand, stored: Values) -> Values:
    """Return what a brand's form offers and its preview shows; `stored` is the project's brand.

    A brand without a color has that of its trade.
    """
    read = stored.get("read", {})
    colors = dict.fromkeys([brand.color, *read.get("colors", []), *brands.TRADES.values()])
    return {
        "brand": brand,
        "ground": read.get("ground"),
        "has_color": bool(stored.get("color") or read.get("color")),
        "swatches": {color: _(name_color(color)) for color in [*colors][: 1 + SWATCHES]},
        "trades": brands.TRADE_NAMES,
        "trade_colors": brands.TRADES,
        "fonts": FONT_NAMES,
        "is_darker": derive_colors(brand.color).light["solid"] != brand.color,
        "cards": {trade: _list_cards(trade) for trade in brands.TRADES},
    }


def next_address(name: str) -> str:
    """Return the address that the page of a new project with this name would get, or ""."""
    slug = find_free_slug(name.replace("\0", ""))
    return collection_page_url(slug).partition("://")[2] if slug else ""


def name_color(color: str) -> str:
    """Return the English name of a color."""
    lightness, chroma, hue = from_hex(color)
    if chroma < 0.04:
        dark, light = gettext_noop("Black"), gettext_noop("White")
        return dark if lightness < 0.3 else light if lightness > 0.95 else gettext_noop("Grey")
    if 43 <= hue < 95 and lightness < 0.5:
        return gettext_noop("Brown")
    return next(name for limit, name in HUES.items() if hue < limit)


def fill_in(brand: Brand, name: str) -> Values:
    return {
        "businessName": name, "website": brand.website, "color": brand.color,
        "another": brand.color, "trade": brand.trade, "font": brand.font,
    }  # fmt: skip


def _list_cards(trade: str) -> list[Values]:
    """Return samples of a trade for the preview, with `{name}` for the name of the business."""
    return [
        {
            "name": PEOPLE[sample.who],
            "face": face_url(sample.who),
            "rating": sample.rating,
            "text": sample.text,
        }
        for sample in SAMPLES[trade][:CARDS]
    ]


def _list_own(project: Project, brand: Brand) -> list[str]:
    """Return the names of those that have a color of their own: the widget, the page."""
    widget = find_settings(project)
    own = []
    if choose_brand(widget.config, widget.design) != brand.color:
        own.append(_("Widget"))
    if (project.page_config["buttonColor"] or brand.color).upper() != brand.color:
        own.append(_("Page"))
    return own


@screen.save(BrandForm)
def save_brand(access: Access, **values: Any) -> Done:
    keep_brand(access.project, find_brand(access.project), **values)
    return Done(_("Saved"))


def keep_brand(project: Project, shown: Brand, *, name: str, website: str, **values: Any) -> None:
    """Store a form's values for the locked project, except those that equal `shown` defaults."""
    before = project.updated_at
    update_page_config(project, {"businessName": name, "website": website})
    if project.updated_at != before:
        record(PAGE_CHANGED, project)
    chosen = choose(values, shown)
    # A trade that was guessed from the old name stays.
    if shown.trade != brands.guess_trade("") and find_brand(project).trade != shown.trade:
        chosen.setdefault("trade", shown.trade)
    if brands.update_brand(project, brands.BrandUpdateSchema().check(chosen)):
        record(PROJECT_CHANGED, project)


def choose(values: Values, shown: Brand) -> dict[str, str]:
    """Return the color, trade and font of a form that differ from those `shown`."""
    color = values.get("color")
    chosen = {
        "color": values.get("another") if color in (None, ANOTHER) else color,
        "trade": values.get("trade"),
        "font": values.get("font"),
    }
    return {
        name: value for name, value in chosen.items() if value not in (None, getattr(shown, name))
    }


def read_logo() -> uploads.Image | None:
    """Return the logo in a form, if any; raise `ValidationFailed`."""
    file = request.files.get("logo")
    try:
        return uploads.read_image(file.stream, uploads.LOGO) if file and file.filename else None
    except (uploads.ImageRefused, uploads.ImageBusy) as error:
        raise ValidationFailed.of({"logo": [error.shown]}) from None


def _read_logo(access: Access, **_sent: Any) -> uploads.Image:
    file = request.files.get("logo")
    return uploads.read_image(file.stream if file else io.BytesIO(), uploads.LOGO)


@screen.save(at="/logo", prepare=_read_logo, takes=uploads.UPLOAD_FORM_BYTES)
def save_logo(access: Access, prepared: uploads.Image) -> Done:
    _set_logo(access.project, prepared)
    return Done(_("Saved"))


@screen.save(at="/logo/remove")
def remove_logo(access: Access) -> Done:
    undo = keep_removed(access.project, "logo", image=brands.brand_logo_id(access.project))
    _set_logo(access.project, None)
    return Done(_("Removed"), undo=undo, undo_url=url_for(".bring_logo_back"))


@screen.save(UndoForm, at="/logo/undo")
def bring_logo_back(access: Access, undo: str) -> Done:
    image = take_removed(access.project, "logo", undo)["image"]
    _set_logo(access.project, image and db.session.get(uploads.Image, image))
    return Done(_("Restored"))


def _set_logo(project: Project, image: uploads.Image | None) -> None:
    brands.set_brand_logo(project, image)
    record(PROJECT_CHANGED, project)


def _read_website(access: Access, **_sent: Any) -> WebsiteReading:
    # Read first, since counting closes the session.
    account_id, url = access.project.account_id, access.project.page_config["website"]
    limiter.count(READINGS, account_id)
    return read_website(url)


@screen.save(at="/read", prepare=_read_website)
def read_again(access: Access, prepared: WebsiteReading) -> Done:
    store_reading(access.project, prepared)
    record(PROJECT_CHANGED, access.project)
    return Done(_("Done"))


@screen.save(at="/everywhere")
def use_everywhere(access: Access) -> Done:
    """Remove the colors that widgets and the page have of their own."""
    brands.use_brand(access.project)
    record(PROJECT_CHANGED, access.project)
    return Done(_("Saved"))
