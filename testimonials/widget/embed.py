"""The embed snippet, the height that it reserves, and the email on how to add it to a site."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import base_url, origin_of, script_url, widget_page_url
from testimonials.core.mail.outbox import send_mail
from testimonials.core.text import cut
from testimonials.projects.defaults import MADE_WITH
from testimonials.projects.models import Project
from testimonials.projects.notifications import SUBJECT_NAME, project_look
from testimonials.testimonials.media.playback import load_recordings
from testimonials.widget.container import BADGES, CARDS, WHOLE, Selection
from testimonials.widget.render import FACTORS, WIDTHS, weigh
from testimonials.widget.script import script_digest, script_integrity
from testimonials.widget.selection import (
    count_shown,
    describe_extras,
    find_marks,
    list_shown,
    read_content,
)
from testimonials.widget.settings import WidgetSettings, find_settings

# The height that a snippet reserves, so that nothing on the page moves when the widget loads.
#
# The browser applies it before any script runs, so it can depend only on the width of the page. It
# is a generous estimate for what is shown now: too little would move the content below the widget,
# while the script removes any surplus.

NARROW, MIDDLE, WIDE = 344, 752, 1264
# The average width of a letter in a wide font, in ems.
LETTER = 0.56
# The space inside a card and between cards.
PADDING = {"comfortable": 24, "compact": 18, "airy": 32}
GAP = {"comfortable": 20, "compact": 14, "airy": 28}
ANY = math.inf
# Font size and line height of texts up to a weight, as in the style sheets.
SIZES: dict[str, tuple[tuple[float, int, int], ...]] = {
    "masonry": ((64, 22, 32), (140, 18, 28), (ANY, 16, 26)),
    "single": ((64, 26, 36), (140, 20, 30), (ANY, 16, 26)),
    "carousel": ((30, 32, 42), (64, 26, 36), (140, 18, 28), (ANY, 16, 26)),
    "list": ((64, 34, 44), (140, 26, 38), (ANY, 22, 34)),
    "list on a phone": ((64, 28, 38), (140, 22, 33), (ANY, 20, 31)),
    "featured": ((140, 32, 42), (ANY, 26, 36)),
    "featured on a phone": ((ANY, 22, 31),),
}
# Kinds of cards that hide answers behind "Read more".
SHORT = ("carousel", "marquee", "spotlight")
LINES = {"carousel": 7, "list": 12, "list on a phone": 12, "marquee": 4}


@dataclass(frozen=True)
class Words:
    """The properties of a testimonial that determine its height.

    `weight` is its length, with wide letters counted twice; `breaks` is the number of line breaks,
    `reply` the length of the reply; `extras` are those of the feed.
    """

    weight: int
    breaks: int
    has_stars: bool
    reply: int = 0
    is_pinned: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)


def _pad(look: WidgetSettings) -> int:
    """Return the vertical space inside a card, with its borders."""
    return 2 * PADDING[look.design["density"]] + 2


def _gap(look: WidgetSettings) -> int:
    return GAP[look.design["density"]]


def reserve_height(words: Sequence[Words], look: WidgetSettings, has_more: bool) -> str:
    """Return the height of a widget as a CSS length; empty without words."""
    if not words:
        return ""
    heights = [_measure(words, look, has_more, width) for width in (NARROW, MIDDLE, WIDE)]
    narrow, middle, wide = (math.ceil(height * 1.04) for height in heights)
    if narrow - wide < 80:
        return f"{max(narrow, middle, wide)}px"
    # A line through the heights at the two smaller widths, but never less than the wide one. The
    # window is 16 pixels wider than a container that fills it.
    slope = max(0, narrow - middle) / (MIDDLE - NARROW)
    start = math.ceil(narrow + slope * (NARROW + 16))
    return f"max({wide}px,{start}px - {int(slope * 100)}vw)"


def _measure(words: Sequence[Words], look: WidgetSettings, has_more: bool, width: int) -> float:
    config = look.config
    layout = config["layout"] if len(words) > 1 else "single"
    # A carousel loads more by itself.
    buttons = int(has_more and layout != "carousel") + int(config["showCtaButton"])
    # The line at the bottom, a row of buttons, a second row on a phone, and the header.
    height: float = 32 + (72 if buttons else 0) + (56 if buttons > 1 and width < 400 else 0)
    height += 76 if look.design["showHeader"] else 0
    if look.design["layout"] == "spotlight":
        return height + max(_spotlight(each, min(width, 880)) for each in words)
    if layout == "single":
        return height + _card(words[0], look, min(width, 560), "single")
    if layout == "carousel":
        return height + _carousel(words, look, width)
    if layout == "list":
        return height + sum(_entry(each, look, min(width, 960)) for each in words)
    columns = min(_count_columns(look, width), len(words))
    return height + _masonry(words, look, width, columns)


def _masonry(words: Sequence[Words], look: WidgetSettings, width: int, columns: int) -> float:
    is_featured = words[0].is_pinned and look.design["featured"] != "off"
    cells = len(words) + (is_featured and columns > 1)
    if columns > 1 and cells < 2 * columns:
        across = math.ceil(cells / math.ceil(cells / columns))
        inner = _divide(look, width, across)
        heights = [_card(each, look, inner, "masonry") for each in words]
        if is_featured:
            # It spans two columns.
            wide = min(width, 2 * inner + _gap(look))
            heights[:1] = [_card(words[0], look, wide, "featured") + 16, 0]
        rows = [heights[start : start + across] for start in range(0, len(heights), across)]
        return sum(max(row) + _gap(look) for row in rows) - _gap(look)
    inner = _divide(look, width, columns)
    stacks, counts = [0.0] * columns, [0] * columns
    for number, each in enumerate(words):
        if is_featured and not number:
            kind = "featured" if width > 619 else "featured on a phone"
            height = _card(each, look, min(width, 2 * inner + _gap(look)), kind) + _gap(look) + 16
            stacks[:2] = [height] * len(stacks[:2])
            continue
        shortest = stacks.index(min(stacks))
        stacks[shortest] += _card(each, look, inner, "masonry") + _gap(look)
        counts[shortest] += 1
    growths = [
        (max(stacks) - stack) / max(count, 0.5) for stack, count in zip(stacks, counts, strict=True)
    ]
    # The script uses 40, but places the last cards better.
    if columns > 2 and max(growths) > 70:
        return _masonry(words, look, width, columns - 1)
    return max(stacks) - _gap(look)


def _carousel(words: Sequence[Words], look: WidgetSettings, width: int) -> float:
    animation = look.config["animation"]
    if animation == "vertical":
        return 560
    if animation == "horizontal":
        rows = 2 if len(words) >= 6 and look.design["marqueeRows"] == 2 else 1
        height = max(_card(each, look, 300, "marquee") for each in words)
        return rows * (height + _gap(look)) - _gap(look) + 60
    columns = min(_count_columns(look, width), len(words)) if width >= 640 else 1
    inner = _divide(look, width - 56, columns) if width >= 640 else min(width - 28, 420)
    controls = (44 if width >= 640 else 56) if len(words) > columns else 0
    # All cards have the height of the tallest.
    return max(_card(each, look, inner, "carousel") for each in words) + controls


def _entry(words: Words, look: WidgetSettings, width: int) -> float:
    """Return the height of an entry in a list, with the space below it."""
    is_wide = width >= 720
    padding = 81 if look.config["cardStyle"] == "default" else _pad(look) + _gap(look)
    stars = 32 if words.has_stars and look.config["showStars"] else 0
    inner = width - (296 if is_wide else 0)
    inner -= 0 if look.config["cardStyle"] == "default" else _pad(look)
    text = _text(words, inner, "list" if is_wide else "list on a phone")
    text += stars + _reply(words, inner) + _extras(words, inner, "list")
    # The author is beside the words, or below them.
    return padding + (max(text, 126) if is_wide else text + 78)


def _spotlight(words: Words, width: int) -> float:
    size = min(max(24, 0.044 * width), 42)
    lines: float = min(math.ceil(words.weight * size * LETTER / width) + words.breaks, 9)
    lines += _extras(words, width, "spotlight") / (size * 1.32)
    return 40 + lines * size * 1.32 + 28 + 64 + 24 + 56


def _card(words: Words, look: WidgetSettings, width: float, kind: str) -> float:
    """Return the height of a card: padding, stars, text and author."""
    inner = max(width - _pad(look), 80)
    stars = 30 if words.has_stars and look.config["showStars"] else 0
    # In a narrow card the date is below the role.
    author: int = 20 + max(look.design["photoSize"], 38 if inner > 400 else 56)
    beside = 124 if kind == "marquee" and _is_video(words) else 0
    text = _text(words, inner - beside, kind) + _reply(words, inner) + _extras(words, inner, kind)
    return _pad(look) + stars + text + author


def _text(words: Words, width: float, kind: str) -> float:
    if not words.weight:
        return -12
    if kind == "carousel" and _is_video(words):
        return min(math.ceil(words.weight * 18 * LETTER / width + 0.2), 3) * 28 + 26
    sizes = SIZES.get(kind, SIZES["masonry"])
    size, height = next((size, height) for most, size, height in sizes if words.weight <= most)
    # A little more, since lines break between words.
    lines = math.ceil(words.weight * size * LETTER / width + 0.2) + words.breaks
    most = LINES.get(kind, 8)
    return min(lines, most) * height + (26 if lines > most else 0)


def _reply(words: Words, width: float) -> float:
    return 32 + 20 * math.ceil(words.reply * 14 * LETTER / width) if words.reply else 0


def _is_video(words: Words) -> bool:
    return "width" in words.extras.get("recording", {})


def _extras(words: Words, width: float, kind: str) -> float:
    """Return the height of a recording, answers and marks, with the space between them."""
    height: float = 0
    if recording := words.extras.get("recording"):
        heights = {"carousel": 176, "marquee": 0, "spotlight": 320}
        shape = recording.get("width", 0)
        height += min(heights.get(kind, 400), 400 * min(width / shape, 1)) if shape else 48
        height += 12
    if kind not in SHORT:
        for _, answer in words.extras.get("answers", ()):
            height += 28 + 20 * min(3, math.ceil(len(answer) * 15 * LETTER / width))
    elif "answers" in words.extras:
        height += 26
    # Each mark has its own line in a narrow card.
    marks = len(words.extras.get("marks", ()))
    return height + (19 + 22 * (marks if width < 360 else 1) if marks else 0)


def _count_columns(look: WidgetSettings, width: int) -> int:
    size = width / FACTORS.get(look.design["cardWidth"], 1)
    return 1 + sum(size >= least for least in WIDTHS)


def _divide(look: WidgetSettings, width: float, columns: int) -> float:
    return (width - _gap(look) * (columns - 1)) / columns


# The embed snippet for web pages.

# Frames don't grow with their content.
FRAME_HEIGHT = 600
FRAME_HEIGHTS = dict.fromkeys(BADGES, 64) | {"badge-card": 180, "strip": 232, "single": 360}
# Shapes with a fixed height; those without any float, or are part of a sentence.
HEIGHTS = {
    "badge": "44px",
    "badge-card": "146px",
    "people": "44px",
    "strip": "190px",
    "badge-sentence": "",
    "badge-corner": "",
    "popup": "",
}


def build_snippet(project: Project, selection: Selection = WHOLE) -> dict[str, str]:
    """Return the embed snippet.

    The container shows a link until the testimonials have loaded, and a frame with the widget's
    page if scripts are disabled.
    """
    widget_url = script_url(query=script_query(project, selection))
    return {
        "projectId": project.id,
        "widgetUrl": widget_url,
        "script": f'<script src="{escape(widget_url)}" async></script>',
        "container": _build_container(project, selection),
    }


def script_query(project: Project, selection: Selection) -> dict[str, str]:
    """Return the query of the script's URL, which tells the server the pieces to include."""
    query = {name: value for name, value in selection.query.items() if name != "theme"}
    return {"project": project.id} | query


def build_checked_script() -> str:
    """Return a script element that pins the current version by URL and integrity."""
    return (
        f'<script src="{escape(script_url(script_digest()))}" integrity="{script_integrity()}" '
        'crossorigin="anonymous" async></script>'
    )


def write_policy() -> str:
    """Return the lines that the widget needs in a website's Content-Security-Policy."""
    origin = origin_of(base_url())
    return "\n".join(f"{kind}-src {origin};" for kind in ("script", "connect", "img", "media"))


def container_attributes(project: Project, selection: Selection) -> Markup:
    attributes = {"data-testimonials-project": project.id}
    for name, value in selection.query.items():
        attributes[f"data-testimonials-{name}"] = value
    return write_attributes(attributes)


def write_attributes(values: dict[str, str]) -> Markup:
    return Markup(" ").join(Markup('{}="{}"').format(*each) for each in values.items())


def frame_height(selection: Selection) -> int:
    """Return the height in pixels of a frame with the widget's page."""
    shape = selection.shape or ("single" if selection.testimonial_id else "")
    return FRAME_HEIGHTS.get(shape, FRAME_HEIGHT)


def _build_container(project: Project, selection: Selection) -> str:
    attributes = container_attributes(project, selection)
    page = widget_page_url(project.id, selection.widget)
    shape = find_settings(project, selection.widget).design["shape"]
    selection = selection.with_shape(shape)
    if style := reserve_style(project, selection):
        attributes += Markup(' style="{}"').format(style)
    frame = Markup(
        '<noscript><iframe src="{}" title="Testimonials" loading="lazy" '
        'width="100%" height="{}" frameborder="0"></iframe></noscript>'
    ).format(page, FRAME_HEIGHT)
    if selection.shape in ("badge-corner", "popup"):
        # Floating shapes have no placeholder.
        return f"<div {attributes}></div>"
    # A sentence can't contain a div.
    tag = "span" if selection.shape == "badge-sentence" else "div"
    return str(
        Markup('<{} {}><a href="{}">Read our testimonials</a>{}</{}>').format(
            tag, attributes, page, frame if selection.is_whole else "", tag
        )
    )


def reserve_style(project: Project, selection: Selection) -> str:
    """Return the declarations that keep a container's place; empty: none.

    With its width, what is in a centered column or row doesn't move when the widget arrives.
    """
    selection = selection.with_shape(find_settings(project, selection.widget).design["shape"])
    height = reserve_space(project, selection)
    width = "" if selection.is_badge else "width:100%;"
    return f"{width}min-height:{height};--tm-reserve:{height}" if height else ""


def reserve_space(project: Project, selection: Selection) -> str:
    """Return the height to reserve for a container as a CSS length; empty: none."""
    if selection.shape in HEIGHTS:
        return HEIGHTS[selection.shape]
    settings = find_settings(project, selection.widget)
    config, content = settings.config, read_content(settings.design, selection)
    limit = CARDS.get(selection.shape) or config["initialCount"]
    rows, cursor = list_shown(project, content, None, limit)
    load_recordings(rows)
    marks = find_marks(rows)
    words = [
        Words(
            weigh(row.text),
            row.text.count("\n"),
            row.rating is not None,
            len(row.reply or ""),
            row.is_pinned,
            describe_extras(row, project, marks[row.id]) or {},
        )
        for row in rows
    ]
    # By the time visitors see the widget of an empty project, it will have a testimonial.
    words = words or [Words(120, 0, True)]
    # Only the whole widget has buttons.
    if not selection.is_whole:
        cursor, config = None, config | {"showCtaButton": False}
    has_more = cursor is not None and count_shown(project, content)[0] > len(rows)
    return reserve_height(words, replace(settings, config=config), has_more)


OTHER, CODE = "other", "code"
SITES = {
    "wordpress": "WordPress",
    "shopify": "Shopify",
    "webflow": "Webflow",
    "wix": "Wix",
    "squarespace": "Squarespace",
    "framer": "Framer",
    OTHER: gettext_noop("Something else"),
    CODE: gettext_noop("I write code"),
}
# For each site, three steps and a note as `texts`, and the `name` of what to choose in the second
# step. Pages translate them; the email is in English.
_FILE = Path(__file__).with_name("steps.json")
STEPS: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))


def find_made_with(project: Project) -> str:
    """Return what the website is made with: what somebody chose, else what was read there."""
    read = project.brand.get("read", {}).get(MADE_WITH, OTHER)
    return str(project.dashboard_config.get(MADE_WITH, read))


def send_steps_mail(project: Project, widget: str, made_with: str, to: str, by: str) -> None:
    """Email the steps for adding a widget to whoever maintains the project's website."""
    steps = STEPS.get(made_with, STEPS[OTHER])
    first, choose, last, note = steps["texts"]
    snippet = build_snippet(project, Selection(widget=widget))
    name = cut(project.name, SUBJECT_NAME)
    title = f"Add testimonials to the website of {name}"
    values = {
        "title": title,
        "by": by,
        "name": project.name,
        "steps": [first, choose % {"name": f"“{steps['name']}”"}, last],
        "note": note,
        "code": f"{snippet['container']}\n{snippet['script']}",
        "look_url": widget_page_url(project.id, widget),
    }
    send_mail(
        to,
        "widget-steps",
        title,
        "steps",
        values,
        look=project_look(project),
        sender_name=name,
        reply_to=by,
    )
