"""Slugs: the path segment of a collection page."""

import re
import secrets
import string
import unicodedata

from flask import Flask, current_app

from testimonials.core.text_rules import normalize
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.settings.current import current_settings
from testimonials.settings.secret import SettingError

RESERVED = "testimonials_reserved_slugs"
# Of what follows in a text, nothing gets into a slug.
LONGEST = 500
RANDOM_ALPHABET = string.ascii_lowercase + string.digits

# Paths kept free of slugs, besides those in the URL map.
PLANNED = frozenset(
    {
        "dashboard", "login", "logout", "signup", "forgot", "reset", "media", "metrics", "readyz",
        "invite", "unsubscribe",
    }
)  # fmt: skip


def make_slug(text: str) -> str:
    """Return the slug of `text`: ASCII letters and digits in lower case, and single dashes.

    At most 60 characters; empty if nothing in the text can be written with letters or digits.
    """
    composed = normalize("NFKC", text[:LONGEST])
    letters = "".join(_transliterate(character) for character in composed)
    slug = re.sub(r"[^a-z0-9]+", "-", letters.lower()).strip("-")
    return slug[:SLUG_LENGTH].rstrip("-")


def random_slug() -> str:
    return "project-" + "".join(secrets.choice(RANDOM_ALPHABET) for _ in range(6))


def keep_reserved_slugs(app: Flask) -> None:
    """Reserve the first path segments of the app's routes, and that of the base path.

    Raises `SettingError` if they are the same: a path could be read in two ways.
    """
    base_path = current_settings(app).base_path
    segments = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    slugs = {make_slug(segment) for segment in segments if segment[:1] not in ("", "<")}
    first = base_path.split("/")[1] if base_path else ""
    if first and first in segments:
        raise SettingError(
            f"TESTIMONIALS_BASE_URL can't have a path that begins with /{first}, which the service "
            "has itself."
        )
    app.extensions[RESERVED] = (PLANNED | slugs | {make_slug(first)}) - {""}


def reserved_slugs() -> frozenset[str]:
    """Return the slugs that are the service’s own paths."""
    reserved: frozenset[str] = current_app.extensions[RESERVED]
    return reserved


def is_reserved(slug: str) -> bool:
    return slug in reserved_slugs()


def _transliterate(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        # Combining accents, joiners and the like.
        return ""
    if unicodedata.category(character) in ("So", "Sk"):
        # Emoji have names, which nobody means.
        return " "
    # Tables that most names don't need.
    from anyascii import anyascii

    return anyascii(character) or " "
