"""The widget as the server renders it."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from flask import g, render_template, request
from markupsafe import Markup

from testimonials.core.http import urls
from testimonials.core.http.i18n import current_language, format_average, format_number
from testimonials.core.images.colors import NAMES, draw_face
from testimonials.core.text import split_text
from testimonials.projects.brand import find_brand
from testimonials.projects.models import Project
from testimonials.projects.widget_design import list_colors, read_colors
from testimonials.widget.container import BADGES, SELECTING, Selection, add_query
from testimonials.widget.drafts import read_cta
from testimonials.widget.script import FOLDER, read_styles, squeeze
from testimonials.widget.settings import (
    FONTS,
    WidgetSettings,
    describe_feed,
    describe_proof,
    find_settings,
)
from testimonials.widget.words import write_dates, write_words

# The parts of a widget, like those that `static/widget/pieces/cards.js` makes from the feed.

# Longer texts are cut, with a link to the testimonial's own page.
LONG = {"masonry": 600, "carousel": 600, "list": 1_000}
# The classes of texts up to a weight.
SIZES = ((30, "text short tiny"), (64, "text short"), (140, "text medium"))

_WEB = re.compile(r"https?://", re.IGNORECASE)
_WIDE = re.compile("[\u2e80-\ud7ff]")


@dataclass(frozen=True)
class CardOptions:
    """How the cards of a widget are drawn; `kind` is its layout or shape.

    Recordings are links, or with `is_player` players without a script. `record` is the URL of
    records in the feed.
    """

    kind: str
    config: Mapping[str, Any]
    design: Mapping[str, Any]
    words: Mapping[str, str]
    project: Project
    is_player: bool = False
    record: str = ""


def describe_cards(items: Sequence[dict[str, Any]], options: CardOptions) -> list[dict[str, Any]]:
    dates = [""] * len(items)
    if options.config["showDates"]:
        times = [item["submittedAt"] for item in items]
        dates = write_dates(times, options.design["dateStyle"], is_long=options.kind == "list")
    return [
        _describe_card(item, options, date, is_first=not number)
        for number, (item, date) in enumerate(zip(items, dates, strict=True))
    ]


def describe_header(header: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's values for the feed's `header`, also for a badge."""
    count, people = format_number(header["count"]), format_number(header["people"])
    return {
        "average": format_average(header["average"]),
        "stars": describe_stars(header["average"], words),
        "ratings": words["ratings"].replace("{n}", count),
        "people": words["people"].replace("{n}", people),
        "is_rated": header["count"] > 0,
        "faces": [describe_face(each["name"], each["avatar"]) for each in header["faces"]],
    }


def describe_stars(rating: float, words: Mapping[str, str]) -> dict[str, Any]:
    """Return a rating's label, and the filled width of its stars, out of 108."""
    rating = min(rating, 5)
    number = f"{rating:g}".replace(".", current_language().decimal)
    return {
        "label": words["rated"].replace("{rating}", number),
        "width": f"{rating * 22 - rating % 1 * 2:.6g}",
    }


def describe_face(name: str, *pictures: str | None) -> dict[str, Any]:
    """Return somebody's initials, their color, and the first URL among `pictures`."""
    initials, colour = draw_face(name)
    return {
        "initials": initials,
        "colour": colour,
        "picture": next((url for url in pictures if url and _WEB.match(url)), None),
    }


def _describe_card(
    item: dict[str, Any], options: CardOptions, date: str, *, is_first: bool
) -> dict[str, Any]:
    config, design = options.config, options.design
    name, rating, twitter = item["authorName"], item.get("rating"), item.get("twitter") or {}
    company = item.get("authorCompany") if config["showSource"] else ""
    handle = re.sub(r"[^A-Za-z0-9_]", "", twitter.get("handle") or "")
    handle = handle if config["showSource"] else ""
    featured = design["featured"] if is_first and item.get("pinned") else "off"
    is_featured = options.kind == "masonry" and featured != "off"
    pictures = (item.get("authorAvatar"), twitter.get("avatarUrl"))
    is_long = len(item["text"]) > LONG.get(options.kind, len(item["text"]))
    is_rated = config["showStars"] and rating is not None and rating >= 1
    weight = weigh(item["text"])
    reply_title = options.words["reply"].replace("{name}", options.project.name)
    return {
        "classes": f"featured {featured}" if is_featured else "",
        "size": next((size for most, size in SIZES if weight <= most), "text"),
        "parts": split_text(item["text"], design["showHighlights"] and item.get("highlights")),
        "stars": describe_stars(rating, options.words) if is_rated and rating else None,
        "handle": handle,
        "has_glyph": not handle and (is_featured or config["cardStyle"] == "quote"),
        "reply": {"title": reply_title, "text": item["reply"]["text"]} if "reply" in item else None,
        "extras": _describe_extras(item, options),
        "more_url": urls.testimonial_url(options.project.slug, item["id"], options.project.own_host)
        if is_long
        else "",
        "face": describe_face(name, *pictures) if design["photoSize"] else None,
        "name": name,
        "role": ", ".join(filter(None, [item["authorRole"], company])),
        "is_sample": item.get("isSample", False),
        "record": "" if item.get("isSample") else options.record.replace("{id}", item["id"]),
        "time": item["submittedAt"],
        "date": date,
    }


def weigh(text: str) -> int:
    """Return the length of a text, with wide letters counted twice."""
    return len(text) + len(_WIDE.findall(text))


def _describe_extras(item: dict[str, Any], options: CardOptions) -> dict[str, Any]:
    """Return the template's values for what `extras.js` and `player.js` draw in the widget."""
    extras, words = item.get("extras") or {}, options.words
    values = {
        "answers": extras.get("answers") or [],
        "marks": [
            {
                "name": mark,
                "label": words[mark],
                "means": words[f"{mark}Means"].replace("{name}", options.project.name),
            }
            for mark in extras.get("marks") or ()
        ],
    }
    if recording := extras.get("recording"):
        kind = "video" if "width" in recording else "voice"
        seconds = recording.get("seconds")
        time = f"{seconds // 60}:{seconds % 60:02}" if seconds else ""
        label = words[kind].replace("{name}", item["authorName"])
        values["recording"] = recording | {
            "kind": kind,
            "is_player": options.is_player,
            "time": time,
            "label": f"{label}, {time}" if time else label,
        }
    return values


# Rendering the feed with the same elements as the script.

# What stands in for kinds that move or float, since they need the script.
STILL_KINDS = {"spotlight": "list", "badge-corner": "badge"}


@dataclass(frozen=True)
class Still:
    """What a server-rendered widget shows.

    `kind` is its layout or shape, `classes` are those of its root element, and `next` is the cursor
    of the next page.
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
    proof: Mapping[str, str] | None = None
    next: str | None = None

    @property
    def total(self) -> int:
        return len(self.cards)

    @property
    def has_extras(self) -> bool:
        return any("extras" in item for item in self.items)

    @property
    def marks(self) -> list[dict[str, str]]:
        found = (mark for card in self.cards for mark in card["extras"]["marks"])
        return list({mark["name"]: mark for mark in found}.values())

    @property
    def is_empty(self) -> bool:
        return not (self.cards or self.badge or self.cta)


def render_still(
    project: Project, selection: Selection, after: str | None = None, *, limit: int | None = None
) -> Still:
    """Return a page of `limit` testimonials, by default as configured; raise `ValidationFailed`."""
    settings = find_settings(project, selection.widget)
    feed = describe_feed(project, after, limit, selection, settings)
    config, shape = feed["config"], feed.get("shape", "")
    settings = replace(settings, config=config)
    words = write_words(settings.design["labels"], header := feed.get("header"), name=project.name)
    shown = header and header["count"] and describe_header(header, words)
    if "badge" in feed:
        url = feed["badge"]["url"]
        badge = feed["total"] and describe_header(feed["header"], words) | {"url": url}
        kind = STILL_KINDS.get(shape, shape)
        values = {"badge": badge or None, "proof": feed["proof"]}
        return Still(kind, _classes(kind, settings), settings, words, **values)
    kind = shape or (config["layout"] if feed["total"] > 1 else "single")
    if settings.design["layout"] and not shape and feed["total"] > 1:
        kind = STILL_KINDS[settings.design["layout"]]
    is_active = project.is_open and config["showCtaButton"]
    return make_still(
        project,
        settings,
        # A popup shows nothing without its script.
        [] if shape == "popup" else feed["items"],
        kind=kind,
        words=words,
        header=None if shape else shown or None,
        cta=feed.get("cta") if is_active else None,
        proof=feed.get("proof") or describe_proof(project),
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
    proof: Mapping[str, str] | None = None,
    **values: Any,
) -> Still:
    """Return a `Still` with these items of the feed; see `CardOptions`."""
    words = words or write_words(settings.design["labels"], name=project.name)
    record = proof["record"] if proof else ""
    options = CardOptions(kind, settings.config, settings.design, words, project, is_player, record)
    # So few cards are in rows of equal height.
    is_few = kind == "masonry" and len(items) < 4
    return Still(
        kind,
        _classes(kind, settings) + (" few" if is_few else ""),
        settings,
        words,
        cards=describe_cards(items, options),
        items=items,
        proof=proof,
        **values,
    )


def _classes(kind: str, settings: WidgetSettings) -> str:
    """Return the classes of the root element, as in `core/widget.js`."""
    names = [
        "tm",
        "carousel" if kind == "strip" else "",
        kind,
        settings.config["cardStyle"],
        settings.design["density"],
        "rtl" if current_language().direction == "rtl" else "",
    ]
    return " ".join(filter(None, names))


# The styles of a server-rendered widget: the script's own styles, and the design as CSS variables.

# The element on our own pages that contains the cards, which prefixes every selector.
PAGE = ".tm-page"
# Pieces whose styles a kind needs in addition to those of all cards.
MORE_SHEETS = {
    "carousel": ("carousel",),
    "strip": ("carousel",),
    "list": ("list",),
    "single": ("single",),
} | dict.fromkeys(BADGES, ("badge", "sentence", "people"))
# On another website, the font "page" is that of the website.
PAGE_FONT = (
    ":host{font-family:inherit!important}"
    ".tm.tm,.text.text,.average.average{font-family:var(--testimonials-font,inherit)}"
)
# The least widths of two, three and four columns, as in `pieces/cards.js`.
WIDTHS = (560, 900, 1240)
FACTORS = {"narrow": 0.85, "wide": 1.3}

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMMA = re.compile(r",(?![^(]*\))")


def shadow_styles(still: Still, theme: str) -> str:
    """Return the style sheet of a shadow root; `theme` may be empty."""
    design = still.settings.design
    styles = _read_styles(still.kind, still.has_extras)
    styles += _column_rules(design["cardWidth"], still.total)
    styles += "" if design["font"] in FONTS else PAGE_FONT
    return styles + _value_rules(still.settings, theme, ".tm")


def page_styles(
    settings: WidgetSettings, theme: str, kind: str, total: int, *, has_extras: bool = False
) -> str:
    """Return the style sheet for one of our pages, limited to `PAGE` except for the colors."""
    columns = _column_rules(settings.design["cardWidth"], total, PAGE)
    return _read_scoped_styles(kind, has_extras) + columns + _value_rules(settings, theme, ":root")


def _value_rules(settings: WidgetSettings, theme: str, root: str) -> str:
    """Return a rule with a design's variables, which ``--testimonials-<name>`` may override."""
    theme, design = theme or settings.config["theme"], settings.design
    themes = list_colors(read_colors(settings.config, design))
    pairs = zip(themes["light"], themes["dark"], strict=True)
    colors = (
        [f"light-dark({light},{dark})" for light, dark in pairs]
        if theme == "auto"
        else themes[theme]
    )
    names = (*NAMES, "shade", "glyph")
    values = [
        f"--tm-{name}:var(--testimonials-{name.rstrip('012')},{color})"
        for name, color in zip(names, colors, strict=True)
    ]
    radius, photo = design["radius"], design["photoSize"]
    font = FONTS.get(design["font"], FONTS[settings.typeface])
    values += [
        f"--tm-radius:{radius}px",
        f"--tm-round:{'50%' if radius > 6 else '8px' if radius else '0'}",
        f"--tm-font:{font}",
        f"--tm-heading:{font}",
    ]
    # More specific than the rules of densities, which set the size of photos too.
    size = f"{root if root == '.tm' else PAGE + ' .tm'}.tm{{--tm-photo:{photo}px}}"
    return f"{root}{{{';'.join(values)}}}" + (size if photo not in (0, 48) else "")


def _column_rules(card_width: str, total: int, page: str = "") -> str:
    """Return the rules that set the number of columns by the width of the container."""
    total, view = max(total, 1), f"{page} .view".strip()
    rules = [f"{view}{{--tm-columns:1}}"]
    for columns, width in enumerate(WIDTHS, start=2):
        least = round(width * FACTORS.get(card_width, 1))
        rules.append(
            f"@container (min-width:{least}px){{{view}{{--tm-columns:{min(columns, total)}}}}}"
        )
    return "".join(rules)


@cache
def _read_styles(kind: str, has_extras: bool) -> str:
    sheets, more = ["core", "face", "heading", "head"], MORE_SHEETS.get(kind, ())
    sheets += more if kind in BADGES else ["cards", "looks", *more, "extras"]
    sheets += ["player"] if has_extras else []
    styles = "".join(read_styles(name) for name in [*sheets, "later"])
    return styles + squeeze((FOLDER / "still.css").read_text(encoding="utf-8"))


@cache
def _read_scoped_styles(kind: str, has_extras: bool) -> str:
    """Return the styles with `PAGE` before each selector, without the rules for a shadow host."""

    def scope(rule: re.Match[str]) -> str:
        selectors = [each.strip() for each in _COMMA.split(rule[1])]
        # These are keyframes.
        if selectors[0] in ("from", "to"):
            return rule[0]
        kept = [f"{PAGE} {each}" for each in selectors if not each.startswith(":host")]
        return ",".join(kept) + f"{{{rule[2]}}}" if kept else ""

    return _RULE.sub(scope, _read_styles(kind, has_extras))


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
        feed_url=urls.json_feed_url(project.id),
        oembed_url=urls.oembed_url(_read_address(project)),
        theme=theme,
        # They consist of the program's own files and of validated settings.
        styles=Markup(styles),  # noqa: S704
        still=still,
        **values,
    )


def _read_address(project: Project) -> str:
    """Return the URL of the current page with its selection, but without cursor and order."""
    query = {name: value for name, value in request.args.items() if value and name in SELECTING}
    below = request.path.removeprefix(f"/{project.slug}/")
    if below != request.path:
        page = f"{urls.collection_page_url(project.slug, project.own_host)}/{below}"
    else:
        page = urls.widget_page_url(project.id)
    return add_query(page, query)


def describe_project(project: Project) -> dict[str, Any]:
    website: str = project.page_config["website"]
    button = read_cta(project)
    leads_to_page = button["url"] == urls.collection_page_url(project.slug, project.own_host)
    return {
        "name": project.name,
        "wall_url": urls.wall_url(project.slug, project.own_host),
        "share_url": urls.share_picture_url(project.slug, project.own_host),
        "logo_url": find_brand(project).logo_url,
        "website": website,
        "website_label": website.partition("://")[2].removeprefix("www.").rstrip("/"),
        # A paused page accepts nothing, but the owner's own link may lead elsewhere.
        "button": button if project.is_open or not leads_to_page else None,
    }
