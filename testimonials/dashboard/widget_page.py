"""What the pages of the widget say: the names of widgets, looks, orders and choices."""

from typing import Any

from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.dashboard import widget_controls as controls
from testimonials.projects import defaults, widget_design
from testimonials.widget.drafts import LOOKS, Settings, Widget, find_look
from testimonials.widget.models import SavedWidget

ORDERS = {
    "newest": gettext_noop("Pinned, then newest"),
    "best": gettext_noop("Pinned, then best"),
    "hand": gettext_noop("By hand"),
}
RATINGS = (0, 1, 2, 3, 4, 5)
LENGTHS = (0, 80, 160, 320)


def name_widget(widget: Widget) -> str:
    return widget.name if isinstance(widget, SavedWidget) else _("Main widget")


def name_look(settings: Settings) -> str:
    """Return the name of a widget's look, or of the small thing that it is."""
    if shape := settings["design"].get("shape"):
        return translate(controls.SMALL[shape])
    found = find_look(settings["config"], settings["design"])
    return translate(LOOKS[found].title) if found else _("Your own")


def name_order(design: dict[str, Any]) -> str:
    is_empty = design["order"] == "hand" and not design["chosen"]
    return translate(ORDERS["newest" if is_empty else design["order"]])


def describe_rating(least: int) -> str:
    """Return which ratings a widget shows, 0 for all."""
    if least < 2:
        return _("Any rating") if least else _("All, and without")
    if least == 5:
        return _("Only 5 stars")
    return ngettext("%(num)s star and more", "%(num)s stars and more", least)


def describe_choices(*, is_saved: bool) -> dict[str, Any]:
    """Return what can be chosen by each control, as (value, words), and the limits of others."""
    named = {
        "theme": controls.THEMES,
        "cardStyle": controls.CARDS,
        "density": controls.SPACES,
        "stars": controls.STARS,
        "dates": controls.DATES,
        "show": controls.SHOWN,
        "arrangement": controls.ARRANGEMENTS | (controls.SMALL if is_saved else {}),
        "cardWidth": controls.WIDTHS,
        "featured": controls.FEATURED,
        "font": controls.FONTS,
    }
    corners = [
        ngettext("%(num)s pixel", "%(num)s pixels", each) if each else _("Square")
        for each in controls.CORNERS
    ]
    return {
        name: [(value, translate(text)) for value, text in choices.items()]
        for name, choices in named.items()
    } | {
        "corners": corners,
        "photoSize": [(size, str(size)) for size in controls.PHOTO_SIZES],
        "minRating": [(each, describe_rating(each)) for each in RATINGS],
        "lengths": LENGTHS,
        "count_range": defaults.INITIAL_COUNT_RANGE,
        "label_length": widget_design.LABEL_LENGTH,
    }
