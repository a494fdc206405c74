"""What the templates of the author's own page show."""

from typing import Any

from testimonials.collection.authors.answers import fill_in, show_questions
from testimonials.collection.authors.services import OwnTestimonial
from testimonials.collection.describe import describe_with_owner, find_targets
from testimonials.collection.questions import ANSWER_LENGTH
from testimonials.collection.schemas import consent_sentence
from testimonials.core import clock
from testimonials.core.web.errors import FieldErrors
from testimonials.testimonials.answers import write_answer
from testimonials.testimonials.recordings.describing import describe_of

# What the previous request did.
DONE = ("corrected", "withdrawn", "consented", "verified", "unrecorded")


def describe_own(own: OwnTestimonial, token: str, done: str, errors: FieldErrors) -> dict[str, Any]:
    return describe_frame(own, token) | {
        "state": _find_state(own),
        "answers": [
            answer | {"words": write_answer(answer)} for answer in own.row.read_answers(own.project)
        ],
        "sent_at": clock.iso(own.row.submitted_at),
        "done": done if done in DONE else "",
        "new_consent": consent_sentence(own.project, own.row.kind) if own.can_consent else None,
        "errors": errors,
    }


def describe_edit(
    own: OwnTestimonial,
    token: str,
    errors: FieldErrors,
    *,
    typed: dict[str, str] | None = None,
    answered: dict[str, list[str]] | None = None,
) -> dict[str, Any]:
    row = own.row
    stored = {
        "text": row.text,
        "name": row.author_name,
        "role": row.author_role,
        "company": row.author_company,
        "rating": f"{row.rating:g}" if row.rating else "",
    }
    values = stored if typed is None else typed
    questions = show_questions(own)
    return describe_frame(own, token) | {
        "values": values,
        "questions": questions,
        "answers": fill_in(own) if answered is None else answered,
        # Without a script, what was chosen can't be unticked.
        "offers_none": True,
        "limits": {"answer": ANSWER_LENGTH},
        "targets": find_targets(questions),
        "errors": errors,
    }


def describe_frame(own: OwnTestimonial, token: str) -> dict[str, Any]:
    """Return what all of the author's pages show."""
    page = describe_with_owner(own.project) | {"own": own, "row": own.row, "token": token}
    # What is withdrawn is played to nobody.
    page["recording"] = None if own.row.status == "withdrawn" else describe_of(own.row)
    if own.project.deleted_at is not None:
        # A deleted project serves nothing to the public.
        page["theme_css_url"] = None
    return page


def _find_state(own: OwnTestimonial) -> str:
    """Return the state as the author sees it: spam counts as waiting."""
    row, project = own.row, own.project
    if row.status == "withdrawn":
        return "withdrawn"
    if project.deleted_at is not None:
        return "closed"
    if row.deleted_at is not None:
        return "removed"
    if row.status == "approved":
        return "shown" if project.is_active else "paused"
    return "rejected" if row.status == "rejected" else "waiting"
