"""Exporting testimonials as CSV and JSON, and activity as CSV."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from types import SimpleNamespace
from typing import IO, Any

from sqlalchemy import Row, func, or_, select

from testimonials.auth.accounts import shown_name
from testimonials.auth.models import Account
from testimonials.auth.tokens import find_token_names
from testimonials.core.audit import Event
from testimonials.core.clock import iso
from testimonials.core.event_lists import Names, token_key, write_sentence
from testimonials.core.extensions import db
from testimonials.core.http.i18n import speaking
from testimonials.core.text import normalize
from testimonials.projects import events
from testimonials.projects.models import Member, Project
from testimonials.testimonials.fields import COLUMNS
from testimonials.testimonials.models import Recording, Testimonial, TestimonialTag
from testimonials.transfer.tables.columns import list_columns, write_cells


class PlainRow(SimpleNamespace):
    """A testimonial as `list_plain_rows` reads it, in half the time that a model takes."""

    avatar_url: Any = Testimonial.avatar_url
    highlighted_words: Any = Testimonial.highlighted_words
    held_reasons: Any = Testimonial.held_reasons
    read_answers: Any = Testimonial.read_answers
    tags = property(lambda row: sorted(filter(None, row.tag_names.split("\n")), key=str.casefold))


# Spreadsheet programs evaluate a cell that begins like this as a formula, unless it is preceded by
# an apostrophe.
_FORMULA = re.compile(r"\A'*+(?:[\t\r\n]|[\s\u00ad\u200b-\u200f\u2060\ufeff]*+[=+@\u2212-])")
_read_columns = attrgetter(*(each.attribute for each in COLUMNS.values()))
# Events whose details have the address of somebody with a role.
OF_ROLES = (
    events.INVITATION_ACCEPTED,
    events.MEMBER_CHANGED,
    events.MEMBER_LEFT,
    events.MEMBER_REMOVED,
)
ROWS_AT_ONCE = 1_000


def write_table(project: Project, out: IO[bytes], *, has_samples: bool = False) -> None:
    """Write all testimonials, oldest first, as CSV with a column for each question."""
    headings, rows = _read_rows(project, has_samples=has_samples)
    write_csv(headings, rows, out)


def write_json(project: Project, out: IO[bytes]) -> None:
    """Write the same as a list of objects, without empty cells; an import reads it."""
    headings, rows = _read_rows(project, has_samples=False)
    for number, row in enumerate(rows):
        pairs = zip(headings, row, strict=True)
        cells = {name: cell for name, cell in pairs if cell not in (None, "")}
        out.write(b"[\n" if number == 0 else b",\n")
        out.write(json.dumps(cells, ensure_ascii=False, default=str).encode())
    out.write(b"\n]\n" if out.tell() else b"[]\n")


def _read_rows(project: Project, *, has_samples: bool) -> tuple[list[str], Iterator[list[Any]]]:
    questions, of = list_columns(project), Testimonial
    rows = list_plain_rows(
        of.project_id == project.id, *([] if has_samples else [of.status != "demo"])
    )
    cells = ([*read_cells(row).values(), *write_cells(row, project, questions)] for row in rows)
    return [*COLUMNS, *questions.values()], cells


def read_cells(row: PlainRow) -> dict[str, str | None]:
    """Return the cells of a testimonial by the names of `COLUMNS`."""
    return dict(zip(COLUMNS, map(_write_cell, _read_columns(row)), strict=True))


def _write_cell(value: Any) -> str | None:
    # Most are.
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, datetime):
        return iso(value)
    return ", ".join(value)


def list_plain_rows(*where: Any) -> Iterator[PlainRow]:
    """Yield testimonials, oldest first, with tags and transcripts, by one query."""
    of, tag, recording = Testimonial, TestimonialTag, Recording
    tags = select(func.coalesce(func.aggregate_strings(tag.name, "\n"), ""))
    query = (
        select(
            *of.__table__.c,
            recording.transcript,
            tags.where(tag.testimonial_id == of.id).scalar_subquery().label("tag_names"),
        )
        .outerjoin(recording, (recording.testimonial_id == of.id) & (of.kind != "written"))
        .where(*where)
        .order_by(of.created_at, of.id)
    )
    rows = db.session.execute(query.execution_options(yield_per=ROWS_AT_ONCE))
    names = tuple(rows.keys())
    for row in rows:
        yield PlainRow(**dict(zip(names, row, strict=True)))


def write_csv(headings: Sequence[str], rows: Iterable[Iterable[Any]], out: IO[bytes]) -> None:
    """Write CSV in UTF-8 with a byte order mark; no cell can be evaluated as a formula."""
    text = io.TextIOWrapper(out, "utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(map(shield, headings))
    for row in rows:
        writer.writerow(["" if cell is None else shield(str(cell)) for cell in row])
    # The caller closes the file.
    text.detach()


def shield(cell: str) -> str:
    """Return a cell that no spreadsheet program evaluates as a formula; see `unshield`."""
    return f"'{cell}" if _is_formula(cell) else cell


def unshield(cell: str) -> str:
    """Return a cell of our own file without what `shield` has added."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    # NFKC turns full-width characters into those that begin formulas.
    return _FORMULA.match(normalize("NFKC", cell[:100])) is not None


ACTIVITY_COLUMNS = (
    "id", "createdAt", "type", "accountId", "projectId", "actorKind", "actorName", "network",
    "times", "sentence", "details",
)  # fmt: skip


def find_names(account_id: str | None, project_id: str = "") -> tuple[Names, Names]:
    """Return the names of people and tokens that a reader may see, and those of projects.

    An operator (None) sees all of them, an owner those of the current team, or of the team of one
    project. Former members may have a different address by now, so the one in the record is shown;
    people who have deleted their account have no name.
    """
    people = select(Account.id, Account.email, Account.display_name).order_by(shown_name())
    projects = select(
        Project.id, func.coalesce(func.nullif(Project.business_name, ""), Project.slug)
    )
    if account_id is not None:
        owned = Project.account_id == account_id
        members = select(Member.account_id).join(Project, Project.id == Member.project_id)
        members = members.where(owned, *([Project.id == project_id] if project_id else []))
        everywhere = select(Member.account_id).where(Member.owner_id == account_id)
        team = (Account.id.in_(members), Account.id.in_(everywhere))
        people = people.where(or_(Account.id == account_id, *team))
        projects = projects.where(owned)
    names = find_token_names(account_id, project_id or None)
    tokens = {token_key(token_id): name for token_id, name in names.items()}
    known = _name_people(db.session.execute(people).all())
    if account_id is not None:
        known |= _find_former(account_id, project_id, known)
    return (
        known | tokens,
        {} if project_id else {row[0]: row[1] for row in db.session.execute(projects)},
    )


def _find_former(account_id: str, project_id: str, known: Names) -> dict[str, str]:
    """Return the addresses of former members in the newest 5,000 events."""
    of_account = Event.account_id == account_id
    newest = select(Event.id).where(of_account).order_by(Event.id.desc()).limit(5_000)
    who = func.coalesce(Event.details["member"].as_string(), Event.actor_name)
    query = (
        select(who, Event.details["email"].as_string())
        .join(Account, Account.id == who)
        .where(
            of_account,
            Event.id >= select(func.min(newest.subquery().c.id)).scalar_subquery(),
            Event.type.in_(OF_ROLES),
        )
    )
    if project_id:
        query = query.where(or_(Event.project_id == project_id, Event.project_id.is_(None)))
    rows = db.session.execute(query.order_by(Event.id))
    return {id: email for id, email in rows if email and id not in known}


def _name_people(people: Sequence[Row[str, str, str | None]]) -> dict[str, str]:
    """Return the names of people by id, with the address if several have the same name."""
    counts = Counter((name or "").casefold() for _, _, name in people)
    return {
        account_id: (f"{name} ({email})" if counts[name.casefold()] > 1 else name)
        if name
        else email
        for account_id, email, name in people
    }


def describe_event(event: Event, people: Names, projects: Names) -> dict[str, Any]:
    """Return the cells of an event by the names of `ACTIVITY_COLUMNS`, in English."""
    with speaking(None):
        sentence = write_sentence(event, people, projects)
    values = (
        event.id, iso(event.created_at), event.type, event.account_id, event.project_id,
        event.actor_kind, event.actor_name, event.network, 1 if event.is_of_many else event.times,
        sentence, event.facts,
    )  # fmt: skip
    return dict(zip(ACTIVITY_COLUMNS, values, strict=True))


def write_events(events: Iterable[Event], people: Names, projects: Names, out: IO[bytes]) -> None:
    described = (describe_event(event, people, projects) for event in events)
    rows = (
        (row | {"details": json.dumps(row["details"], ensure_ascii=False)}).values()
        for row in described
    )
    write_csv(ACTIVITY_COLUMNS, rows, out)
