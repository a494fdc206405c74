"""Adding, finding and listing testimonials; the samples of a first project."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, literal, select

from testimonials.auth.emails import summarizing
from testimonials.auth.events import KEY_ISSUED
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event, LockedProject
from testimonials.core.db.engine import insert_values
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import delete_rows
from testimonials.core.event_lists import list_events, write_sentence
from testimonials.core.extensions import db
from testimonials.core.http.answers import Cursor, Page, read_page
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.urls import collection_page_url, widget_page_url
from testimonials.core.images.uploads import Image
from testimonials.core.text import TAG_LENGTH
from testimonials.projects.models import PICTURES, Project
from testimonials.projects.projects import list_projects, mark_changed, project_created
from testimonials.testimonials.counts import count_states
from testimonials.testimonials.history import record_additions
from testimonials.testimonials.models import Recording, Testimonial, TestimonialTag
from testimonials.testimonials.samples import write_samples


def add_approved_testimonial(
    project: Project | LockedProject, columns: dict[str, Any]
) -> Testimonial:
    """Add a public testimonial to the locked project; the returned row isn't in the session.

    See spec, "POST /v1/projects/:id/testimonials".
    """
    if isinstance(project, LockedProject):
        time = project.time
    else:
        mark_changed(project)
        time = project.next_time()
    row = Testimonial()
    values = _approve(project, columns, time)
    row.__dict__.update(insert_values(db.session(), Testimonial, values))
    return row


def prepare_approved(project: Project, columns: dict[str, Any]) -> Testimonial:
    """Return a public testimonial for the locked project; `write_added` adds many of them."""
    return Testimonial(id=new_identifier(), **_approve(project, columns, project.next_time()))


def write_added(project: Project, rows: Sequence[Testimonial], actor: str) -> None:
    """Add rows of `prepare_approved` with a few statements, recorded as one event."""
    if rows:
        db.session.add_all(rows)
        mark_changed(project)
        db.session.flush()
        record_additions(project, rows, actor)


def _approve(
    project: Project | LockedProject, columns: dict[str, Any], time: datetime
) -> dict[str, Any]:
    times = {"submitted_at": time, "created_at": time, "updated_at": time}
    company = columns.get("author_company") or None
    approved = {"status": "approved", "source": "manual", "author_company": company}
    return {"project_id": project.id, **times, **columns, **approved}


def find_by_external_ids(project: Project, ids: Iterable[str]) -> dict[str, Testimonial]:
    """Return the project's testimonials with these external ids, including the trash."""
    query = select(Testimonial).where(
        Testimonial.project_id == project.id, Testimonial.external_id.in_(list(ids))
    )
    return {str(row.external_id): row for row in db.session.scalars(query)}


@project_created.connect
def seed_demos(project: Project, *, has_samples: bool) -> None:
    """Add six samples to an account's first project (spec, "States and transitions")."""
    if not has_samples:
        return
    trade = project.brand.get("trade", "")
    for columns in reversed(write_samples(project.business_name, trade)):
        row = prepare_approved(project, columns)
        row.status = row.source = "demo"
        db.session.add(row)
    mark_changed(project)
    db.session.flush()


def delete_demos(project: Project) -> int:
    """Delete the samples of the locked project; return how many there were."""
    is_own = Testimonial.project_id == project.id
    removed = delete_rows(Testimonial, is_own, Testimonial.status == "demo")
    if removed:
        mark_changed(project)
    return removed


def list_visible(project_id: str, limit: int, offset: int = 0, after: Cursor | None = None) -> Page:
    """Return approved and demo testimonials, newest first (spec, "GET .../testimonials")."""
    query = select(Testimonial).where(Testimonial.project_id == project_id, Testimonial.is_visible)
    # Databases accept no larger offset.
    return read_page(query.offset(min(offset, 2**62)), Testimonial, limit, after)


def list_all_of_project(project_id: str, status: str | None, limit: int) -> Sequence[Testimonial]:
    """Return the project's newest testimonials, in any state or in one, for the operator."""
    query = select(Testimonial).where(Testimonial.project_id == project_id)
    if status is not None:
        query = query.where(Testimonial.status == status)
    return db.session.scalars(
        query.order_by(Testimonial.created_at.desc(), Testimonial.id.desc()).limit(limit)
    ).all()


def find_authors(testimonial_ids: Collection[str]) -> dict[str, str]:
    query = select(Testimonial.id, Testimonial.author_name)
    query = query.where(Testimonial.id.in_(testimonial_ids), Testimonial.deleted_at.is_(None))
    return {row.id: row.author_name for row in db.session.execute(query)}


def count_by_status(project_id: str) -> dict[str, int]:
    return count_by_project([project_id])[project_id]


def count_by_project(project_ids: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """Return the number of testimonials by project and status, for these projects or all."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for each in count_states(None if project_ids is None else list(project_ids)):
        of_project = counts[each.project_id]
        of_project[each.status] = of_project.get(each.status, 0) + each.number
    return counts


@summarizing.connect
def summarize_projects(account_id: str) -> list[dict[str, Any]]:
    """Return what emails and the claim page show about the account's projects."""
    summaries, projects = [], list_projects(account_id)
    by_project = count_by_project(project.id for project in projects)
    for project in projects:
        counts = by_project[project.id]
        counts.pop("spam", None)
        samples = counts.pop("demo", 0)
        summaries.append(
            {
                "name": project.called,
                "slug": project.slug,
                "page_url": collection_page_url(project.slug, project.own_host),
                "widget_url": widget_page_url(project.id),
                "testimonial_count": sum(counts.values()),
                "sample_count": samples,
            }
        )
    return summaries


def is_unused() -> ColumnElement[bool]:
    """Return the condition that no testimonial and no project uses a picture."""
    of_project = (getattr(Project, name) for name in PICTURES)
    users = (Testimonial.avatar_id, Recording.poster_id, *of_project)
    return and_(*(~exists().where(user == Image.id) for user in users))


def delete_unused_images(proposed: Set[str]) -> int:
    """Delete the pictures that no testimonial and no project uses; return how many.

    Replaced ones are kept while that can be undone, new ones until their form is sent; also
    `proposed` ones, and the logos offered to a person who is claiming an account.
    """
    # Longer than changes can be undone (`undo.UNDO_SECONDS`).
    since = clock.now() - timedelta(days=2)
    avatar = Event.before["avatar_id"].as_string()
    replaced = select(avatar).where(IS_HISTORY, Event.created_at > since, avatar.is_not(None))
    kept = proposed | set(db.session.scalars(replaced))
    read = select(Account.website_read).where(Account.website_read.is_not(None))
    kept |= {logo for each in db.session.scalars(read) if each for logo in each.get("logos", [])}
    unused = db.session.scalars(select(Image.id).where(Image.created_at <= since, is_unused()))
    ids = [image_id for image_id in unused if image_id not in kept]
    for start in range(0, len(ids), 500):
        db.session.execute(delete(Image).where(Image.id.in_(ids[start : start + 500])))
    return len(ids)


# Somebody who claims an account sees its keys, and what was added after the first: anybody who
# knows an unclaimed account's address can get a new key (spec, "POST /v1/auth/agent-init").

MOST_KEYS, MOST_ADDED = 20, 10


def describe_issued(account_id: str) -> list[dict[str, Any]]:
    """Return when and from where keys were issued, newest first."""
    events = list_events(account_id=account_id, type=KEY_ISSUED, limit=MOST_KEYS)
    return [{"time": each.created_at, "sentence": write_sentence(each, {}, {})} for each in events]


def describe_keys(account_id: str) -> dict[str, Any]:
    """Return the keys of an unclaimed account, and what was added after the first."""
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


# The tag, which only the owner sees.
ADDED = gettext_noop("added after a new key")


def mark_added(account_id: str) -> None:
    """Tag what was added to an account after its first key; called when it is claimed."""
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
    """Return when the account got its second key, if it has one."""
    issued = select(Event.created_at).where(
        Event.account_id == account_id, Event.type == KEY_ISSUED
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
    return gettext(ADDED)[:TAG_LENGTH]
