"""Slugs: the path segment of a collection page."""

import re
import secrets
import string
import unicodedata

from flask import Flask, current_app

from testimonials.projects.configuration.defaults import SLUG_LENGTH

RESERVED = "testimonials_reserved_slugs"
RANDOM_ALPHABET = string.ascii_lowercase + string.digits

# Paths that may be needed, so that no slug is in their way. Those that exist are
# read from the URL map.
PLANNED = frozenset(
    {
        "dashboard", "login", "logout", "signup", "forgot", "reset", "media", "metrics", "readyz",
        "invite", "unsubscribe",
    }
)  # fmt: skip


def make_slug(text: str) -> str:
    """Return the slug of `text`: ASCII, lower case, runs of anything else one dash, at most 60.

    May be empty, where nothing in the text can be written in letters or digits (decisions,
    "Projects").
    """
    composed = unicodedata.normalize("NFKC", text)
    letters = "".join(_transliterate(character) for character in composed)
    slug = re.sub(r"[^a-z0-9]+", "-", letters.lower()).strip("-")
    return slug[:SLUG_LENGTH].rstrip("-")


def random_slug() -> str:
    return "project-" + "".join(secrets.choice(RANDOM_ALPHABET) for _ in range(6))


def keep_reserved_slugs(app: Flask) -> None:
    """Note the first path segments that the routes of `app` use, in the form of slugs."""
    segments = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    slugs = {make_slug(segment) for segment in segments if segment[:1] not in ("", "<")}
    app.extensions[RESERVED] = PLANNED | slugs


def is_reserved(slug: str) -> bool:
    """Return whether a page of the service has this slug as its path."""
    reserved: frozenset[str] = current_app.extensions[RESERVED]
    return slug in reserved


def _transliterate(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        # Accents that have no composed form, joiners and the like belong to their neighbour.
        return ""
    # A table of a third of a megabyte, which most names don't need.
    from text_unidecode import unidecode

    latin: str = unidecode(character)
    return " " if latin in ("", "[?]") else latin
