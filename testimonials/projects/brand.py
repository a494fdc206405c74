"""A project's brand: the look of every surface without settings of its own."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from marshmallow import fields

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.core.http.fields import Choice, Color, StrictSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import image_url
from testimonials.core.images.colors import TEXTS, derive_colors, find_text
from testimonials.core.images.uploads import Image
from testimonials.core.late import Signal
from testimonials.core.text import normalize
from testimonials.projects.changes import Outcome, Values, change, finish
from testimonials.projects.defaults import SITES
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_edited

# For each trade: a color for businesses without one, the beginnings of words that name the trade in
# the languages of the public pages (without accents), and its schema.org types. Longer words may
# also be the second half of a compound: Landbäckerei.
_FILE = Path(__file__).with_name("trades.json")
_DATA: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
TRADES: dict[str, str] = {trade: data["color"] for trade, data in _DATA.items()}
_WORDS = {trade: data["words"].split() for trade, data in _DATA.items()}
SCHEMA_TRADES = {kind: trade for trade, data in _DATA.items() for kind in data["schema"].split()}
TRADE_NAMES: dict[str, str] = {trade: data["texts"][0] for trade, data in _DATA.items()}
# `site`: as on the owner's website.
FONTS = ("site", "plain", "classic")
# What replaces the website's font on our own pages and in emails, since we don't copy font files.
TYPEFACES = ("plain", "rounded", "classic")


class ReadingSchema(StrictSchema):
    """What was read on the owner's website."""

    color = Color()
    trade = Choice(*TRADES)
    colors = fields.List(Color())
    ground = Color()
    typeface = Choice(*TYPEFACES)
    madeWith = Choice(*SITES)


class BrandUpdateSchema(StrictSchema):
    """The fields of the brand that an owner or agent sets; null unsets one."""

    color = Color(allow_none=True, description="All other colors are derived from it.")
    font = Choice(*FONTS, allow_none=True, description="`site` or null: as on the owner's website.")
    trade = Choice(*TRADES, allow_none=True, description="The kind of business.")


class StoredBrandSchema(StrictSchema):
    """The brand as stored: only the fields that were set, and what was read."""

    color = Color()
    trade = Choice(*TRADES)
    font = Choice(*FONTS)
    read = fields.Nested(ReadingSchema)


# These match only as whole words.
_WHOLE = {"pan", "spa", "app", "apps", "dev", "ai", "api", "data", "nail", "wine", "book"}


@dataclass(frozen=True)
class Brand:
    """The brand in effect: what the owner set, else what their website says, else their trade's."""

    name: str
    website: str
    logo_url: str | None
    color: str
    # One of `FONTS` and one of `TRADES`.
    font: str
    trade: str
    # The website's, one of `TYPEFACES`.
    site_typeface: str = TYPEFACES[0]

    @property
    def typeface(self) -> str:
        """The one of `TYPEFACES` for our own pages and emails."""
        return self.site_typeface if self.font == "site" else self.font


def find_brand(project: Project) -> Brand:
    """Return the project's brand; this needs no query."""
    trade = _read(project, "trade") or guess_trade(project.name)
    return Brand(
        name=project.name,
        website=project.page_config["website"],
        logo_url=image_url(brand_logo_id(project)),
        color=_read(project, "color") or TRADES[trade],
        font=_read(project, "font") or FONTS[0],
        trade=trade,
        site_typeface=_read(project, "typeface") or TYPEFACES[0],
    )


def _read(project: Project, name: str) -> Any:
    """Return what was set, else what was read on the website."""
    return project.brand.get(name) or project.brand.get("read", {}).get(name)


@dataclass(frozen=True)
class Button:
    """The colors of a button and its text in both themes."""

    light: tuple[str, str]
    dark: tuple[str, str]


def find_button(project: Project) -> Button:
    """Return the colors of the collection page's button: its own, else the brand's.

    A text color that isn't readable on the button's own color is replaced.
    """
    own, text = (project.page_config[name] for name in ("buttonColor", "buttonTextColor"))
    if own is None:
        derived = derive_colors(find_brand(project).color)
        return Button(*((theme["solid"], theme["on"]) for theme in (derived.light, derived.dark)))
    colors = own, find_text(own, text or TEXTS[0])
    return Button(colors, colors)


def page_color(project: Project) -> str:
    """Return the color from which the others of the collection page and of emails are derived."""
    return str(project.page_config["buttonColor"] or find_brand(project).color)


def page_logo_id(project: Project) -> str | None:
    """Return the id of the collection page's logo: its own, else the brand's."""
    return project.logo_id or project.brand_logo_id


def brand_logo_id(project: Project) -> str | None:
    """Return the id of the brand's logo, which was the page's before there were brands."""
    return project.brand_logo_id or project.logo_id


# Sent with a locked project and its brand `before` the change. Widgets drop those of their own
# settings that equal it; if it is None, they drop all.
brand_changed = Signal()


def update_brand(project: Project, values: Mapping[str, Any]) -> bool:
    """Change the locked project's brand; return whether anything changed.

    A surface whose own color equals the brand's follows the change.
    """
    merged = {**project.brand, **values}
    brand = {name: value for name, value in merged.items() if value is not None}
    if brand == project.brand:
        return False
    before, project.brand = find_brand(project), brand
    follow_brand(project, before)
    mark_edited(project)
    return True


def set_brand_logo(project: Project, image: Image | None) -> None:
    if project.logo_id == brand_logo_id(project):
        project.logo_id = None
    if image is not None:
        db.session.add(image)
        db.session.flush()
    project.brand_logo_id = image.id if image else None
    mark_edited(project)


def use_brand(project: Project) -> None:
    """Remove the colors and logos that surfaces of the locked project have of their own."""
    project.page_config = project.page_config | {"buttonColor": None, "buttonTextColor": None}
    if project.brand_logo_id:
        project.logo_id = None
    brand_changed.send(project, before=None)
    mark_edited(project)


def follow_brand(project: Project, before: Brand) -> None:
    """Remove surfaces' own colors where they equal those of the brand `before`."""
    if (project.page_config["buttonColor"] or "").upper() == before.color:
        project.page_config = project.page_config | {"buttonColor": None, "buttonTextColor": None}
    brand_changed.send(project, before=before)


@change(
    "brand",
    title=gettext_noop("change the brand"),
    schema=BrandUpdateSchema,
    scope=Scope.CONFIGURE,
    before=lambda project, _target, _values: {
        name: project.brand.get(name) for name in BrandUpdateSchema().fields
    },
    done="Brand updated",
)
def change_brand(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return finish(project, PROJECT_CHANGED, is_changed=update_brand(project, values))


@lru_cache(maxsize=1000)
def guess_trade(name: str) -> str:
    folded = normalize("NFKD", name).lower()
    for word in re.findall(r"[a-z]+", re.sub("[\u0300-\u036f]", "", folded)):
        for trade, stems in _WORDS.items():
            if any(_matches(word, stem) for stem in stems):
                return trade
    return "anything"


def _matches(word: str, stem: str) -> bool:
    if stem in _WHOLE:
        return word == stem
    return word.startswith(stem) or (len(stem) >= 6 and stem in word)
