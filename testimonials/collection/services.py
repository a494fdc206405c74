"""The rules of submissions by visitors."""

import secrets
from typing import Any

from sqlalchemy.exc import IntegrityError

from testimonials.core.errors import ServiceError
from testimonials.core.i18n import current_language, gettext, gettext_noop
from testimonials.core.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
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


def make_form_token(project: Project) -> str:
    """Give the token of one act of sending: it is what makes a repetition one row."""
    return form_purpose.sign([project.id, secrets.token_urlsafe(16)])


def read_form_token(project: Project, token: str) -> str:
    """Give the submission key of a form's token; raise `FormStale`."""
    try:
        (project_id, key), _ = form_purpose.read(token, TOKEN_SECONDS)
    except (TokenInvalid, TokenExpired, TypeError, ValueError):
        raise FormStale from None
    if project_id != project.id:
        raise FormStale
    return str(key)


def consent_sentence(project: Project) -> str:
    """Give the sentence a visitor agrees to, in their language; the testimonial keeps it."""
    return gettext(
        "%(name)s may show my words and name on its website and in print.", name=project.name
    )


def submit_testimonial(
    project: Project, values: dict[str, Any], submission_key: str
) -> Testimonial | None:
    """Store a visitor's testimonial, pending, once for each act of sending; tell who wants to know.

    `project` is locked, `values` are columns (spec, "States and transitions"). Gives the
    testimonial, None where this act of sending has made one before.
    """
    time = next_time(project)
    testimonial = Testimonial(
        project_id=project.id,
        status="pending",
        source="public_page",
        submitted_at=time,
        consent_text=consent_sentence(project),
        consent_language=current_language().code,
        consented_at=time,
        submission_key=submission_key,
        created_at=time,
        updated_at=time,
        **values,
    )
    try:
        with db.session.begin_nested():
            db.session.add(testimonial)
    except IntegrityError:
        # The same form arrived before: a double click, a reload, a retry after a time-out.
        return None
    tell_of_submission(project, testimonial)
    return testimonial
