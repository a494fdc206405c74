"""The widget's design: the settings beyond the specified ten, and the colors derived from them.

Only what differs from the defaults is stored, in `Project.widget_design` and `SavedWidget.design`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import fields, validate

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.fields import (
    Choice,
    Color,
    Count,
    OneLine,
    Parts,
    RuleField,
    StrictSchema,
    Switch,
)
from testimonials.core.images import colors
from testimonials.core.text import TAG_LENGTH

MAX_CHOSEN, MAX_TAGS, MIN_LENGTH_RANGE = 100, 20, (0, 2_000)
LABEL_LENGTH = 60

# A field's first choice is its default.
FONTS = ("page", "system", "serif")
# By the brand's font, or what replaces the website's.
BRAND_FONTS = {"site": "page", "plain": "system", "classic": "serif", "rounded": "rounded"}
RADII = (16, 0, 6, 12, 24)
DENSITIES = ("comfortable", "compact", "airy")
PHOTO_SIZES = (48, 0, 40, 64)
CARD_WIDTHS = ("medium", "narrow", "wide")
STAR_COLORS = ("gold", "brand")
DATE_STYLES = ("relative", "month", "absolute")
FEATURED = ("soft", "solid", "off")
LAYOUTS = ("", "spotlight")
THEMES = ("", "auto")
MARQUEE_ROWS = (2, 1)
ORDERS = ("newest", "best", "hand")
SHAPES = (
    "",
    "strip",
    "badge",
    "badge-sentence",
    "badge-card",
    "badge-corner",
    "people",
    "popup",
    "single",
)

# The look, which is part of the feed.
LOOK: dict[str, Any] = {
    "font": FONTS[0],
    "radius": RADII[0],
    "density": DENSITIES[0],
    "photoSize": PHOTO_SIZES[0],
    "cardWidth": CARD_WIDTHS[0],
    "starColor": STAR_COLORS[0],
    "dateStyle": DATE_STYLES[0],
    "featured": FEATURED[0],
    "showHeader": False,
    "showHighlights": True,
    "layout": LAYOUTS[0],
    "marqueeRows": MARQUEE_ROWS[0],
}
DEFAULTS: dict[str, Any] = LOOK | {
    # None: the brand's color, and its font.
    "brandColor": None,
    "font": None,
    "order": ORDERS[0],
    "minRating": 0,
    "tags": [],
    "minLength": 0,
    "chosen": [],
    "onlyChosen": False,
    "labels": {},
    "shape": SHAPES[0],
    "theme": THEMES[0],
}


class NumberChoice(RuleField, fields.Integer):
    """One of a fixed set of whole numbers."""

    def __init__(self, *choices: int, **options: Any) -> None:
        self.choices = choices
        rule = f"Must be one of: {', '.join(map(str, choices))}."
        super().__init__(rule=rule, metadata={"enum": list(choices)}, **options)

    def from_text(self, text: str) -> Any:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else text

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or value not in self.choices:
            raise self.make_error("invalid")
        return int(value)


class Identifiers(RuleField):
    """Ordered, distinct ids of testimonials; testimonials that aren't shown are skipped."""

    about: ClassVar[Mapping[str, Any]] = {
        "type": "array",
        "items": {"type": "string", "pattern": "^[0-9a-f]{24}$"},
        "maxItems": MAX_CHOSEN,
        "uniqueItems": True,
    }

    def __init__(self, *, least: int = 0, **options: Any) -> None:
        self.least = least
        amount = f"{least} to {MAX_CHOSEN}" if least else f"at most {MAX_CHOSEN}"
        rule = f"Must be {amount} different ids of testimonials."
        super().__init__(rule=rule, metadata={"minItems": least}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if (
            not isinstance(value, list)
            or not self.least <= len(value) <= MAX_CHOSEN
            or not all(isinstance(each, str) and is_identifier(each) for each in value)
            or len(set(value)) != len(value)
        ):
            raise self.make_error("invalid")
        return value


class WidgetLabelsSchema(StrictSchema):
    """The owner's labels for the widget's buttons; others are in the visitor's language."""

    showMore = OneLine(LABEL_LENGTH, blank=False)
    readMore = OneLine(LABEL_LENGTH, blank=False)
    showLess = OneLine(LABEL_LENGTH, blank=False)


class WidgetDesignSchema(StrictSchema):
    """The widget's design; missing fields have their default values."""

    brandColor = Color(
        allow_none=True,
        description="All other colors are derived from it; null: the palette's, or the brand's.",
    )
    font = Choice(
        *FONTS,
        allow_none=True,
        description="`page`: the fonts of the embedding page; null: the brand's.",
    )
    radius = NumberChoice(*RADII, description="Corner radius of cards, in px.")
    density = Choice(*DENSITIES, description="Space inside and between cards.")
    photoSize = NumberChoice(*PHOTO_SIZES, description="Size of authors' photos, in px; 0: none.")
    cardWidth = Choice(*CARD_WIDTHS, description="Width of cards.")
    starColor = Choice(*STAR_COLORS, description="Gold, or the brand's.")
    dateStyle = Choice(*DATE_STYLES, description="How dates are written.")
    featured = Choice(*FEATURED, description="How the first pinned testimonial stands out.")
    showHeader = Switch(description="Average, stars and faces above the cards.")
    showHighlights = Switch(description="Highlights in texts.")
    layout = Choice(*LAYOUTS, description="Empty: the layout of `widgetConfig`.")
    marqueeRows = NumberChoice(
        *MARQUEE_ROWS, description="Rows of a carousel with `horizontal` animation."
    )
    order = Choice(*ORDERS, description="`hand`: those of `chosen` first, in their order.")
    minRating = Count(0, 5, description="The lowest rating to show.")
    tags = Parts(
        OneLine(TAG_LENGTH, blank=False),
        validate=validate.Length(max=MAX_TAGS, error=f"Must be at most {MAX_TAGS}."),
        metadata={"description": "Only testimonials with any of these tags."},
    )
    minLength = Count(
        *MIN_LENGTH_RANGE, description="Only texts with at least this many characters."
    )
    chosen = Identifiers(description="Ids of testimonials, in the owner's order.")
    onlyChosen = Switch(description="Show only those of `chosen`.")
    labels = fields.Nested(WidgetLabelsSchema)
    theme = Choice(
        *THEMES, description="`auto`: that of the embedding page; empty: that of `widgetConfig`."
    )
    shape = Choice(*SHAPES, description="The shape of a saved widget; empty: the whole widget.")


def read_design(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored design with the defaults for its missing keys."""
    return DEFAULTS | dict(stored)


def read_look(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the design that is the widget's look, as in the feed."""
    return {name: stored.get(name, default) for name, default in LOOK.items()}


def trim_design(design: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a design that is stored: what differs from the defaults."""
    return {name: value for name, value in design.items() if value != DEFAULTS[name]}


# A palette is a named brand color.
PALETTES = {
    "neutral": "#27272A",
    "indigo": "#4F46E5",
    "emerald": "#047857",
    "amber": "#B45309",
    "rose": "#E11D48",
    "sky": "#0369A1",
}


def choose_brand(config: Mapping[str, Any], design: Mapping[str, Any]) -> str:
    """Return the brand's color: the design's own, or that of the configured palette."""
    return str(design.get("brandColor") or PALETTES[config["palette"]])


def read_colors(config: Mapping[str, Any], design: Mapping[str, Any]) -> colors.Derived:
    brand = choose_brand(config, design)
    derived = colors.derive_colors(brand)
    if design.get("starColor") != "brand":
        return derived
    # Stars need less contrast than text, so those of a light brand needn't become muddy.
    lightness, chroma, hue = colors.from_hex(brand)
    grounds = (derived.light["card"], derived.light["soft"], derived.light["tint"])
    star = colors.adjust(
        (min(lightness, 0.72), chroma, hue), -colors.STEP, grounds, colors.GRAPHICS
    )
    dark = {**derived.dark, "star": derived.dark["accent"]}
    return colors.Derived({**derived.light, "star": star}, dark)


def write_colors(colours: colors.Derived) -> dict[str, str]:
    """Return the colors as in the feed: those of `list_colors` without `#`."""
    return {
        theme: " ".join(each[1:].lower() for each in listed)
        for theme, listed in list_colors(colours).items()
    }


def list_colors(colours: colors.Derived) -> dict[str, list[str]]:
    """Return the colors of `NAMES` for each theme, then cards' shadow and quotation mark."""
    light, dark = ([each[name] for name in colors.NAMES] for each in (colours.light, colours.dark))
    return {
        "light": [*light, colours.light["text"] + "12", colours.light["mark"]],
        "dark": [*dark, "#0000", colours.dark["tint"]],
    }
