"""What the widget editor calls the choices of a widget, and one line for each part of its form."""

from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop, ngettext, translate
from testimonials.dashboard.editors.widget_values import Values

# By the value that is stored.
NAMES = {
    "masonry": gettext_noop("Wall"),
    "carousel": gettext_noop("Carousel"),
    "marquee": gettext_noop("Marquee"),
    "list": gettext_noop("List"),
    "spotlight": gettext_noop("Spotlight"),
    "two": gettext_noop("Two rows"),
    "one": gettext_noop("One row"),
    "vertical": gettext_noop("Vertical"),
    "gold": gettext_noop("Gold"),
    "brand": gettext_noop("Brand"),
    "off": gettext_noop("Off"),
    "relative": gettext_noop("Relative"),
    "month": gettext_noop("Month"),
    "absolute": gettext_noop("Day"),
    "light": gettext_noop("Light"),
    "dark": gettext_noop("Dark"),
    "default": gettext_noop("Default"),
    "quote": gettext_noop("Quote"),
    "stripe": gettext_noop("Stripe"),
    "gradient": gettext_noop("Gradient"),
    "outlined": gettext_noop("Outlined"),
    "page": gettext_noop("As the page"),
    "system": gettext_noop("System"),
    "serif": gettext_noop("Serif"),
    "compact": gettext_noop("Compact"),
    "comfortable": gettext_noop("Medium"),
    "airy": gettext_noop("Airy"),
    "narrow": gettext_noop("Narrow"),
    "medium": gettext_noop("Medium"),
    "wide": gettext_noop("Wide"),
    "soft": gettext_noop("Soft"),
    "solid": gettext_noop("Solid"),
    "newest": gettext_noop("Newest"),
    "best": gettext_noop("Best first"),
    "hand": gettext_noop("By hand"),
    "": gettext_noop("Whole widget"),
    "strip": gettext_noop("Strip"),
    "badge-sentence": gettext_noop("Rating in a sentence"),
    "badge": gettext_noop("Rating badge"),
    "badge-card": gettext_noop("Rating card"),
    "badge-corner": gettext_noop("Rating in the corner"),
    "people": gettext_noop("Faces"),
    "popup": gettext_noop("Popups in the corner"),
    "single": gettext_noop("One testimonial"),
    # Palettes.
    "neutral": gettext_noop("Neutral"),
    "indigo": gettext_noop("Indigo"),
    "emerald": gettext_noop("Emerald"),
    "amber": gettext_noop("Amber"),
    "rose": gettext_noop("Rose"),
    "sky": gettext_noop("Sky"),
    # Looks.
    "quiet": gettext_noop("Quiet"),
    "editorial": gettext_noop("Editorial"),
    "marker": gettext_noop("Marker"),
    "bold": gettext_noop("Bold"),
    "outline": gettext_noop("Outline"),
    "glow": gettext_noop("Glow"),
    "playful": gettext_noop("Playful"),
}
_DATES = {
    "relative": gettext_noop("Relative dates"),
    "month": gettext_noop("Months"),
    "absolute": gettext_noop("Days"),
}


def name_choice(value: object) -> str:
    """Return what a choice is called; a number is its own name."""
    return translate(NAMES.get(str(value), str(value)))


def describe_changes(count: int) -> str:
    """Return how many settings visitors don't see yet."""
    if not count:
        return _("Visitors see this")
    return ngettext("%(num)s change to publish", "%(num)s changes to publish", count)


def summarise(values: Values) -> dict[str, str]:
    """Return a line for each part of the form, for when it is closed."""
    brand = [
        values["brandColor"] or name_choice(values["palette"]),
        name_choice(values["font"]),
        name_choice(values["theme"]),
        _("Corners %(radius)s", radius=values["radius"]),
    ]
    details = [
        name_choice(values["cardStyle"]),
        _("Width: %(width)s", width=name_choice(values["cardWidth"])),
        _("Space: %(density)s", density=name_choice(values["density"])),
        _("Photos: %(size)s", size=values["photoSize"] or _("Off")),
        _("Featured: %(look)s", look=name_choice(values["featured"])),
    ]
    parts = {"brand": brand, "content": _describe_content(values), "details": details}
    return {name: " · ".join(lines) for name, lines in parts.items()}


def describe_rating(least: int) -> str:
    """Return which ratings a widget shows, 0 for all."""
    if least == 0:
        return _("All ratings")
    return ngettext("%(num)s star and more", "%(num)s stars and more", least)


def _describe_content(values: Values) -> list[str]:
    lines = [name_choice(values["order"]), describe_rating(values["minRating"])]
    if values["tags"]:
        lines.append(_("Tagged %(tags)s", tags=", ".join(values["tags"])))
    if values["onlyChosen"]:
        lines.append(_("Only those chosen by hand"))
    if length := values["minLength"]:
        lines.append(_("From %(count)s characters", count=length))
    lines.append(_("%(count)s at first", count=values["initialCount"]))
    if values["showHeader"]:
        lines.append(_("Average and faces above"))
    if values["showHighlights"]:
        lines.append(_("Highlighted words"))
    if dates := _DATES.get(values["dates"]):
        lines.append(translate(dates))
    return lines
