"""What the front page shows: the widget with samples of an invented bakery, and the first call."""

from typing import Any

from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.web.languages import ENGLISH
from testimonials.projects.configuration.defaults import PALETTES, WIDGET_CONFIG
from testimonials.projects.configuration.widget_design import read_look
from testimonials.widget.design.colours import PALETTES as BRANDS
from testimonials.widget.design.colours import derive_colours, write_colours
from testimonials.widget.design.words import write_words

# No project has this id; the page's script answers for it.
PROJECT_ID = "bakery"
SAMPLES = (
    (
        "Hannah Weir",
        "The seeded loaf is the first thing my children eat without being asked. Twice a week "
        "isn’t enough.",
        5,
    ),
    ("Lucía Ferrán", "Open at six, when my night shift ends. Still warm.", 5),
    ("Tom Okerele", "They remember your order and your dog’s name.", 5),
    (
        "Aiko Tane",
        "Good rye. Saturdays are a long wait, so I come on Fridays now and stay for a coffee.",
        4,
    ),
)
ROLE = "Invented bakery"
LOOK = {"cardStyle": "quote", "palette": "indigo", "showDates": False, "showCtaButton": False}
LAYOUTS = {"masonry": "Masonry", "list": "List", "carousel": "Carousel"}


def describe_front_page() -> dict[str, Any]:
    """Return the samples, the widget's data for them, and what there is to try."""
    return {
        "samples": [
            {
                "name": name,
                "role": ROLE,
                "text": text,
                "rating": rating,
                "initials": initials_of(name),
                "who": colour_of(name),
            }
            for name, text, rating in SAMPLES
        ],
        "widget": {
            "feed": _describe_feed(),
            "colours": {name: write_colours(derive_colours(BRANDS[name])) for name in PALETTES},
        },
        "palettes": PALETTES,
        "layouts": LAYOUTS,
    }


def _describe_feed() -> dict[str, Any]:
    """Return the widget's data, as `describe_feed` does for a project."""
    return {
        "project": {"id": PROJECT_ID, "name": ROLE, "active": True},
        "config": WIDGET_CONFIG | LOOK,
        "design": read_look({}),
        "lang": ENGLISH.code,
        "words": write_words({}),
        "cta": {"label": "", "url": ""},
        "total": len(SAMPLES),
        "items": [
            {
                "id": f"{PROJECT_ID}-{number}",
                "authorName": name,
                "authorRole": ROLE,
                "text": text,
                "rating": rating,
                "submittedAt": "2026-06-01T08:00:00.000Z",
                "isSample": True,
            }
            for number, (name, text, rating) in enumerate(SAMPLES)
        ],
        "next": None,
    }
