"""Counts that triggers keep: reading, comparing and mending them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
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

# Reading the counts; all that a project has is about a hundred rows, however many it counts.

# Of a star, in which sums of ratings are kept.
BILLION = 1_000_000_000
# Milliseconds.
DAY = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class RatingCount:
    """How many approved testimonials or samples have a rating of so many whole half stars."""

    is_sample: bool
    halves: int
    number: int
    # In billionths.
    total: int
    photos: int

    @property
    def stars(self) -> int:
        """Stars from 1 to 5, halves rounded up as people do; 0 without a rating."""
        return (self.halves + 1) // 2 if self.halves >= 2 else 0


@dataclass(frozen=True)
class DayOf:
    """A project's testimonials that were said on one day since the epoch."""

    day: int
    sent: int
    approved: int
    # The sum of the ratings, in billionths.
    total: int
    # How many have one star, to five.
    stars: tuple[int, ...]


def count_states(
    project_ids: Collection[str] | None = None, also: Select[Any] | None = None
) -> Sequence[Row[str, str, bool, int]]:
    """Count the testimonials of these projects, or of all: `project_id`, `status`, `is_deleted`
    and `number`. `also` adds rows of the same columns.
    """
    of = TestimonialCount
    key = (of.project_id, of.status, of.is_deleted)
    number = func.sum(of.number)
    query = select(*key, cast(number, BigInteger).label("number")).group_by(*key)
    query = query.having(number != 0)
    if project_ids is not None:
        query = query.where(of.project_id.in_(project_ids))
    found: Any = query if also is None else union_all(query, also)
    return db.session.execute(found).all()


@dataclass(frozen=True)
class Numbers:
    """The genuine ratings that a project received, whether it shows them or not."""

    number: int
    # The sum of them, in billionths.
    total: int
    # How many have one star, to five; halves rounded up, as people do.
    stars: tuple[int, ...]
    # How many genuine testimonials there are, those without stars too.
    genuine: int
    # Those of before the upgrade, which aren't of all.
    is_old: bool = False

    @property
    def average(self) -> float:
        """To one decimal; 0 without any."""
        return average(self.total, self.number)


NO_NUMBERS = Numbers(0, 0, (0,) * 5, 0)


def read_numbers(project: Project) -> Numbers:
    """Return the numbers that every door shows of a project.

    Those of before the upgrade that counts all genuine ratings stand until `numbers_from`.
    """
    numbers, old = count_genuine(project), project.old_numbers
    if old and project.numbers_from and clock.now() < project.numbers_from:
        stars = tuple(old["stars"])
        return replace(numbers, number=sum(stars), total=old["total"], stars=stars, is_old=True)
    return numbers


def count_genuine(project: Project) -> Numbers:
    of, kept = TestimonialCount, KeptRating
    query = select(of.halves, func.sum(of.number), func.sum(of.rating_sum))
    query = query.where(of.project_id == project.id, of.standing == "genuine").group_by(of.halves)
    halves = cast(func.floor(kept.rating * 2), Integer)
    total = func.sum(_to_billionths(kept.rating) * kept.number)
    others = select(halves, func.sum(kept.number), total).where(kept.project_id == project.id)
    stars, total_sum, genuine = [0] * 6, 0, 0
    for each, number, rating_sum in db.session.execute(query.union_all(others.group_by(halves))):
        stars[(each + 1) // 2 if each >= 2 else 0] += int(number)
        total_sum, genuine = total_sum + int(rating_sum), genuine + int(number)
    return Numbers(sum(stars[1:]), total_sum, tuple(stars[1:]), genuine)


def count_ratings(project_id: str) -> list[RatingCount]:
    of = TestimonialCount
    query = select(
        of.status, of.halves, of.has_photo, func.sum(of.number), func.sum(of.rating_sum)
    ).where(of.project_id == project_id, *is_shown())
    rows = db.session.execute(query.group_by(of.status, of.halves, of.has_photo)).all()
    return [
        RatingCount(
            status == "demo", halves, int(number), int(total), int(number) if has_photo else 0
        )
        for status, halves, has_photo, number, total in rows
        if number
    ]


def average(total: int, number: int) -> float:
    """Return the average of ratings whose sum is in billionths, to one decimal; 0 without any."""
    # Halves are rounded up, as people do.
    return (20 * total // BILLION + number) // (2 * number) / 10 if number else 0


def count_where(project_id: str, *conditions: ColumnElement[bool]) -> int:
    """Count a project's testimonials that meet conditions on `TestimonialCount`."""
    query = select(func.sum(TestimonialCount.number))
    query = query.where(TestimonialCount.project_id == project_id, *conditions)
    return int(db.session.scalar(query) or 0)


def count_forms(project_id: str) -> dict[str, int]:
    """Return how many testimonials came by each form, in the trash too."""
    of = TestimonialCount
    query = select(of.form_name, func.sum(of.number))
    query = query.where(of.project_id == project_id, of.form_name != "").group_by(of.form_name)
    return {name: int(number) for name, number in db.session.execute(query) if number}


def count_days(project_id: str, since: datetime) -> list[DayOf]:
    """Return the days of a project since a time that have anything, oldest first.

    Ratings are the genuine ones, those of deleted testimonials too.
    """
    of, kept, first = DayCount, KeptRating, to_milliseconds(since) // DAY
    counted = [of.sent, of.approved, of.rating_sum]
    counted += [of.stars_1, of.stars_2, of.stars_3, of.stars_4, of.stars_5]
    star = _round(kept.rating)
    rated = [literal(0), literal(0), _to_billionths(kept.rating) * kept.number]
    rated += [case((star == number, kept.number), else_=0) for number in range(1, 6)]
    both = union_all(
        select(of.day, *counted).where(of.project_id == project_id, of.day >= first),
        select(kept.day, *rated).where(kept.project_id == project_id, kept.day >= first),
    ).subquery()
    day, *values = both.columns
    rows = db.session.execute(select(day, *map(func.sum, values)).group_by(day).order_by(day))
    listed = [
        DayOf(day, int(sent), int(approved), int(total), tuple(map(int, stars)))
        for day, sent, approved, total, *stars in rows
    ]
    return [each for each in listed if each.sent or each.approved or any(each.stars)]


def _round(rating: Any) -> ColumnElement[int]:
    """Return the whole stars of a rating; halves are rounded up, as people do."""
    return case(*((rating >= number - 0.5, number) for number in range(5, 1, -1)), else_=1)


def _to_billionths(rating: Any) -> ColumnElement[int]:
    return cast(func.round(rating * BILLION), BigInteger)


def count_answered(project_id: str) -> dict[str, int]:
    """Return how many testimonials answer each question, by its id, in the trash too."""
    of = AnswerCount
    query = select(of.question_id, func.sum(of.number)).where(of.project_id == project_id)
    rows = db.session.execute(query.group_by(of.question_id))
    return {question: int(number) for question, number in rows if number}


def is_shown() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for those that everybody sees."""
    return TestimonialCount.status.in_(("approved", "demo")), ~TestimonialCount.is_deleted


def count_tags(project_id: str) -> dict[str, tuple[int, int]]:
    """Return how many testimonials have each tag of a project: outside the trash, and shown.

    Includes tags that only the trash has.
    """
    of = TagCount
    query = select(of.name, func.sum(of.number), func.sum(of.kept), func.sum(of.visible))
    rows = db.session.execute(query.where(of.project_id == project_id).group_by(of.name))
    return {name: (int(kept), int(shown)) for name, number, kept, shown in rows if number}


# Counting everything again: to check what the triggers keep, and to mend it.

Counts = dict[tuple[Any, ...], tuple[int, ...]]

_HAS_PHOTO = or_(
    Testimonial.avatar_id.is_not(None),
    Testimonial.author_avatar.is_not(None),
    Testimonial.twitter["avatarUrl"].as_string().is_not(None),
)
_IS_KEPT = Testimonial.deleted_at.is_(None)


def find_wrong_counts(connection: Connection) -> list[str]:
    """Return what is wrong about the counts, a sentence for each table."""
    found = []
    for table, query in _queries(connection).items():
        kept, right = _read_kept(connection, table), _read(connection, query, table)
        wrong = sum(kept.get(key) != right.get(key) for key in kept.keys() | right.keys())
        if wrong:
            found.append(
                f"{wrong} of the counts in {table.name} are wrong; run: testimonials db check "
                "--repair"
            )
    return found


def count_again(connection: Connection) -> None:
    """Replace the counts by what a count of everything finds; nobody may write meanwhile."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE testimonial, testimonial_tag IN SHARE MODE"))
    for table, query in _queries(connection).items():
        connection.execute(delete(table))
        names = [column.name for column in table.columns]
        connection.execute(insert(table).from_select(names, query))


def stop_counting(connection: Connection) -> None:
    """Let a PostgreSQL transaction that adds very much count it only once, in the end."""
    connection.execute(text("SET LOCAL testimonials.counting = 'off'"))


@contextmanager
def count_once(connection: Connection, project_id: str) -> Iterator[None]:
    """Fill a new project with testimonials, and count them in the end, not each statement's.

    SQLite's triggers count each row, which is as quick.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    stop_counting(connection)
    yield
    for table, query in _queries(connection).items():
        names = [column.name for column in table.columns]
        of_project = query.where(Testimonial.project_id == project_id)
        connection.execute(insert(table).from_select(names, of_project))
    connection.execute(text("SET LOCAL testimonials.counting = 'on'"))


def _queries(connection: Connection) -> Mapping[Table, Select[Any]]:
    """Return for each table the query that counts its rows, with its columns in their order."""
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
    key = [row.project_id, row.status, ~_IS_KEPT, row.kind, row.source, form, halves, _HAS_PHOTO]
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
    stars, total = (
        _round(row.rating),
        func.sum(case((is_rated, _to_billionths(row.rating)), else_=0)),
    )
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


def _read_kept(connection: Connection, table: Table) -> Counts:
    key = [column for column in table.primary_key.columns if column.name != "part"]
    values = [func.sum(column) for column in table.columns if not column.primary_key]
    rows = connection.execute(select(*key, *values).group_by(*key))
    return _collect(rows.all(), len(key))


def _read(connection: Connection, query: Select[Any], table: Table) -> Counts:
    length = len(table.primary_key.columns)
    rows = [(*row[: length - 1], *row[length:]) for row in connection.execute(query)]
    return _collect(rows, length - 1)


def _collect(rows: Sequence[Any], length: int) -> Counts:
    """Return rows by their key, without those that count nothing."""
    return {
        tuple(row[:length]): values for row in rows if any(values := tuple(map(int, row[length:])))
    }
