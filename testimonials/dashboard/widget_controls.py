"""The widget editor's controls, and their words."""

from collections.abc import Iterable
from typing import Any

from testimonials.core.http.i18n import ENGLISH, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url
from testimonials.core.images.colors import NAMES as COLOURS
from testimonials.core.images.colors import WHITE, contrast, derive_colours
from testimonials.core.text import WEBSITE_PATTERN
from testimonials.dashboard.widget_form import SEPARATOR, Edit
from testimonials.dashboard.widget_values import (
    DATES,
    LAYOUTS,
    MARQUEES,
    STARS,
    Values,
    describe_look,
    to_form,
)
from testimonials.projects import defaults, widget_design
from testimonials.projects.defaults import CTA_LABEL_LENGTH, URL_LENGTH
from testimonials.projects.models import Project
from testimonials.testimonials.tags import list_project_tags
from testimonials.widget.call_to_action import CTA_LABEL, read_cta
from testimonials.widget.colors import (
    PALETTES,
    choose_brand,
    explain_changes,
    read_colours,
    write_colours,
)
from testimonials.widget.drafts import (
    LOOKS,
    Settings,
    Widget,
    find_look,
    read_draft,
    read_published,
)
from testimonials.widget.models import SavedWidget
from testimonials.widget.settings import (
    WidgetSettings,
    describe_feed,
    describe_header,
    in_brand,
    list_saved,
)
from testimonials.widget.words import write_words

# What the widget editor calls the choices of a widget, and one line for each part of its form.

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


# What the page of the widget editor shows, in words and for its scripts.

CHOICES = {
    "layout": LAYOUTS,
    "marquee": MARQUEES,
    "stars": STARS,
    "dates": DATES,
    "theme": defaults.THEMES,
    "cardStyle": defaults.CARD_STYLES,
    "font": widget_design.FONTS,
    "radius": sorted(widget_design.RADII),
    "density": ("compact", "comfortable", "airy"),
    "photoSize": sorted(widget_design.PHOTO_SIZES),
    "cardWidth": ("narrow", "medium", "wide"),
    "featured": widget_design.FEATURED,
    "order": widget_design.ORDERS,
    "shape": widget_design.SHAPES,
}
# What Reset goes back to. Whom somebody has chosen by hand is no setting of this page.
DEFAULTS: Settings = {
    "config": defaults.inherit(defaults.WIDGET_CONFIG),
    "design": {name: value for name, value in widget_design.DEFAULTS.items() if name != "chosen"},
    "cta": {},
}
# The first of several controls, for links from the summary of errors.
TARGETS = {
    **{name: f"{name}-{values[0]}" for name, values in CHOICES.items() if name != "shape"},
    "palette": "palette-neutral",
    "look": "look-quiet",
    "tags": "tags-0",
    **{
        name: name
        for name in ("showSource", "showCtaButton", "showHeader", "showHighlights", "onlyChosen")
    },
}


def choose_color(project: Project, settings: Settings) -> str:
    """Return the color that everything derives from with these settings."""
    found = WidgetSettings("", settings["config"], settings["design"])
    effective = in_brand(project, found)
    return choose_brand(effective.config, effective.design)


def describe_editor(project: Project, widget: Widget, edit: Edit) -> dict[str, Any]:
    """Return what the page shows; `edit` is a form that was refused, or empty."""
    settings, published = read_draft(widget), to_form(read_published(widget))
    draft = to_form(settings)
    shown = draft | edit.shown
    if isinstance(shown["tags"], str):
        # They were refused.
        shown["tags"] = shown["tags"].split(SEPARATOR)
    colour = choose_color(project, settings)
    found = describe_colour(colour)
    count = sum(draft[name] != published[name] for name in draft)
    return {
        "widgets": [each.name for each in list_saved(project)],
        "widget": widget.name if isinstance(widget, SavedWidget) else "",
        "shown": shown,
        "errors": edit.errors,
        "targets": {name: TARGETS.get(name, f"editor-{name}") for name in edit.errors},
        "draft": draft,
        "look": find_look(settings["config"], settings["design"]) or "",
        "published": published,
        "defaults": to_form(DEFAULTS),
        "options": describe_options(project, shown["tags"]),
        # What the button has if its fields are empty, which a saved widget doesn't have.
        "default_cta": read_cta(project)
        if isinstance(widget, SavedWidget)
        else {"label": CTA_LABEL, "url": collection_page_url(project.slug, project.own_host)},
        "colour": colour,
        "colours": {each: describe_colour(each) for each in {*PALETTES.values(), colour}},
        "colour_names": " ".join(COLOURS),
        "note": found["notes"][settings["config"]["theme"]],
        "summaries": summarise(draft),
        "changes": describe_changes(count),
    }


def describe_options(project: Project, ticked: Iterable[str]) -> dict[str, Any]:
    """Return what can be chosen, and by which rules; `ticked` tags may be no testimonial's now."""
    tags = (tag.name for tag in list_project_tags(project.id))
    return {
        "choices": CHOICES,
        "name": name_choice,
        "palettes": PALETTES,
        "looks": {name: describe_look(look) for name, look in LOOKS.items()},
        "tags": list(dict.fromkeys([*tags, *ticked])),
        "count_range": defaults.INITIAL_COUNT_RANGE,
        "length_range": widget_design.MIN_LENGTH_RANGE,
        "limits": {
            "ctaLabel": CTA_LABEL_LENGTH,
            "ctaUrl": URL_LENGTH,
            "label": widget_design.LABEL_LENGTH,
        },
        # The server's rule, which the script checks before it sends.
        "url_pattern": WEBSITE_PATTERN,
    }


def describe_colour(hex_colour: str) -> dict[str, Any]:
    """Return what is derived from a brand's colour, and what was changed and why, by theme."""
    derived = derive_colours(hex_colour)
    notes = {}
    for theme, colours in (("light", derived.light), ("dark", derived.dark)):
        ratio = round(contrast(colours["on"], colours["solid"]), 1)
        text = (
            _("White on it reads at %(ratio)s to 1", ratio=ratio)
            if colours["on"] == WHITE
            else _("Dark words on it read at %(ratio)s to 1", ratio=ratio)
        )
        changes = [
            {"colour": change.used, "reason": _(change.reason)}
            for change in explain_changes(hex_colour)
            if change.theme == theme and change.name != "on"
        ]
        notes[theme] = {"text": text, "changes": changes}
    branded = read_colours({}, {"brandColor": hex_colour, "starColor": "brand"})
    stars = {"light": branded.light["star"], "dark": branded.dark["star"]}
    return write_colours(derived) | {"stars": stars, "notes": notes}


def describe_preview(project: Project, name: str, settings: Settings) -> dict[str, Any]:
    """Return the widget's data with these settings, as many testimonials as any setting shows."""
    config, look = settings["config"], settings["design"]
    shown = in_brand(project, WidgetSettings(name, config, look))
    limit = None if look["shape"] else defaults.INITIAL_COUNT_RANGE[1]
    feed = describe_feed(project, None, limit=limit, settings=shown)
    # They are there whether they are shown or not, so that the preview can show them at once.
    header = describe_header(project)
    return feed | {
        "header": header,
        "lang": ENGLISH.code,
        "words": write_words(look["labels"], header),
    }
