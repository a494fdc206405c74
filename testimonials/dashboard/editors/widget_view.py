"""What the page of the widget editor shows, in words and for its scripts."""

from collections.abc import Iterable
from typing import Any

from testimonials.core.pictures.colours import contrast
from testimonials.core.text_rules import WEBSITE_PATTERN
from testimonials.core.urls import collection_page_url
from testimonials.core.web.languages import ENGLISH
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.editors.forms import Edit
from testimonials.dashboard.editors.widget_form import SEPARATOR
from testimonials.dashboard.editors.widget_values import (
    DATES,
    LAYOUTS,
    MARQUEES,
    STARS,
    describe_look,
    to_form,
)
from testimonials.dashboard.editors.widget_words import describe_changes, name_choice, summarise
from testimonials.projects.configuration import defaults
from testimonials.projects.configuration import widget_design as design
from testimonials.projects.configuration.dashboard_config import CTA_LABEL_LENGTH, URL_LENGTH
from testimonials.projects.models import Project
from testimonials.testimonials.moderation.tags import list_project_tags
from testimonials.widget.content.saved_widgets import WidgetSettings, list_saved
from testimonials.widget.design.colours import NAMES as COLOURS
from testimonials.widget.design.colours import (
    PALETTES,
    WHITE,
    choose_brand,
    derive_colours,
    read_colours,
    write_colours,
)
from testimonials.widget.design.contrasts import explain_changes
from testimonials.widget.design.drafts import Settings, Widget, read_draft, read_published
from testimonials.widget.design.looks import LOOKS, find_look
from testimonials.widget.design.words import write_words
from testimonials.widget.models import SavedWidget
from testimonials.widget.services import describe_feed, describe_header
from testimonials.widget.settings import CTA_LABEL, read_cta

CHOICES = {
    "layout": LAYOUTS,
    "marquee": MARQUEES,
    "stars": STARS,
    "dates": DATES,
    "theme": defaults.THEMES,
    "cardStyle": defaults.CARD_STYLES,
    "font": design.FONTS,
    "radius": sorted(design.RADII),
    "density": ("compact", "comfortable", "airy"),
    "photoSize": sorted(design.PHOTO_SIZES),
    "cardWidth": ("narrow", "medium", "wide"),
    "featured": design.FEATURED,
    "order": design.ORDERS,
    "shape": design.SHAPES,
}
# What Reset goes back to. Whom somebody has chosen by hand is no setting of this page.
DEFAULTS: Settings = {
    "config": defaults.WIDGET_CONFIG,
    "design": {name: value for name, value in design.DEFAULTS.items() if name != "chosen"},
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


def describe_editor(project: Project, widget: Widget, edit: Edit) -> dict[str, Any]:
    """Return what the page shows; `edit` is a form that was refused, or empty."""
    settings, published = read_draft(widget), to_form(read_published(widget))
    draft = to_form(settings)
    shown = draft | edit.shown
    if isinstance(shown["tags"], str):
        # They were refused.
        shown["tags"] = shown["tags"].split(SEPARATOR)
    colour = choose_brand(settings["config"], settings["design"])
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
        "length_range": design.MIN_LENGTH_RANGE,
        "limits": {
            "ctaLabel": CTA_LABEL_LENGTH,
            "ctaUrl": URL_LENGTH,
            "label": design.LABEL_LENGTH,
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
    limit = None if look["shape"] else defaults.INITIAL_COUNT_RANGE[1]
    feed = describe_feed(project, None, limit=limit, settings=WidgetSettings(name, config, look))
    # They are there whether they are shown or not, so that the preview can show them at once.
    header = describe_header(project)
    return feed | {
        "header": header,
        "lang": ENGLISH.code,
        "words": write_words(look["labels"], header),
    }
