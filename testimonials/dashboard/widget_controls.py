"""The widget editor's controls: their form, the settings behind them, and their labels."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

from marshmallow import ValidationError

from testimonials.core.faults import FAULTS
from testimonials.core.http.fields import Choice, Color, Count, OneLine, RuleField, Switch, Text
from testimonials.core.http.forms import Choices, FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, pgettext_noop, translate
from testimonials.core.text import TAG_LENGTH
from testimonials.projects import defaults, widget_design
from testimonials.projects.projects import Website
from testimonials.projects.widget_design import NumberChoice
from testimonials.widget.drafts import LOOKS, Settings, Widget, find_look
from testimonials.widget.models import SavedWidget

Values = dict[str, Any]

# Some controls stand for two or three settings; all others have the name of their setting.
STARS = {
    "gold": gettext_noop("Gold"),
    "brand": gettext_noop("Brand"),
    "off": gettext_noop("None"),
}
DATES = {
    "relative": gettext_noop("2 days ago"),
    "month": gettext_noop("Month"),
    "absolute": gettext_noop("Day"),
    "off": gettext_noop("None"),
}
CARDS = {
    "default": gettext_noop("Plain"),
    "quote": gettext_noop("Soft"),
    "stripe": gettext_noop("Stripe"),
    "gradient": gettext_noop("Playful"),
    "outlined": gettext_noop("Outline"),
}
SPACES = {
    "compact": gettext_noop("Tight"),
    "comfortable": gettext_noop("Normal"),
    "airy": gettext_noop("Airy"),
}
# Follows the website; not one of the specified themes.
AUTO = "auto"
THEMES = {
    "light": gettext_noop("Light"),
    "dark": gettext_noop("Dark"),
    AUTO: gettext_noop("Auto"),
}
SHOWN = {
    "all": gettext_noop("All approved"),
    "tags": gettext_noop("With tags"),
    "chosen": gettext_noop("Only chosen by hand"),
}
# The settings of each arrangement: the specified layout and animation, then the design's rows and
# layout.
_LARGE: dict[str, tuple[str, str, int, str]] = {
    "masonry": ("masonry", "none", 2, ""),
    "carousel": ("carousel", "none", 2, ""),
    "two": ("carousel", "horizontal", 2, ""),
    "one": ("carousel", "horizontal", 1, ""),
    "vertical": ("carousel", "vertical", 2, ""),
    "list": ("list", "none", 2, ""),
    "spotlight": ("masonry", "none", 2, "spotlight"),
}
ARRANGEMENTS = {
    "masonry": gettext_noop("Wall"),
    "carousel": gettext_noop("Slider"),
    "two": gettext_noop("Ticker, two lines"),
    "one": gettext_noop("Ticker, one line"),
    "vertical": gettext_noop("Ticker, upwards"),
    "list": gettext_noop("List"),
    "spotlight": gettext_noop("Spotlight"),
}
SMALL = {
    "badge": gettext_noop("Badge"),
    "people": gettext_noop("Faces"),
    "badge-corner": gettext_noop("Corner"),
    "popup": gettext_noop("Pop-up"),
    "strip": gettext_noop("Strip"),
    "single": gettext_noop("One voice"),
    "badge-sentence": gettext_noop("Rating in a sentence"),
    "badge-card": gettext_noop("Rating card"),
}
WIDTHS = {
    "narrow": gettext_noop("Narrow"),
    "medium": gettext_noop("Medium"),
    "wide": gettext_noop("Wide"),
}
FEATURED = {
    "off": gettext_noop("Same as the others"),
    "soft": gettext_noop("Large, soft"),
    "solid": gettext_noop("Large, solid"),
}
FONTS = {
    "brand": gettext_noop("Your brand"),
    "page": gettext_noop("Same as the page"),
    "system": gettext_noop("System"),
    "serif": gettext_noop("Serif"),
}
PALETTES = {
    "neutral": gettext_noop("Neutral"),
    "indigo": gettext_noop("Indigo"),
    "emerald": gettext_noop("Emerald"),
    "amber": gettext_noop("Amber"),
    "rose": gettext_noop("Rose"),
    "sky": gettext_noop("Sky"),
}
CORNERS = tuple(sorted(widget_design.RADII))
PHOTO_SIZES = tuple(size for size in sorted(widget_design.PHOTO_SIZES) if size)
LABELS = {"labelShowMore": "showMore", "labelReadMore": "readMore", "labelShowLess": "showLess"}
CTA = {"ctaLabel": "label", "ctaUrl": "url"}
_CONFIG = ("cardStyle", "initialCount", "showSource", "showCtaButton")
_DESIGN = (
    "density", "cardWidth", "featured", "showHeader", "showHighlights", "minLength", "minRating",
)  # fmt: skip
# Values of empty fields.
_EMPTY: Values = {"colour": "", "tags": [], **dict.fromkeys((*LABELS, *CTA), "")}


class OwnColor(OneLine):
    """`#RRGGBB`, also without `#` or as three digits; or the name of a palette."""

    form_messages: ClassVar[dict[str, str]] = OneLine.form_messages | {
        "colour": gettext_noop("Enter a colour such as #4F46E5.")
    }

    def __init__(self) -> None:
        super().__init__(TAG_LENGTH)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if text.lower() in PALETTES:
            return text.lower()
        digits = text.removeprefix("#")
        if len(digits) == 3:
            digits = "".join(digit * 2 for digit in digits)
        try:
            return Color().deserialize(f"#{digits}")
        except ValidationError:
            raise self.make_error("colour") from None


class Tags(Choices):
    """The checked tags, at most 20."""

    def _deserialize(self, value: list[str], attr: Any, data: Any, **kwargs: Any) -> list[str]:
        if len(value) > widget_design.MAX_TAGS:
            raise ValidationError(_("Choose at most 20 tags."))
        return [OneLine(TAG_LENGTH).deserialize(tag) for tag in value]


class Before(RuleField):
    """The values that the form showed, so that only changes are written."""

    def __init__(self) -> None:
        super().__init__(load_default=dict)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        with suppress(*FAULTS):
            if isinstance(values := json.loads(value), dict):
                return values
        return {}


class WidgetForm(FormSchema):
    """All controls; missing ones stay as they are."""

    before = Before()
    publish = Text(1)
    colour = OwnColor()
    theme = Choice(*THEMES)
    cardStyle = Choice(*CARDS)
    corners = Count(0, len(CORNERS) - 1)
    density = Choice(*SPACES)
    stars = Choice(*STARS)
    photos = Switch()
    dates = Choice(*DATES)
    showSource = Switch()
    showHighlights = Switch()
    show = Choice(*SHOWN)
    tags = Tags(load_default=None)
    initialCount = Count(*defaults.INITIAL_COUNT_RANGE)
    showHeader = Switch()
    showCtaButton = Switch()
    arrangement = Choice(*ARRANGEMENTS, *SMALL)
    cardWidth = Choice(*WIDTHS)
    featured = Choice(*FEATURED)
    photoSize = NumberChoice(*PHOTO_SIZES)
    minRating = Count(0, 5)
    minLength = Count(*widget_design.MIN_LENGTH_RANGE)
    labelShowMore = OneLine(widget_design.LABEL_LENGTH)
    labelReadMore = OneLine(widget_design.LABEL_LENGTH)
    labelShowLess = OneLine(widget_design.LABEL_LENGTH)
    ctaLabel = OneLine(defaults.CTA_LABEL_LENGTH)
    ctaUrl = Website(defaults.URL_LENGTH)
    font = Choice(*FONTS)


def to_controls(settings: Settings) -> Values:
    config, design, cta = settings["config"], settings["design"], settings["cta"]
    return {
        "colour": design["brandColor"] or config["palette"] or "",
        "theme": design["theme"] or config["theme"],
        "corners": CORNERS.index(design["radius"]),
        "stars": design["starColor"] if config["showStars"] else "off",
        "photos": design["photoSize"] > 0,
        "photoSize": design["photoSize"] or widget_design.PHOTO_SIZES[0],
        "dates": design["dateStyle"] if config["showDates"] else "off",
        "show": "chosen" if design["onlyChosen"] else "tags" if design["tags"] else "all",
        "tags": design["tags"],
        "arrangement": design["shape"] or _find_arrangement(config, design),
        "font": design["font"] or "brand",
        **{name: config[name] for name in _CONFIG},
        **{name: design[name] for name in _DESIGN},
        **{field: design["labels"].get(name, "") for field, name in LABELS.items()},
        **{field: cta.get(name, "") for field, name in CTA.items()},
    }


def _find_arrangement(config: Mapping[str, Any], design: Mapping[str, Any]) -> str:
    if design["layout"] == "spotlight":
        return "spotlight"
    if config["layout"] != "carousel" or config["animation"] == "none":
        return str(config["layout"])
    if config["animation"] == "vertical":
        return "vertical"
    return "one" if design["marqueeRows"] == 1 else "two"


def find_changes(before: Values, sent: Values) -> Values:
    """Return the values that differ from those the form showed."""
    changes = {}
    for name, value in sent.items():
        new = _EMPTY.get(name) if value is None and name in before else value
        if new is not None and new != before.get(name):
            changes[name] = new
    return changes


def apply_changes(settings: Settings, changes: Values) -> Settings:
    values = to_controls(settings) | changes
    config = {name: values[name] for name in _CONFIG if name in changes}
    design = {name: values[name] for name in _DESIGN if name in changes}
    _set_look(values, changes, config, design)
    if changes.keys() & {"show", "tags"}:
        design["onlyChosen"] = values["show"] == "chosen"
        design["tags"] = values["tags"] if values["show"] == "tags" else []
    if changes.keys() & LABELS.keys():
        words = {name: values[field] for field, name in LABELS.items()}
        design["labels"] = {name: text for name, text in words.items() if text}
    cta = {name: values[field] for field, name in CTA.items()}
    return {
        "config": settings["config"] | config,
        "design": settings["design"] | design,
        "cta": cta if changes.keys() & CTA.keys() else settings["cta"],
    }


def _set_look(values: Values, changes: Values, config: Values, design: Values) -> None:
    if "colour" in changes:
        colour = values["colour"]
        design["brandColor"] = colour if colour.startswith("#") else None
        if not colour.startswith("#"):
            config["palette"] = colour or None
    if "theme" in changes:
        design["theme"] = AUTO if values["theme"] == AUTO else ""
        config |= {} if design["theme"] else {"theme": values["theme"]}
    if "corners" in changes:
        design["radius"] = CORNERS[values["corners"]]
    if changes.keys() & {"photos", "photoSize"}:
        design["photoSize"] = values["photoSize"] if values["photos"] else 0
    for control, switch, style in (
        ("stars", "showStars", "starColor"),
        ("dates", "showDates", "dateStyle"),
    ):
        if control in changes:
            config[switch] = values[control] != "off"
            design |= {style: values[control]} if config[switch] else {}
    if "font" in changes:
        design["font"] = None if values["font"] == "brand" else values["font"]
    if "arrangement" in changes:
        arrangement = values["arrangement"]
        design["shape"] = arrangement if arrangement in SMALL else ""
        if arrangement in _LARGE:
            config["layout"], config["animation"], rows, layout = _LARGE[arrangement]
            design |= {"marqueeRows": rows, "layout": layout}


# Labels of widgets, looks, orders and choices.

ORDERS = {
    "newest": gettext_noop("Pinned, then newest"),
    "best": gettext_noop("Pinned, then best"),
    "hand": gettext_noop("By hand"),
}
LENGTHS = (0, 80, 160, 320)


def name_widget(widget: Widget) -> str:
    return widget.name if isinstance(widget, SavedWidget) else _("Main widget")


def name_look(settings: Settings) -> str:
    """Return the name of a widget's look or small shape."""
    if shape := settings["design"].get("shape"):
        return translate(SMALL[shape])
    look = find_look(settings["config"], settings["design"])
    return translate(LOOKS[look].title) if look else _("Your own")


def name_order(design: dict[str, Any]) -> str:
    is_empty = design["order"] == "hand" and not design["chosen"]
    return translate(ORDERS["newest" if is_empty else design["order"]])


def describe_rating(minimum: int) -> str:
    """Return which ratings a widget shows; 0 includes testimonials without a rating."""
    if minimum < 2:
        return _("Any rating") if minimum else _("All, rated or not")
    if minimum == 5:
        return _("Only 5 stars")
    return ngettext("%(num)s star or more", "%(num)s stars or more", minimum)


def describe_choices(*, is_saved: bool) -> dict[str, Any]:
    """Return the (value, label) pairs of each control, and the limits of others."""
    labels = {
        "theme": THEMES,
        "cardStyle": CARDS,
        "density": SPACES,
        "stars": STARS,
        "dates": DATES,
        "show": SHOWN,
        "arrangement": ARRANGEMENTS | (SMALL if is_saved else {}),
        "cardWidth": WIDTHS,
        "featured": FEATURED,
        "font": FONTS,
    }
    corners = [
        ngettext("%(num)s pixel", "%(num)s pixels", radius)
        if radius
        else translate(pgettext_noop("corners", "Square"))
        for radius in CORNERS
    ]
    return {
        name: [(value, translate(text)) for value, text in choices.items()]
        for name, choices in labels.items()
    } | {
        "corners": corners,
        "photoSize": [(size, str(size)) for size in PHOTO_SIZES],
        "minRating": [(minimum, describe_rating(minimum)) for minimum in range(6)],
        "lengths": LENGTHS,
        "count_range": defaults.INITIAL_COUNT_RANGE,
    }
