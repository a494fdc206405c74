"""What whoever claims an account learns of its keys, and of what was added after the first.

Anybody who knows an unclaimed address can get a new key to it (spec, "POST /v1/auth/agent-init").
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, insert, literal, select

from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event
from testimonials.activity.sentences import write_sentence
from testimonials.activity.services import EventFilter, list_events
from testimonials.core.text_rules import TAG_LENGTH
from testimonials.core.web.languages import gettext
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial, TestimonialTag

MOST_KEYS, MOST_ADDED = 20, 10


def describe_issued(account_id: str) -> list[dict[str, Any]]:
    """Return when the newest keys were issued and a sentence that says from where, newest first."""
    wanted = EventFilter(account_id, types=(EventType.KEY_ISSUED,))
    events = list_events(wanted, MOST_KEYS)
    return [{"time": each.created_at, "sentence": write_sentence(each, {}, {})} for each in events]


def describe_keys(account_id: str) -> dict[str, Any]:
    """Return the keys of an unclaimed account, and the newest of what came after the first."""
    issued, since = describe_issued(account_id), _find_renewal(account_id)
    if since is None:
        return {"issued": issued, "added_count": 0}
    is_later = _is_later(account_id, since)
    added = select(Testimonial).join(Project).where(*is_later)
    newest = added.order_by(Testimonial.created_at.desc()).limit(MOST_ADDED)
    projects = select(Project).where(Project.account_id == account_id, Project.created_at > since)
    return {
        "issued": issued,
        "added_count": db.session.scalar(added.with_only_columns(func.count())),
        "added": db.session.scalars(newest).all(),
        "added_projects": db.session.scalars(projects.where(Project.deleted_at.is_(None))).all(),
        "added_tag": _name_tag(),
    }


def mark_added(account_id: str) -> None:
    """Tag what was added to an account after its key was first renewed; whoever claims it calls it.

    By one statement, however much that is.
    """
    if (since := _find_renewal(account_id)) is None:
        return
    db.session.flush()
    name, is_later = _name_tag(), _is_later(account_id, since)
    ids = select(Project.id).join(Testimonial).where(*is_later)
    projects = db.session.scalars(
        select(Project).where(Project.id.in_(ids)).with_for_update()
    ).all()
    tagged = select(TestimonialTag.testimonial_id).where(TestimonialTag.name == name)
    rows = select(Testimonial.id, literal(name), Testimonial.project_id).join(Project)
    rows = rows.where(*is_later, Testimonial.id.not_in(tagged))
    columns = ["testimonial_id", "name", "project_id"]
    db.session.execute(insert(TestimonialTag).from_select(columns, rows))
    for project in projects:
        mark_changed(project)


def _find_renewal(account_id: str) -> datetime | None:
    """Return when the account got its second key; None if it had one at most."""
    issued = select(Event.created_at).where(
        Event.account_id == account_id, Event.type == EventType.KEY_ISSUED
    )
    return db.session.scalar(issued.order_by(Event.id).offset(1).limit(1))


def _is_later(account_id: str, since: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        Project.account_id == account_id,
        Project.deleted_at.is_(None),
        Testimonial.source == "manual",
        Testimonial.created_at > since,
    )


def _name_tag() -> str:
    return gettext("added after a new key")[:TAG_LENGTH]
