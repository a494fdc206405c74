"""Server rendering of the widget, from the same feed as the script's and with its elements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testimonials.core.web.languages import current_language
from testimonials.projects.models import Project
from testimonials.widget.content.saved_widgets import WidgetSettings, find_settings
from testimonials.widget.design.words import write_words
from testimonials.widget.rendered.cards import Manner, describe_cards, describe_header
from testimonials.widget.selection import Selection
from testimonials.widget.services import describe_feed

# Below this number, cards stand in rows, which end at the same height.
FEW = 4
# What moves by itself or lies over a page needs the script; these take its place.
STILL_KINDS = {"spotlight": "list", "badge-corner": "badge"}


@dataclass(frozen=True)
class Still:
    """What a server-rendered widget shows.

    `kind` is its layout or shape, `classes` are those of its root element; `next` is the cursor of
    the next page, if any.
    """

    kind: str
    classes: str
    settings: WidgetSettings
    words: Mapping[str, str]
    cards: Sequence[dict[str, Any]] = ()
    items: Sequence[dict[str, Any]] = ()
    header: dict[str, Any] | None = None
    badge: dict[str, Any] | None = None
    cta: dict[str, str] | None = None
    next: str | None = None

    @property
    def total(self) -> int:
        """How many cards there are on this page."""
        return len(self.cards)

    @property
    def has_extras(self) -> bool:
        """Whether a card has a recording, answers or marks."""
        return any("extras" in item for item in self.items)

    @property
    def marks(self) -> list[dict[str, str]]:
        """The marks that cards have, each once."""
        found = (mark for card in self.cards for mark in card["extras"]["marks"])
        return list({mark["name"]: mark for mark in found}.values())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.cards or self.badge or self.cta)


def render_still(
    project: Project, selection: Selection, after: str | None = None, *, limit: int | None = None
) -> Still:
    """Return a page of at most `limit` testimonials, by default as many as configured.

    Raises `ValidationFailed` for an invalid cursor.
    """
    settings = find_settings(project, selection.widget)
    feed = describe_feed(project, after, limit, selection, settings)
    config, shape = feed["config"], feed.get("shape", "")
    settings = WidgetSettings(settings.name, config, settings.design)
    header = feed.get("header")
    words = write_words(settings.design["labels"], header)
    shown = header and header["count"] and describe_header(header, words)
    if "badge" in feed:
        badge = shown and shown | {"url": feed["badge"]["url"]}
        kind = STILL_KINDS.get(shape, shape)
        return Still(kind, _classes(kind, settings), settings, words, badge=badge or None)
    kind = shape or (config["layout"] if feed["total"] > 1 else "single")
    if settings.design["layout"] and not shape and feed["total"] > 1:
        kind = STILL_KINDS[settings.design["layout"]]
    is_active = project.is_open and config["showCtaButton"]
    return make_still(
        project,
        settings,
        # What lies over a page would be all of one that it has for itself.
        [] if shape == "popup" else feed["items"],
        kind=kind,
        words=words,
        header=None if shape else shown or None,
        cta=feed.get("cta") if is_active else None,
        next=feed["next"],
    )


def make_still(
    project: Project,
    settings: WidgetSettings,
    items: Sequence[dict[str, Any]],
    *,
    kind: str,
    words: Mapping[str, str] | None = None,
    is_player: bool = False,
    **values: Any,
) -> Still:
    """Return how these items of the feed are shown; see `Manner`."""
    words = words or write_words(settings.design["labels"])
    manner = Manner(kind, settings.config, settings.design, words, project, is_player)
    is_few = kind == "masonry" and len(items) < FEW
    return Still(
        kind,
        _classes(kind, settings) + (" few" if is_few else ""),
        settings,
        words,
        cards=describe_cards(items, manner),
        items=items,
        **values,
    )


def _classes(kind: str, settings: WidgetSettings) -> str:
    """Return the classes of the root element, as `core/widget.js` sets them."""
    names = [
        "tm",
        "carousel" if kind == "strip" else "",
        kind,
        settings.config["cardStyle"],
        settings.design["density"],
        "rtl" if current_language().direction == "rtl" else "",
    ]
    return " ".join(filter(None, names))
