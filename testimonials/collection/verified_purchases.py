"""Links that prove a purchase, for verified customers.

A link contains a JSON Web Token (RFC 7519, HS256), which a shop can sign with any library. Its
claims are `order` and `exp`, and optionally `name`, `email` and `company`. An order marks only one
testimonial.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import func, select

from testimonials.auth.email_addresses import Email
from testimonials.collection.address_lists import REFERENCE_LENGTH
from testimonials.core import clock
from testimonials.core.db.identifiers import SIGNING_PREFIX, new_credential
from testimonials.core.extensions import db
from testimonials.core.faults import FAULTS
from testimonials.core.http.fields import OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import PARAMETER
from testimonials.core.http.urls import form_url
from testimonials.projects.models import Project
from testimonials.testimonials.fields import AuthorLine
from testimonials.testimonials.models import Testimonial

ALGORITHM = "HS256"
LONGEST_TOKEN = 2_000
# How long the old secret works after a transfer, while the new owner's shop switches to the new
# one.
OLD_SECRET_WORKS = timedelta(days=7)
# Enough for a course that takes two years.
LONGEST_LIFE = timedelta(days=800)


class _ClaimsSchema(FormSchema):
    order = OneLine(REFERENCE_LENGTH, required=True)
    name = AuthorLine(load_default="")
    email = Email()
    company = AuthorLine(load_default="")


_CLAIMS = _ClaimsSchema()


@dataclass(frozen=True)
class Purchase:
    """What a link proves: the shop's reference for the order, and perhaps the customer."""

    order: str
    name: str = ""
    email: str = ""
    company: str = ""


def make_secret(project: Project) -> str:
    """Set and return a new secret; links signed with the old one stop working."""
    project.purchase_secret = new_credential(SIGNING_PREFIX)
    return project.purchase_secret


def renew_secret(project: Project) -> datetime | None:
    """Set a new secret for a transferred project; return until when the old one works."""
    if not project.purchase_secret:
        return None
    project.old_purchase_secret = project.purchase_secret
    project.old_purchase_secret_until = clock.now() + OLD_SECRET_WORKS
    make_secret(project)
    return project.old_purchase_secret_until


def find_old_secret(project: Project) -> str | None:
    """Return the former owner's secret if it still works."""
    until = project.old_purchase_secret_until
    return project.old_purchase_secret if until and until > clock.now() else None


def end_old_secret(project: Project) -> None:
    """Revoke the former owner's secret."""
    project.old_purchase_secret = project.old_purchase_secret_until = None


def make_purchase_url(
    project: Project, claims: Mapping[str, str], days: int, form: str | None, language: str | None
) -> str:
    """Return a link for a purchase, which works for `days`; the project is locked."""
    from jwt import encode

    until = clock.now() + timedelta(days=days)
    token = encode(
        {name: value for name, value in claims.items() if value} | {"exp": int(until.timestamp())},
        project.purchase_secret or make_secret(project),
        ALGORITHM,
    )
    page = form_url(project.slug, form, project.own_host)
    query = {PARAMETER: language} if language else {}
    return f"{page}?{urlencode(query | {'purchase': token})}"


def read_purchase(project: Project, token: str) -> Purchase | None:
    """Return what a link's token proves, or None if it is invalid: anybody may still write."""
    secrets = filter(None, (project.purchase_secret, find_old_secret(project)))
    results = (_read_claims(secret, token) for secret in secrets if token)
    claims = next(filter(None, results), None)
    if claims is None or not _is_current(claims.get("exp")):
        return None
    order = claims.get("order")
    texts = {name: claims.get(name) for name in ("name", "email", "company")}
    # Many shops number their orders, so this may be an integer.
    is_number = isinstance(order, int) and not isinstance(order, bool)
    texts["order"] = str(order) if is_number else order
    sent = _CLAIMS.read({name: each for name, each in texts.items() if isinstance(each, str)})
    # An invalid name or address is ignored.
    if "order" in sent.errors:
        return None
    return Purchase(**{name: sent.values.get(name) or "" for name in texts})


def is_used(project: Project, order: str) -> bool:
    """Return whether a testimonial was already marked for this order."""
    query = select(Testimonial.id).where(
        Testimonial.project_id == project.id, Testimonial.purchase_reference == order
    )
    return db.session.scalar(query) is not None


def count_verified(project: Project) -> int:
    """Return how many testimonials are from verified customers."""
    query = select(func.count()).where(
        Testimonial.project_id == project.id, Testimonial.purchase_reference.is_not(None)
    )
    return db.session.scalar(query) or 0


def _read_claims(secret: str, token: str) -> dict[str, Any] | None:
    from jwt import PyJWS, PyJWTError

    # Not `jwt.decode`, which compares `exp` with the real clock.
    with suppress(*FAULTS, PyJWTError):
        if len(token) <= LONGEST_TOKEN:
            claims = json.loads(PyJWS().decode(token, secret, algorithms=[ALGORITHM]))
            return claims if isinstance(claims, dict) else None
    return None


def _is_current(expires: object) -> bool:
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        return False
    now = clock.now().timestamp()
    return now < expires <= now + LONGEST_LIFE.total_seconds()
