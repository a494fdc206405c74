"""The form of the collection page: the same rules as the API's, said to a visitor."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError

from testimonials.auth.addresses import EmailDisposable, EmailMalformed, normalize_email
from testimonials.core.web.fields import clean
from testimonials.core.web.languages import format_number
from testimonials.core.web.languages import gettext as _
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH

Errors = dict[str, list[str]]

LINES = ("name", "role", "company")


def read_form(
    form: Mapping[str, str], collect: Mapping[str, bool]
) -> tuple[dict[str, str], Errors]:
    """Return what was typed, trimmed, and what must be changed before it can be sent.

    Only fields that the project collects are read; name and text always are.
    """
    typed, errors = read_words(form, collect)
    typed["consent"] = form.get("consent", "")
    if not typed["consent"]:
        errors["consent"] = [consent_missing()]
    return typed, errors


def read_words(
    form: Mapping[str, str], collect: Mapping[str, bool]
) -> tuple[dict[str, str], Errors]:
    """Do what `read_form` does for a form that asks for no consent."""
    typed: dict[str, str] = {}
    errors: Errors = {}
    for name, limit in (("text", TEXT_LENGTH), *((line, LINE_LENGTH) for line in LINES)):
        if name in ("name", "text") or collect.get(name):
            typed[name] = _read_text(form, name, limit, errors)
    if collect.get("email"):
        typed["email"] = _read_email(form, errors)
    if collect.get("rating"):
        typed["rating"] = _read_rating(form, errors)
    return typed, errors


def consent_missing() -> str:
    """Ask for the consent that was not given."""
    return _("Tick this, so that your words may be shown.")


def to_values(typed: Mapping[str, str]) -> dict[str, Any]:
    """Turn the checked fields into columns of a testimonial."""
    rating = typed.get("rating")
    return {
        "author_name": typed["name"],
        "text": typed["text"],
        "author_role": typed.get("role", ""),
        "author_company": typed.get("company") or None,
        "author_email": typed.get("email") or None,
        "rating": float(rating) if rating else None,
    }


def _read_text(form: Mapping[str, str], name: str, limit: int, errors: Errors) -> str:
    # Browsers send line breaks as CR LF.
    raw = form.get(name, "").replace("\r\n", "\n").replace("\r", "\n")
    try:
        text = clean(raw, one_line=name in LINES)
    except ValidationError:
        errors[name] = [_("Remove the special control characters and line breaks from this.")]
        return raw
    if len(text) > limit:
        errors[name] = [
            _(
                "Shorten this to %(limit)s characters; it has %(count)s.",
                limit=format_number(limit),
                count=format_number(len(text)),
            )
        ]
    elif not text and name == "text":
        errors[name] = [_("Write a sentence or two.")]
    elif not text and name == "name":
        errors[name] = [_("Add your name, as it should appear.")]
    return text


def _read_email(form: Mapping[str, str], errors: Errors) -> str:
    text = form.get("email", "").strip()
    if not text:
        return ""
    try:
        return normalize_email(text)
    except EmailMalformed:
        errors["email"] = [_("Write the address like name@example.com, or leave it empty.")]
    except EmailDisposable:
        errors["email"] = [_("Use a lasting address, or leave this empty.")]
    return text


def _read_rating(form: Mapping[str, str], errors: Errors) -> str:
    rating = form.get("rating", "")
    if rating not in ("", "1", "2", "3", "4", "5"):
        errors["rating"] = [_("Choose from 1 to 5 stars, or none.")]
        return ""
    return rating
