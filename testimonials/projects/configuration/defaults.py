"""What a new project starts with, and the values its settings may take (spec, "Project")."""

from typing import Any

from testimonials.core.web.languages import gettext_noop

THEMES = ("light", "dark")
LAYOUTS = ("masonry", "carousel", "list")
ANIMATIONS = ("none", "horizontal", "vertical")
PALETTES = ("neutral", "indigo", "emerald", "amber", "rose", "sky")
CARD_STYLES = ("default", "quote", "stripe", "gradient", "outlined")
INITIAL_COUNT_RANGE = (3, 50)

SLUG_LENGTH = 60
BUSINESS_NAME_LENGTH = 120
WEBSITE_LENGTH = 500
HEADLINE_LENGTH = 160
DESCRIPTION_LENGTH = 500
THANK_YOU_LENGTH = 500

WIDGET_CONFIG: dict[str, Any] = {
    "theme": "light",
    "layout": "masonry",
    "animation": "none",
    "palette": "neutral",
    "cardStyle": "default",
    "initialCount": 9,
    "showStars": True,
    "showDates": True,
    "showSource": True,
    "showCtaButton": True,
}

HEADLINE = gettext_noop("How was your experience with %(name)s?")

# Visitors see these texts in their language until the owner changes them.
PAGE_CONFIG: dict[str, Any] = {
    "website": "",
    "headline": gettext_noop("How was your experience?"),
    "description": gettext_noop(
        "Two or three sentences are plenty. Your words help the next person choose."
    ),
    "thankYouMessage": gettext_noop("Your words mean a lot to us."),
    "theme": "light",
    "buttonColor": "#4F46E5",
    "buttonTextColor": "#FFFFFF",
    "logo": None,
    "showConfetti": True,
    # The page always asks for the name, whatever this says.
    "collectFields": {
        "name": True,
        "email": True,
        "role": True,
        "company": True,
        "avatar": True,
        "rating": True,
    },
}


def default_page_config(business_name: str) -> dict[str, Any]:
    config = {**PAGE_CONFIG, "collectFields": dict(PAGE_CONFIG["collectFields"])}
    if business_name:
        config["headline"] = (HEADLINE % {"name": business_name})[:HEADLINE_LENGTH]
    return config
