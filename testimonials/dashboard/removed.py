"""What somebody deleted a moment ago, to bring it back in place of asking them before.

A job that forgets it keeps it, so that it comes back once at most, and is gone soon.
"""

from datetime import timedelta

from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier, new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.jobs import Job, enqueue, job
from testimonials.dashboard.framework import Values
from testimonials.projects.models import Project

# How long something can be brought back, by the line that tells of its removal.
UNDO = timedelta(minutes=10)
FORGET = "removed.forget"


class UndoForm(FormSchema):
    """What to bring back."""

    undo = Text(40, load_default="")


def keep_removed(project: Project, what: str, **values: object) -> str:
    """Keep the values of something that is deleted; return the id to `take_removed` them by."""
    id = new_identifier()
    enqueue(FORGET, id=id, run_at=clock.now() + UNDO, of=[project.id, what], values=values)
    return id


def take_removed(project: Project, what: str, id: str) -> Values:
    """Return the values that were kept, only once; raise `ValidationFailed`."""
    row = db.session.get(Job, id) if is_identifier(id) else None
    if row is None or row.kind != FORGET or row.payload["of"] != [project.id, what]:
        raise ValidationFailed.of({"form": [_("This can no longer be undone.")]})
    db.session.delete(row)
    values: Values = row.payload["values"]
    return values


@job(FORGET, "jobs")
def forget(**_kept: object) -> None:
    """Do nothing: a job that is done is deleted, with what it kept."""
