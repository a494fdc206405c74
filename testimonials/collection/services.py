"""The rules of submissions by visitors."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from testimonials.collection.flood import tell_of_flood
from testimonials.collection.photos import collects_photo
from testimonials.collection.same_submission import find_arrived, make_submission_key
from testimonials.collection.spam import FAST, FLOOD, find_reasons, fingerprint
from testimonials.core import clock
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import current_language, gettext, gettext_noop
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.services import next_time
from testimonials.testimonials.submission_mail import tell_of_submission

TOKEN_SECONDS = 24 * 60 * 60

form_purpose = TokenPurpose("collection-form")


class FormStale(ServiceError):
    """The form was opened too long ago, or for another page."""

    code = "FORM_STALE"
    default_message = gettext_noop(
        "This page was open for a long time. Everything you wrote is still here: send it again."
    )


@dataclass(frozen=True)
class FormToken:
    """What a form's token says: which act of sending it is, and what its age tells of it."""

    key: str
    signs: tuple[str, ...]


def make_form_token(project: Project, *, is_empty: bool) -> str:
    """Return the token of one act of sending: it is what makes a repetition one row.

    It carries the time, which tells a form that was sent sooner than a person can fill it in. Of a
    form that came filled in already (`is_empty` is false) the time tells nothing.
    """
    return form_purpose.sign([project.id, secrets.token_urlsafe(16), int(is_empty)])


def read_form_token(project: Project, token: str) -> FormToken:
    """Read the token of a form that was sent; raise `FormStale`."""
    try:
        (project_id, key, is_empty), made = form_purpose.read(token, TOKEN_SECONDS)
    except (TokenInvalid, TokenExpired, TypeError, ValueError):
        raise FormStale from None
    if project_id != project.id:
        raise FormStale
    # Tokens know whole seconds, cut off: a form seems up to a second older than it is.
    age = (clock.now() - made).total_seconds()
    is_fast = is_empty and age < current_settings().min_form_seconds
    return FormToken(str(key), (FAST,) if is_fast else ())


def consent_sentence(project: Project) -> str:
    """Return the sentence a visitor agrees to, in their language; the testimonial keeps it."""
    if collects_photo(project):
        return gettext(
            "%(name)s may show my words, name and photo on its website and in print.",
            name=project.name,
        )
    return gettext(
        "%(name)s may show my words and name on its website and in print.", name=project.name
    )


def submit_testimonial(
    project: Project, values: dict[str, Any], form_key: str, signs: Sequence[str] | None = ()
) -> tuple[Testimonial, bool]:
    """Store a visitor's testimonial, once for each act of sending; tell who wants to know.

    `project` is locked, `values` are columns (spec, "States and transitions"), `signs` what spoke
    for spam in the act of sending; None for somebody known, whose words are never held. It is
    pending; what is held as spam is told to nobody. Gives the testimonial and whether it is new;
    the act of sending may have made it before.
    """
    if (arrived := find_arrived(project, values)) is not None:
        return arrived, False
    time = next_time(project)
    reasons = [] if signs is None else find_reasons(project, values, signs, time)
    testimonial = Testimonial(
        project_id=project.id,
        status="spam" if reasons else "pending",
        held_for=",".join(reasons) or None,
        source="public_page",
        text_fingerprint=fingerprint(values["text"]),
        submitted_at=time,
        consent_text=consent_sentence(project),
        consent_language=current_language().code,
        consented_at=time,
        submission_key=make_submission_key(form_key, values),
        created_at=time,
        updated_at=time,
        **values,
    )
    try:
        with db.session.begin_nested():
            db.session.add(testimonial)
    except IntegrityError:
        # The same form arrived before: a double click, a reload, a retry after a time-out.
        key = make_submission_key(form_key, values)
        query = select(Testimonial).where(Testimonial.submission_key == key)
        return db.session.scalars(query).one(), False
    if not reasons:
        tell_of_submission(project, testimonial)
    elif FLOOD in reasons:
        tell_of_flood(project, testimonial)
    return testimonial, True
