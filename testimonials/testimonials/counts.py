"""Counts that triggers keep: reading, checking and repairing them.

A project has about a hundred rows of them, no matter how many testimonials it has.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Row,
    Select,
    Table,
    and_,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    true,
    type_coerce,
    union_all,
)

from testimonials.core import clock
from testimonials.core.clock import to_milliseconds
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import (
    AnswerCount,
    DayCount,
    KeptRating,
    TagCount,
    Testimonial,
    TestimonialCount,
    TestimonialTag,
)

# Sums of ratings are in billionths of a star.
BILLION = 1_000_000_000
# In milliseconds.
DAY = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class RatingCount:
    """How many approved testimonials or samples have a rating, which is in half stars."""

    is_sample: bool
    halves: int
    number: int
    # In billionths.
    total: int
    photos: int

    @property
    def stars(self) -> int:
        """From 1 to 5, with halves rounded up; 0 without a rating."""
        return (self.halves + 1) // 2 if self.halves >= 2 else 0


@dataclass(frozen=True)
class DayNumbers:
    """A project's testimonials of one `day`, a number of days since the epoch."""

    day: int
    sent: int
    approved: int
    # The sum of the ratings, in billionths.
    total: int
    # How many have one star, two, and so on to five.
    stars: tuple[int, ...]


def count_states(
    project_ids: Collection[str] | None = None, also: Select[Any] | None = None
) -> Sequence[Row[str, str, bool, int]]:
    """Return `project_id`, `status`, `is_deleted` and `number` for these projects, or for all.

    `also` adds rows of the same columns.
    """
    row = TestimonialCount
    key = (row.project_id, row.status, row.is_deleted)
    number = func.sum(row.number)
    query = select(*key, cast(number, BigInteger).label("number")).group_by(*key)
    query = query.having(number != 0)
    if project_ids is not None:
        query = query.where(row.project_id.in_(project_ids))
    rows: Any = query if also is None else union_all(query, also)
    return db.session.execute(rows).all()


@dataclass(frozen=True)
class Numbers:
    """The genuine ratings that a project received, whether it shows them or not."""

    number: int
    # Their sum, in billionths.
    total: int
    # How many have one star, two, and so on to five; halves are rounded up.
    stars: tuple[int, ...]
    # How many genuine testimonials there are, with or without a rating.
    genuine: int
    # Whether these are the numbers from before the upgrade, which left some ratings out.
    is_old: bool = False

    @property
    def average(self) -> float:
        return average(self.total, self.number)


NO_NUMBERS = Numbers(0, 0, (0,) * 5, 0)


def read_numbers(project: Project) -> Numbers:
    """Return the numbers that a project shows everywhere.

    Until `numbers_from`, they are from before the upgrade, since which all genuine ratings count.
    """
    numbers, old = count_genuine(project), project.old_numbers
    if old and project.numbers_from and clock.now() < project.numbers_from:
        stars = tuple(old["stars"])
        return replace(numbers, number=sum(stars), total=old["total"], stars=stars, is_old=True)
    return numbers


def count_genuine(project: Project) -> Numbers:
    row, kept = TestimonialCount, KeptRating
    query = select(row.halves, func.sum(row.number), func.sum(row.rating_sum))
    query = query.where(row.project_id == project.id, row.standing == "genuine")
    halves = cast(func.floor(kept.rating * 2), Integer)
    total = func.sum(_to_billionths(kept.rating) * kept.number)
    others = select(halves, func.sum(kept.number), total).where(kept.project_id == project.id)
    stars, total_sum, genuine = [0] * 6, 0, 0
    rated = query.group_by(row.halves).union_all(others.group_by(halves))
    for count, number, rating_sum in db.session.execute(rated):
        stars[(count + 1) // 2 if count >= 2 else 0] += int(number)
        total_sum, genuine = total_sum + int(rating_sum), genuine + int(number)
    return Numbers(sum(stars[1:]), total_sum, tuple(stars[1:]), genuine)


def count_ratings(project_id: str) -> list[RatingCount]:
    row = TestimonialCount
    key = (row.status, row.halves, row.has_photo)
    query = select(*key, func.sum(row.number), func.sum(row.rating_sum)).group_by(*key)
    rows = db.session.execute(query.where(row.project_id == project_id, *is_shown())).all()
    return [
        RatingCount(
            status == "demo", halves, int(number), int(total), int(number) if has_photo else 0
        )
        for status, halves, has_photo, number, total in rows
        if number
    ]


def average(total: int, number: int) -> float:
    """Return an average to one decimal place, with halves rounded up; `total` is in billionths."""
    return (20 * total // BILLION + number) // (2 * number) / 10 if number else 0


def count_where(project_id: str, *conditions: ColumnElement[bool]) -> int:
    """Count a project's testimonials that meet conditions on `TestimonialCount`."""
    query = select(func.sum(TestimonialCount.number))
    query = query.where(TestimonialCount.project_id == project_id, *conditions)
    return int(db.session.scalar(query) or 0)


def count_forms(project_id: str) -> dict[str, int]:
    """Return how many testimonials were sent from each form, including those in the trash."""
    row = TestimonialCount
    query = select(row.form_name, func.sum(row.number))
    query = query.where(row.project_id == project_id, row.form_name != "").group_by(row.form_name)
    return {name: int(number) for name, number in db.session.execute(query) if number}


def count_days(project_id: str, since: datetime) -> list[DayNumbers]:
    """Return the days since a time on which a project has testimonials, oldest first.

    The ratings are the genuine ones, including those of deleted testimonials.
    """
    row, kept, first = DayCount, KeptRating, to_milliseconds(since) // DAY
    counted = [row.sent, row.approved, row.rating_sum]
    counted += [row.stars_1, row.stars_2, row.stars_3, row.stars_4, row.stars_5]
    star = _round(kept.rating)
    rated = [literal(0), literal(0), _to_billionths(kept.rating) * kept.number]
    rated += [case((star == number, kept.number), else_=0) for number in range(1, 6)]
    days = union_all(
        select(row.day, *counted).where(row.project_id == project_id, row.day >= first),
        select(kept.day, *rated).where(kept.project_id == project_id, kept.day >= first),
    ).subquery()
    day, *values = days.columns
    rows = db.session.execute(select(day, *map(func.sum, values)).group_by(day).order_by(day))
    listed = [
        DayNumbers(day, int(sent), int(approved), int(total), tuple(map(int, stars)))
        for day, sent, approved, total, *stars in rows
    ]
    return [each for each in listed if each.sent or each.approved or any(each.stars)]


def _round(rating: Any) -> ColumnElement[int]:
    """Return a rating in whole stars, with halves rounded up."""
    return case(*((rating >= number - 0.5, number) for number in range(5, 1, -1)), else_=1)


def _to_billionths(rating: Any) -> ColumnElement[int]:
    return cast(func.round(rating * BILLION), BigInteger)


def count_answered(project_id: str) -> dict[str, int]:
    """Return how many testimonials answer each question, including those in the trash, by id."""
    row = AnswerCount
    query = select(row.question_id, func.sum(row.number)).where(row.project_id == project_id)
    rows = db.session.execute(query.group_by(row.question_id))
    return {question: int(number) for question, number in rows if number}


def is_shown() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for public testimonials."""
    return TestimonialCount.status.in_(("approved", "demo")), ~TestimonialCount.is_deleted


def count_tags(project_id: str) -> dict[str, tuple[int, int]]:
    """Return how many testimonials outside the trash, and how many public ones, have each tag.

    This includes tags that occur only in the trash.
    """
    row = TagCount
    query = select(row.name, func.sum(row.number), func.sum(row.kept), func.sum(row.visible))
    rows = db.session.execute(query.where(row.project_id == project_id).group_by(row.name))
    return {name: (int(kept), int(shown)) for name, number, kept, shown in rows if number}


# Recounting everything, to check or repair the counts.

Counts = dict[tuple[Any, ...], tuple[int, ...]]

HAS_PHOTO = or_(
    Testimonial.avatar_id.is_not(None),
    Testimonial.author_avatar.is_not(None),
    Testimonial.twitter["avatarUrl"].as_string().is_not(None),
)
_IS_KEPT = Testimonial.deleted_at.is_(None)


def find_wrong_counts(connection: Connection) -> list[str]:
    """Return a sentence for each table whose counts are wrong."""
    errors = []
    for table, query in _queries(connection).items():
        kept, right = _read(connection, table, table), _read(connection, table, query.subquery())
        wrong = sum(kept.get(key) != right.get(key) for key in kept.keys() | right.keys())
        if wrong:
            errors.append(
                f"{wrong} of the counts in {table.name} are wrong; run: testimonials db check "
                "--repair"
            )
    return errors


def recount(connection: Connection) -> None:
    """Replace all counts with new ones; nobody may write meanwhile."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE testimonial, testimonial_tag IN SHARE MODE"))
    for table in _queries(connection):
        connection.execute(delete(table))
    _fill(connection)


def pause_counting(connection: Connection) -> None:
    """Let a PostgreSQL transaction that adds many rows count them only once, at its end."""
    connection.execute(text("SET LOCAL testimonials.counting = 'off'"))


@contextmanager
def count_once(connection: Connection, project_id: str) -> Iterator[None]:
    """Count the testimonials of a new project once it is filled, not after each statement.

    On SQLite, where this isn't faster, triggers count each row as usual.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    pause_counting(connection)
    yield
    _fill(connection, Testimonial.project_id == project_id)
    connection.execute(text("SET LOCAL testimonials.counting = 'on'"))


def _fill(connection: Connection, *conditions: ColumnElement[bool]) -> None:
    for table, query in _queries(connection).items():
        names = [column.name for column in table.columns]
        connection.execute(insert(table).from_select(names, query.where(*conditions)))


def _queries(connection: Connection) -> Mapping[Table, Select[Any]]:
    """Return, by table, the queries that count its rows; the columns are the table's, in order."""
    return {
        _table(TestimonialCount): _count_testimonials(),
        _table(TagCount): _count_tags(),
        _table(DayCount): _count_days(),
        _table(AnswerCount): _count_answers(is_sqlite=connection.dialect.name == "sqlite"),
    }


def _table(model: Any) -> Table:
    table: Table = model.__table__
    return table


def _count_testimonials() -> Select[Any]:
    row = Testimonial
    halves = case(*((row.rating >= number / 2, number) for number in range(10, 0, -1)), else_=0)
    total = func.sum(_to_billionths(func.coalesce(row.rating, 0)))
    form = func.coalesce(row.form_name, "")
    key = [row.project_id, row.status, ~_IS_KEPT, row.kind, row.source, form, halves, HAS_PHOTO]
    key.append(row.standing)
    columns: list[ColumnElement[Any]] = [
        each.label(f"key_{number}") for number, each in enumerate(key)
    ]
    query = select(*columns, literal(0), func.count(), cast(total, BigInteger))
    return query.group_by(*(text(f"key_{number}") for number in range(len(key))))


def _count_tags() -> Select[Any]:
    tags = _table(TestimonialTag).columns
    key: list[ColumnElement[Any]] = [tags.project_id, tags.name]
    kept = func.sum(case((_IS_KEPT, 1), else_=0))
    shown = func.sum(case((Testimonial.is_visible, 1), else_=0))
    query = select(*key, literal(0), func.count(), kept, shown)
    joined = query.join(Testimonial, Testimonial.id == tags.testimonial_id)
    return joined.group_by(*key)


def _count_days() -> Select[Any]:
    row = Testimonial
    day = (type_coerce(row.submitted_at, BigInteger) // DAY).label("day")
    is_sent, is_approved = row.source == "public_page", (row.status == "approved") & _IS_KEPT
    is_rated = and_(row.standing == "genuine", row.rating.is_not(None))
    stars = _round(row.rating)
    total = func.sum(case((is_rated, _to_billionths(row.rating)), else_=0))
    conditions = [
        and_(is_sent, row.status != "spam"),
        and_(is_sent, is_approved),
        *(and_(is_rated, stars == number) for number in range(1, 6)),
    ]
    values = [func.sum(case((each, 1), else_=0)) for each in conditions]
    columns: list[ColumnElement[Any]] = [day, literal(0), *values, cast(total, BigInteger)]
    query = select(row.project_id, *columns)
    return query.where(or_(is_sent, is_rated)).group_by(row.project_id, text("day"))


def _count_answers(*, is_sqlite: bool) -> Select[Any]:
    answers = Testimonial.answers
    each: Any
    if is_sqlite:
        each = func.json_each(answers).table_valued("fullkey", name="each")
        question = func.json_extract(answers, each.c.fullkey + ".id")
    else:
        is_list = func.json_typeof(answers) == "array"
        each = func.json_array_elements(case((is_list, answers))).table_valued("value", name="each")
        each = each.render_derived()
        question = each.c.value.op("->>")(text("'id'"))
    query = select(
        Testimonial.project_id,
        question.label("question"),
        literal(0),
        func.count(Testimonial.id.distinct()),
    )
    query = query.join_from(Testimonial, each, true()).where(question.is_not(None))
    return query.group_by(Testimonial.project_id, text("question"))


def _read(connection: Connection, table: Table, source: FromClause) -> Counts:
    """Return the counts in a source with the table's columns, by key, without empty ones."""
    # The last column of the key is `part`.
    columns, length = list(source.columns), len(table.primary_key.columns) - 1
    key, values = columns[:length], map(func.sum, columns[length + 1 :])
    rows = connection.execute(select(*key, *values).group_by(*key))
    return {tuple(row[:length]): sums for row in rows if any(sums := tuple(map(int, row[length:])))}
