"""A project's brand: set once, and what every surface looks like that has no value of its own."""

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
from testimonials.core.http.fields import Choice, Colour, StrictSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import image_url
from testimonials.core.images.colors import TEXTS, derive_colours, find_text
from testimonials.core.images.uploads import Image
from testimonials.core.late import Signal
from testimonials.core.text import normalize
from testimonials.projects.changes import Outcome, Values, change, finish
from testimonials.projects.defaults import SITES
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_edited

# By trade: its color until a business has one of its own, so that no project is grey or indigo;
# beginnings of words that tell it, in the languages of the public pages and without accents; and
# the types of schema.org. A word that has a trade's at its end is of that trade too: Landbäckerei.
_FILE = Path(__file__).with_name("trades.json")
_KNOWN: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
TRADES: dict[str, str] = {trade: known["color"] for trade, known in _KNOWN.items()}
_WORDS = {trade: known["words"].split() for trade, known in _KNOWN.items()}
SCHEMA_TRADES = {kind: trade for trade, each in _KNOWN.items() for kind in each["schema"].split()}
TRADE_NAMES: dict[str, str] = {trade: known["texts"][0] for trade, known in _KNOWN.items()}
# `site`: as the owner's website.
FONTS = ("site", "plain", "classic")
# What stands for a website's font on our own pages and in mails: we copy nobody's font files.
TYPEFACES = ("plain", "rounded", "classic")


class FoundSchema(StrictSchema):
    """What the website has, as far as it was read."""

    color = Colour()
    trade = Choice(*TRADES)
    colors = fields.List(Colour())
    ground = Colour()
    typeface = Choice(*TYPEFACES)
    madeWith = Choice(*SITES)


class BrandUpdateSchema(StrictSchema):
    """What the owner or an agent sets of the brand; null takes it back."""

    color = Colour(allow_none=True, description="All others follow from it.")
    font = Choice(
        *FONTS, allow_none=True, description="`site`: as the owner's website; null: that too."
    )
    trade = Choice(*TRADES, allow_none=True, description="What the business is.")


class StoredBrandSchema(StrictSchema):
    """The brand as it is stored: only what was set, and what was read."""

    color = Colour()
    trade = Choice(*TRADES)
    font = Choice(*FONTS)
    read = fields.Nested(FoundSchema)


# These count only as whole words.
_WHOLE = {"pan", "spa", "app", "apps", "dev", "ai", "api", "data", "nail", "wine", "book"}
_LONG = 6


@dataclass(frozen=True)
class Brand:
    """What is in effect: the owner's choice, else what their website has, else their trade's."""

    name: str
    website: str
    logo_url: str | None
    color: str
    # One of `FONTS` and one of `TRADES`.
    font: str
    trade: str
    # Of the website, one of `TYPEFACES`.
    site_typeface: str = TYPEFACES[0]

    @property
    def typeface(self) -> str:
        """The one of `TYPEFACES` in which our own pages and mails are."""
        return self.site_typeface if self.font == "site" else self.font


def find_brand(project: Project) -> Brand:
    """Return the project's brand; needs no statement."""
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
    """Return what was set, else what a reading of the website found."""
    return project.brand.get(name) or project.brand.get("read", {}).get(name)


@dataclass(frozen=True)
class Button:
    """The colors of a button and of what is written on it, in both themes."""

    light: tuple[str, str]
    dark: tuple[str, str]


def find_button(project: Project) -> Button:
    """Return how the collection page's button looks: its own color, else the brand's.

    Its own stays as it is: where its text could not be read, it gets another text.
    """
    own, text = (project.page_config[name] for name in ("buttonColor", "buttonTextColor"))
    if own is None:
        both = derive_colours(find_brand(project).color)
        return Button(*((each["solid"], each["on"]) for each in (both.light, both.dark)))
    colors = own, find_text(own, text or TEXTS[0])
    return Button(colors, colors)


def page_color(project: Project) -> str:
    """Return the color from which all others of the collection page and of mails follow."""
    return str(project.page_config["buttonColor"] or find_brand(project).color)


def page_logo_id(project: Project) -> str | None:
    """Return the image of the collection page's logo: its own, else the brand's."""
    return project.logo_id or project.brand_logo_id


def brand_logo_id(project: Project) -> str | None:
    """Return the image of the brand's logo, which a page's own was before there was a brand."""
    return project.brand_logo_id or project.logo_id


# Sent with a locked project and its brand as it was `before`: what widgets have of their own goes
# where it is the same, and all of it without one.
brand_changed = Signal()


def update_brand(project: Project, values: Mapping[str, Any]) -> bool:
    """Change what is set of the locked project's brand; return whether anything changed.

    A surface whose own color was the brand's follows it: it had nothing of its own.
    """
    merged = {**project.brand, **values}
    set_now = {name: each for name, each in merged.items() if each is not None}
    if set_now == project.brand:
        return False
    before, project.brand = find_brand(project), set_now
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
    """Take away all that the surfaces of the locked project have of their own."""
    project.page_config = project.page_config | {"buttonColor": None, "buttonTextColor": None}
    if project.brand_logo_id:
        project.logo_id = None
    brand_changed.send(project, before=None)
    mark_edited(project)


def follow_brand(project: Project, before: Brand) -> None:
    """Take away what surfaces have of their own, where that is what the brand was."""
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
    words = re.findall(r"[a-z]+", re.sub("[\u0300-\u036f]", "", folded))
    for word in words:
        for trade, known in _WORDS.items():
            if any(_matches(word, each) for each in known):
                return trade
    return "anything"


def _matches(word: str, known: str) -> bool:
    if known in _WHOLE:
        return word == known
    return word.startswith(known) or (len(known) >= _LONG and known in word)
