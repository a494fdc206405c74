"""The case file of a project or a testimonial: its history, and how its numbers are computed."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import IO, Any

from flask import current_app
from sqlalchemy import case, func, or_, select

from testimonials import __version__
from testimonials.collection.models import (
    AbuseReport,
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    is_unsubscribed,
)
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event, EventType
from testimonials.core.changed import CHANGED
from testimonials.core.clock import iso
from testimonials.core.db.engine import to_name, write_columns, write_value
from testimonials.core.event_lists import hide_from_team, list_events
from testimonials.core.extensions import db
from testimonials.core.settings.table import current_settings
from testimonials.core.text import Parts, compare_texts
from testimonials.projects.models import Project
from testimonials.testimonials.counts import DAY, read_numbers
from testimonials.testimonials.history import from_json
from testimonials.testimonials.models import KeptRating, Testimonial
from testimonials.testimonials.moderation import SET_ASIDE, find_testimonial
from testimonials.testimonials.record import find_gone
from testimonials.transfer.archives.format import FORM, PROJECT, SAVED_WIDGET
from testimonials.transfer.archives.writing import describe_all, describe_requests, write_members
from testimonials.transfer.tables import export

Members = Iterator[tuple[str, Any]]
Row = dict[str, Any]

FORMAT, VERSION = "testimonials-case-file", 1
# The subjects of events that change settings; the type of an event begins with its subject.
SUBJECTS = ("project", "page", "widget", "form", "domain", "purchases", "proposal")
# The earliest of these actions is the first decision about a testimonial.
DECISIONS = ("approve", "reject", SET_ASIDE, "spam")
# The columns of requests that are counted for each list.
COUNTED = ("sent_at", "opened_at", "declined_at", "answered_at")
# The reporter's words are left out.
COMPLAINT_COLUMNS = ("created_at", "page", "testimonial_id", "reason", "settled_at")
NOTES = {
    "numbers": (
        "The average and the number include every genuine rating, shown or not: all testimonials "
        "whose standing is “genuine”, and the kept ratings, whose testimonials were deleted "
        "without a reason. Any other standing is the reason why a testimonial doesn’t count."
    ),
    "oldNumbers": (
        "Until the day below, the numbers are those from before the upgrade, of what was shown."
    ),
    "settings": (
        "These are the current settings. Their changes are listed newest first: when, by whom, "
        "from what to what. For codes, and for the name below the page’s words, only the fact "
        "of a change is recorded. Older changes, of which no values were recorded, are marked."
    ),
    "stars": (
        "What visitors sent, by stars; the time is that until the first decision. Testimonials "
        "that were set aside and then deleted for good are counted by reason; others that were "
        "deleted for good are only among the kept ratings."
    ),
    "requests": "A list is a batch of requests sent together. Orders that nobody named here "
    "aren’t known.",
    "kept": "Events that aren’t about one testimonial are kept for %g days, and requests without "
    "an answer for %g days; the lists still count them. 0 means for good.",
    "gone": "What was set aside for a reason and deleted for good, without words and names.",
    "complaints": "Reports about the public pages, without the reporters’ words.",
}


def write_case_json(project: Project, out: IO[bytes], testimonial_id: str | None = None) -> None:
    """Write the case file as JSON, in parts, within `reading_snapshot`; raise `NotFound`."""
    write_members(_describe(project, testimonial_id), out)


def write_case_html(project: Project, out: IO[bytes], testimonial_id: str | None = None) -> None:
    """Write the same as a self-contained page to read or print."""
    template = current_app.jinja_env.get_template("transfer/case_file.html")
    pieces = template.stream(case=dict(_describe(project, testimonial_id)), compare=_compare_all)
    pieces.enable_buffering(500)
    pieces.dump(out, "utf-8")


CASE_FILES: dict[str, tuple[Callable[..., None], str]] = {
    "html": (write_case_html, "text/html"),
    "json": (write_case_json, "application/json"),
}


def _describe(project: Project, testimonial_id: str | None) -> Members:
    """Yield the members in order; long ones are iterators."""
    if testimonial_id is not None:
        find_testimonial(project, testimonial_id)
    settings = current_settings()
    yield "format", FORMAT
    yield "version", VERSION
    yield "program", __version__
    # Only the day, so that the file stays the same while nothing changes.
    yield "day", clock.now().date().isoformat()
    yield "testimonial", testimonial_id
    kept = NOTES["kept"] % (settings.activity_days, settings.request_days)
    yield "notes", NOTES | {"kept": kept}
    yield "numbers", _describe_numbers(project)
    yield "keptRatings", _describe_kept(project)
    gone = {} if testimonial_id else find_gone(project.id)
    yield "byStars", _describe_stars(project, testimonial_id, gone)
    yield "settings", PROJECT.write(project)
    yield "forms", describe_all(FORM, project)
    yield "savedWidgets", describe_all(SAVED_WIDGET, project)
    yield "rewards", [step for step in project.open_steps if step["kind"] == "code"]
    yield "changesOfSettings", _describe_events(project)
    yield "orders", _count_orders(project)
    yield "lists", _describe_lists(project, testimonial_id)
    is_about = _only(MailedRequest.testimonial_id, testimonial_id)
    yield "requests", describe_requests(project, *is_about)
    yield "complaints", _describe_complaints(project, testimonial_id)
    yield "setAsideAndDeleted", _describe_gone(gone)
    yield "testimonials", _describe_testimonials(project, testimonial_id)


# The numbers, and what they are made of.


def _describe_numbers(project: Project) -> Row:
    numbers = read_numbers(project)
    return {
        "average": numbers.average,
        "count": numbers.number,
        "stars": list(numbers.stars),
        "billionths": numbers.total,
        "genuine": numbers.genuine,
        "isOld": numbers.is_old,
        "oldUntil": iso(project.numbers_from) if numbers.is_old and project.numbers_from else None,
    }


def _describe_kept(project: Project) -> Iterator[Row]:
    of = KeptRating
    query = select(of).where(of.project_id == project.id).order_by(of.day, of.rating)
    for row in db.session.scalars(query):
        day = clock.from_milliseconds(row.day * DAY).date().isoformat()
        yield {"day": day, "rating": row.rating, "count": row.number}


def _describe_stars(
    project: Project, testimonial_id: str | None, gone: Mapping[str, Sequence[Row]]
) -> list[Row]:
    """Return what became of visitors' testimonials, and how soon, for each number of stars."""
    of = Testimonial
    decided = select(func.min(Event.created_at)).where(
        Event.testimonial_id == of.id, Event.action.in_(DECISIONS), Event.undone_at.is_(None)
    )
    columns = (of.rating, of.status, of.standing, of.deleted_at, of.created_at)
    query = select(*columns, decided.scalar_subquery()).where(
        of.project_id == project.id, of.source == "public_page", *_only(of.id, testimonial_id)
    )
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    waits: dict[int, array[int]] = defaultdict(lambda: array("q"))
    rows = db.session.execute(query.execution_options(yield_per=export.ROWS_AT_ONCE))
    for rating, status, standing, deleted_at, created_at, decided_at in rows:
        # Halves are rounded up.
        stars = int((rating or 0) + 0.5)
        state = "deleted" if standing == "genuine" and deleted_at else status
        counts[stars][state if standing in ("genuine", "waiting") else standing] += 1
        if decided_at:
            waits[stars].append((decided_at - created_at) // clock.MILLISECOND)
    for newest in (entries[-1] for entries in gone.values()):
        if newest["source"] == "public_page":
            counts[int((newest["stars"] or 0) + 0.5)][newest["reason"]] += 1
    return [
        _describe_star(stars, counts[stars], waits[stars])
        for stars in (5, 4, 3, 2, 1, 0)
        if counts[stars]
    ]


def _describe_star(stars: int, counts: Counter[str], waits: Sequence[int]) -> Row:
    total = sum(counts.values())
    return {
        "stars": stars or None,
        "received": total,
        "approved": counts.pop("approved", 0),
        "rejected": counts.pop("rejected", 0),
        "waiting": counts.pop("pending", 0),
        "held": counts.pop("held", 0),
        "deleted": counts.pop("deleted", 0),
        # The other keys are reasons.
        "setAside": dict(sorted(counts.items())),
        "setAsideShare": sum(counts.values()) / total,
        "medianHoursToDecision": round(median(waits) / 3_600_000, 2) if waits else None,
    }


def _describe_gone(gone: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    for id, entries in gone.items():
        decisions = [
            {name: each.get(name) for name in ("time", "kind", "by", "status", "reason")}
            for each in entries
        ]
        newest = {name: entries[-1].get(name) for name in ("stars", "source", "reason")}
        yield {"testimonial": id} | newest | {"decisions": decisions}


def _only(column: Any, testimonial_id: str | None) -> list[Any]:
    return [] if testimonial_id is None else [column == testimonial_id]


# Settings over time.


def _describe_events(project: Project) -> Iterator[Row]:
    types = [
        each for each in EventType.known.whole().values() if each.partition(".")[0] in SUBJECTS
    ]
    people, _ = export.find_names(project.account_id, project.id)
    for event in list_events(Event.type.in_(types), project_id=project.id):
        hide_from_team(event)
        row = export.describe_event(event, people, {})
        shown = {name: row[name] for name in ("createdAt", "type", "actorKind", "sentence")}
        yield shown | {"changes": event.details.get(CHANGED)}


# Who was asked.


def _count_orders(project: Project) -> Row:
    """Count the orders that requests named, and those with a testimonial."""
    asked, wrote = (
        db.session.scalar(
            select(func.count(of.purchase_reference.distinct())).where(of.project_id == project.id)
        )
        for of in (MailedRequest, Testimonial)
    )
    return {"asked": asked, "wrote": wrote}


def _describe_lists(project: Project, testimonial_id: str | None) -> Iterator[Row]:
    """Yield the batches of requests, oldest first, each with its week and results."""
    of, batch = MailedRequest, RequestBatch
    query = (
        select(batch, func.count(of.id), *(func.count(getattr(of, name)) for name in COUNTED))
        .add_columns(func.count(UnsubscribedAddress.created_at))
        .outerjoin(of, of.batch_id == batch.id)
        .outerjoin(UnsubscribedAddress, is_unsubscribed(project.account_id))
        .where(batch.project_id == project.id, *_only(of.testimonial_id, testimonial_id))
        .group_by(batch.id)
        .order_by(batch.created_at, batch.id)
    )
    for row, known, *counts, unsubscribed in db.session.execute(query):
        week = row.created_at.isocalendar()
        yield {
            "id": row.id,
            "week": f"{week.year}-W{week.week:02}",
            "createdAt": iso(row.created_at),
            "by": row.actor,
            "subject": row.subject,
            "form": row.form_name,
            "asked": row.size,
            "known": known,
            **{name.removesuffix("_at"): n for name, n in zip(COUNTED, counts, strict=True)},
            "unsubscribed": unsubscribed,
        }


def _describe_complaints(project: Project, testimonial_id: str | None) -> Iterator[Row]:
    of = AbuseReport
    query = select(of).where(of.project_id == project.id, *_only(of.testimonial_id, testimonial_id))
    for row in db.session.scalars(query.order_by(of.created_at, of.id)):
        yield write_columns(row, COMPLAINT_COLUMNS)


# The testimonials, each with its decisions and edits.


def _describe_testimonials(project: Project, testimonial_id: str | None) -> Iterator[Row]:
    of = Testimonial
    rows = export.list_plain_rows(
        of.project_id == project.id,
        *_only(of.id, testimonial_id),
        or_(of.standing != "sample", *_only(of.id, testimonial_id)),
    )
    while part := list(islice(rows, export.ROWS_AT_ONCE)):
        history = _find_history([row.id for row in part])
        for row in part:
            yield export.read_cells(row) | {
                "rating": row.rating,
                "standing": row.standing,
                "setAside": row.set_aside,
                "insider": row.is_insider,
                "rewarded": row.is_rewarded,
                "originalText": row.original_text,
                "consentLanguage": row.consent_language,
                "consentWithdrawnAt": write_value(row.consent_withdrawn_at),
                "orderProvedAt": write_value(row.purchase_verified_at),
                "emailProvedAt": write_value(row.email_verified_at),
                "heldFor": row.held_reasons,
                "history": _describe_history(row, history[row.id]),
            }


# The details of this event say what the author was promised.
SUBMITTED = "submit"
EVENT_COLUMNS = (
    Event.testimonial_id,
    Event.created_at,
    Event.action,
    Event.reason,
    Event.actor,
    Event.actor_kind,
    Event.is_by_mail,
    Event.undone_at,
    Event.before,
    # The details of other events aren't needed, and parsing their JSON takes time.
    case((Event.action == SUBMITTED, Event.details)).label("details"),
)


def _find_history(ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the history of each testimonial, newest first; rows are faster than models here."""
    history: dict[str, list[Any]] = defaultdict(list)
    query = select(*EVENT_COLUMNS).where(
        Event.testimonial_id.in_(ids), or_(IS_HISTORY, Event.action == SUBMITTED)
    )
    for event in db.session.execute(query.order_by(Event.created_at.desc(), Event.id.desc())):
        history[event.testimonial_id].append(event)
    return history


def _describe_history(row: export.PlainRow, events: Sequence[Any]) -> list[Row]:
    """Return the events, oldest first, each with the values before and after it."""
    described, later = [], dict[str, Any]()
    for event in events:
        changes = []
        for name, value in (event.before or {}).items():
            now = later.get(name, getattr(row, name, None))
            before, after = (write_value(from_json(name, each)) for each in (value, now))
            changes.append({"field": to_name(name), "before": before, "after": after})
            later[name] = value
        described.append(
            {
                "at": iso(event.created_at),
                "action": event.action,
                "reason": event.reason,
                "by": event.actor,
                "byKind": event.actor_kind,
                "byMail": event.is_by_mail,
                "promised": (event.details or {}).get("promised"),
                "undoneAt": write_value(event.undone_at),
                "changes": changes,
            }
        )
    return described[::-1]


def _compare_all(changes: Sequence[Row]) -> list[tuple[str, tuple[Parts, Parts]]]:
    """Return the changed fields with their old and new values, in which differences are marked."""
    return [(each["field"], _compare(each.get("before"), each.get("after"))) for each in changes]


def _compare(before: Any, after: Any) -> tuple[Parts, Parts]:
    if isinstance(before, str) and isinstance(after, str):
        return compare_texts(before, after)
    old, new = ("" if each is None else str(each) for each in (before, after))
    return [(old, True)], [(new, True)]
