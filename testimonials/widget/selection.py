"""Which testimonials a widget, a wall or a format shows, and in which order."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnExpressionArgument, Select, func, literal, select, tuple_

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.urls import testimonial_url
from testimonials.projects.models import Project
from testimonials.testimonials.counts import count_ratings, count_tags
from testimonials.testimonials.fields import Answer, public_answers
from testimonials.testimonials.history import are_own_words, find_word_actions
from testimonials.testimonials.inbox import match_tags
from testimonials.testimonials.media.playback import describe_recording_of
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.tags import find_spellings, fold
from testimonials.widget.container import Selection

NEWEST, BEST, BY_HAND = "newest", "best", "hand"
MAX_CHOSEN = 100


@dataclass(frozen=True)
class Content:
    """Which of the approved testimonials are shown, and in which order.

    In the order by hand, those in `chosen` come first, in their order, and then the others by time.
    """

    order: str = NEWEST
    min_rating: float = 0
    # A testimonial needs one of these.
    tags: tuple[str, ...] = ()
    min_length: int = 0
    chosen: tuple[str, ...] = ()
    is_only_chosen: bool = False
    testimonial_id: str = ""


EVERYTHING = Content()


def read_content(design: Mapping[str, Any], selection: Selection) -> Content:
    """Return the content that a design defines; the attributes of a container override it."""
    if selection.testimonial_id:
        return Content(testimonial_id=selection.testimonial_id)
    return Content(
        order=design["order"],
        min_rating=design["minRating"],
        tags=(selection.tag,) if selection.tag else tuple(design["tags"]),
        min_length=selection.min_length or design["minLength"],
        chosen=tuple(design["chosen"]),
        is_only_chosen=design["onlyChosen"],
    )


def find_conditions(project: Project, content: Content) -> list[ColumnExpressionArgument[bool]]:
    of_project: ColumnExpressionArgument[bool] = Testimonial.project_id == project.id
    conditions: list[ColumnExpressionArgument[bool]] = [Testimonial.is_visible]
    if content.tags:
        # Any spelling of a tag selects it.
        spellings = find_spellings(project.id)
        names = {spellings.get(fold(tag), tag) for tag in content.tags}
        of_project, has_tag = match_tags(project.id, sorted(names))
        conditions.append(has_tag)
    if content.testimonial_id:
        conditions.append(Testimonial.id == content.testimonial_id)
    if content.is_only_chosen:
        # An expression, so that SQLite uses the ids rather than the project's index.
        of_project = Testimonial.project_id.concat("") == project.id
        conditions.append(Testimonial.id.in_(content.chosen))
    if content.min_rating:
        conditions.append(Testimonial.rank >= content.min_rating)
    if content.min_length:
        conditions.append(func.length(Testimonial.text) >= content.min_length)
    return [of_project, *conditions]


# What testimonials may have besides their words: a recording, answers to questions, and marks.

# The size of a video's poster if there is room. That of an upright video is cropped a little, to
# leave room for words.
POSTER_HEIGHT = 400
NARROWEST, WIDEST = 350, 712


def describe_extras(
    testimonial: Testimonial, project: Project, marks: Sequence[str]
) -> dict[str, Any] | None:
    """Return `recording`, `answers` (pairs of texts) and `marks`, if there are any."""
    recording = testimonial.recording if testimonial.kind != "written" else None
    recording = recording if recording and recording.state == "ready" else None
    extras = {
        "recording": recording and _describe_recording(recording, testimonial, project),
        "answers": write_answers(
            public_answers(testimonial, project) if testimonial.answers else ()
        ),
        "marks": marks,
    }
    return {name: value for name, value in extras.items() if value} or None


def find_marks(rows: Iterable[Testimonial]) -> dict[str, list[str]]:
    """Return the marks of testimonials by id, from the history if they were edited."""
    rows = list(rows)
    changed = [row for row in rows if row.original_text and row.original_text != row.text]
    actions = find_word_actions(changed) if changed else {}
    edited = {row.id for row in changed if not are_own_words(actions[row.id])}

    def list_marks(row: Testimonial) -> Iterator[str]:
        if row.purchase_verified_at is not None:
            yield "verified"
        if row.is_insider:
            yield "insider"
        if row.is_rewarded:
            yield "rewarded"
        if row.translated_from:
            yield "translated"
        elif row.id in edited:
            yield "shortened" if len(row.text) < len(row.original_text or "") else "edited"

    return {row.id: list(list_marks(row)) for row in rows}


def _describe_recording(
    recording: Recording, testimonial: Testimonial, project: Project
) -> dict[str, Any]:
    # The URLs contain a key if the recording isn't public yet, as for its author.
    source, width = describe_recording_of(testimonial) or {}, float(WIDEST)
    if source["posterUrl"] and recording.width and recording.height:
        width = POSTER_HEIGHT * recording.width / recording.height
    described = {
        "src": source["url"],
        "type": source["mediaType"],
        "page": testimonial_url(project.slug, testimonial.id, project.own_host),
        "poster": source["posterUrl"],
        "captions": source["captionsUrl"],
        "seconds": round(recording.seconds) if recording.seconds else None,
        # Only videos have a width.
        "width": min(max(round(width), NARROWEST), WIDEST) if recording.kind == "video" else None,
    }
    return {name: value for name, value in described.items() if value is not None}


def write_answers(answers: Iterable[Answer]) -> list[list[str]]:
    """Return pairs of the question and the answer, which reads the same in every language."""
    return [[each["question"], _write(each["kind"], each["answer"])] for each in answers]


def _write(kind: str, answer: Any) -> str:
    if kind == "scale":
        return f"{answer}/10"
    if answer is True:
        return "✓"
    return ", ".join(answer) if isinstance(answer, list) else str(answer)


# Pages of a widget or the wall.
#
# Each page continues after a key, so that nothing is repeated or skipped if something is approved
# meanwhile. They are sorted by the dates on cards: in the order of arrival, imports would look
# shuffled.

Query = Select[Testimonial]

_CURSOR = re.compile(r"([01])\.(-?[0-9]{1,16})\.([0-9a-f]{24})(?:\.([0-9]\.[0-9]{1,20}))?")


class Key(NamedTuple):
    """The place of a testimonial in each order, so that cursors survive a change of the order."""

    is_pinned: bool
    rank: float
    submitted_at: datetime
    id: str


def list_shown(
    project: Project, content: Content, after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page, pinned ones first, and the cursor of the next; raise `ValidationFailed`."""
    if not project.is_active:
        return [], None
    if content.order == BY_HAND:
        return _cut(_list_by_hand(project, content, _read_cursor(after), limit + 1), limit)
    query = select(Testimonial).where(*find_conditions(project, content))
    return read_page(query, content.order, after, limit)


def count_shown(project: Project, content: Content) -> tuple[int, int]:
    """Return how many testimonials the widget shows, and how many of them are samples.

    Stored counts are used if the content is limited only by rating, or only to a single tag.
    """
    if not project.is_active:
        return 0, 0
    halves = content.min_rating * 2
    plain = replace(EVERYTHING, order=content.order, chosen=content.chosen)
    if halves == int(halves) and content == replace(plain, min_rating=content.min_rating):
        ratings = [each for each in count_ratings(project.id) if each.halves >= halves]
        samples = sum(each.number for each in ratings if each.is_sample)
        return sum(each.number for each in ratings), samples
    query = select(func.count(Testimonial.id)).where(*find_conditions(project, content))
    samples = int(db.session.scalar(query.where(Testimonial.status == "demo")) or 0)
    if len(content.tags) == 1 and content == replace(plain, tags=content.tags):
        counts, tag = count_tags(project.id), fold(content.tags[0])
        return next((shown for name, (_, shown) in counts.items() if fold(name) == tag), 0), samples
    return int(db.session.scalar(query) or 0), samples


def read_page(
    query: Query, order: str, after: str | None, limit: int
) -> tuple[Sequence[Testimonial], str | None]:
    """Return a page of a query's testimonials, and the cursor of the next page."""
    return _cut(_list_by_key(query, order, _read_cursor(after), limit + 1), limit)


def _cut(rows: Sequence[Testimonial], limit: int) -> tuple[Sequence[Testimonial], str | None]:
    shown = rows[:limit]
    return shown, _make_cursor(shown[-1]) if len(rows) > limit else None


def list_chosen(project: Project, content: Content) -> Sequence[Testimonial]:
    """Return the chosen testimonials that are shown, in the owner's order."""
    query = select(Testimonial).where(
        *find_conditions(project, replace(content, is_only_chosen=True))
    )
    return sorted(db.session.scalars(query), key=lambda row: content.chosen.index(row.id))


def _list_by_hand(
    project: Project, content: Content, key: Key | None, count: int
) -> Sequence[Testimonial]:
    """Return the chosen testimonials after the key, and then the others."""
    chosen, rows = content.chosen, []
    if key is None or key.id in chosen:
        before = chosen[: chosen.index(key.id) + 1] if key else ()
        rows = [row for row in list_chosen(project, content) if row.id not in before][:count]
        key = None
    if len(rows) == count or content.is_only_chosen:
        return rows
    others = select(Testimonial).where(
        *find_conditions(project, content), Testimonial.id.not_in(chosen)
    )
    return [*rows, *_list_by_key(others, NEWEST, key, count - len(rows))]


def _list_by_key(query: Query, order: str, key: Key | None, count: int) -> Sequence[Testimonial]:
    columns: tuple[Any, ...] = (Testimonial.is_pinned, Testimonial.submitted_at, Testimonial.id)
    if order == BEST:
        columns = (Testimonial.is_pinned, Testimonial.rank, *columns[1:])
    if key is not None:
        values = key if order == BEST else (key.is_pinned, key.submitted_at, key.id)
        # Literals have the types of columns, since times are stored as numbers.
        pairs = zip(values, columns, strict=True)
        query = query.where(
            tuple_(*columns) < tuple_(*(literal(value, column.type) for value, column in pairs))
        )
    query = query.order_by(*(column.desc() for column in columns))
    return db.session.scalars(query.limit(count)).all()


def _make_cursor(row: Testimonial) -> str:
    time = clock.to_milliseconds(row.submitted_at)
    text = f"{int(row.is_pinned)}.{time}.{row.id}.{float(row.rating or 0)!r}"
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> Key | None:
    if cursor is None:
        return None
    errors = {"after": ["Must be the value of `next` in an answer of this feed."]}
    with refusing(lambda _fault: ValidationFailed.of(errors)):
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError(cursor)
        time = clock.from_milliseconds(int(match[2]))
    # Cursors of older versions lack the rating.
    return Key(match[1] == "1", float(match[4] or 0), time, match[3])
