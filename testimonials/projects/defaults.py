"""What a new project starts with."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from testimonials.core.http.fields import Choice, OneLine, StrictSchema, Switch, Text, WebUrl
from testimonials.core.http.i18n import gettext_noop

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


# Settings taken from the brand until they are set for a surface; stored as None.
INHERITED = {"palette", "buttonColor", "buttonTextColor"}


def fill_in(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings as the API shows them, with defaults for those that were never set."""
    defaults = PAGE_CONFIG if "buttonColor" in config else WIDGET_CONFIG
    return {
        name: defaults[name] if value is None and name in INHERITED else value
        for name, value in config.items()
    }


def inherit(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new project's settings, of which as many as possible follow the brand."""
    return {**config, **dict.fromkeys(INHERITED & config.keys())}


def default_page_config(business_name: str) -> dict[str, Any]:
    config = {**PAGE_CONFIG, "collectFields": dict(PAGE_CONFIG["collectFields"])}
    if business_name:
        config["headline"] = (HEADLINE % {"name": business_name})[:HEADLINE_LENGTH]
    return config


# The keys of `Project.dashboard_config` and their values. Other keys are rejected, since archives,
# which are imported by this schema, would lose them.

IS_HIDDEN, KEEPS_SAMPLES = "hidesChecklist", "keepsSamples"
SHARE_MESSAGE, CTA, RATED, MADE_WITH = "shareMessage", "cta", "rated", "madeWith"

MESSAGE_LENGTH = 2_000
CTA_LABEL_LENGTH = 60
URL_LENGTH = 500
RATED_NAME_LENGTH = 120
# The programs that websites are made with.
SITES = ("wordpress", "shopify", "webflow", "wix", "squarespace", "framer", "other", "code")
# Search engines show ratings of these, but not those that a business collects about itself.
RATED_KINDS = ("Product", "SoftwareApplication", "Course")


class CtaSchema(StrictSchema):
    """The button below the widget; empty values stand for the default."""

    label = OneLine(CTA_LABEL_LENGTH, blank=True)
    url = WebUrl(URL_LENGTH)


class RatedSchema(StrictSchema):
    """What the ratings are about, for structured data."""

    kind = Choice(*RATED_KINDS, required=True)
    name = OneLine(RATED_NAME_LENGTH, blank=False, required=True)


class DashboardConfigSchema(StrictSchema):
    """All keys; a missing one has never been set."""

    # No longer set, but older projects and archives have them.
    hasLooked = Switch()
    hasShared = Switch()
    hidesChecklist = Switch()
    keepsSamples = Switch()
    shareMessage = Text(MESSAGE_LENGTH)
    cta = fields.Nested(CtaSchema)
    rated = fields.Nested(RatedSchema)
    madeWith = Choice(*SITES)


KEYS = frozenset(DashboardConfigSchema().fields)


def require_known(config: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
    """Raise `ValueError` for an unknown key, unless a newer version stored it before."""
    if unknown := sorted(config.keys() - KEYS - (before or {}).keys()):
        raise ValueError(f"dashboard_config has no {', '.join(unknown)}")
