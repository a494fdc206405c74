"""Finding testimonials by words, the best first.

What a word in each of 200,000 testimonials finds can neither be read nor ranked in time. So the
newest `MOST` that the filters leave are looked through first. If many of them have the words, and
the list is long, that is the answer. Otherwise the index is asked; if it has more than `MOST`, too,
some of them are added.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, select

from testimonials.extensions import db
from testimonials.testimonials.counts.models import TagCount
from testimonials.testimonials.models import Testimonial, TestimonialTag
from testimonials.testimonials.search.index import MOST, find_by_index
from testimonials.testimonials.search.ranking import FIELDS, rank_row
from testimonials.testimonials.search.words import Word, fold, read_words

# So many of the newest are a page of the inbox.
ENOUGH = 50
LONG = 10 * MOST
_NEWEST = (Testimonial.created_at.desc(), Testimonial.id.desc())
# What a testimonial is worth, its time and id.
_Ranked = tuple[int, datetime, str]
_COLUMNS = (
    Testimonial.id,
    Testimonial.created_at,
    *(getattr(Testimonial, each) for each in FIELDS),
)


@dataclass(frozen=True)
class Found:
    """The testimonials that a search found, the best first; whether there are no others."""

    ids: list[str]
    is_all: bool


@dataclass(frozen=True)
class _Candidates:
    """Testimonials that may have all words: those by the index have them."""

    sure: Collection[str]
    others: Collection[str]
    is_all: bool


def search(
    project_id: str, words: str, *conditions: ColumnElement[bool], of_ids: ColumnElement[bool]
) -> Found:
    """Find the project's testimonials that meet the conditions and have all the words.

    `of_ids` is what the conditions say, written so that SQLite looks rows with ids up by these.

    Those that have them in the name come first, then in company, role and address, then in the
    text; among equals the newest.
    """
    wanted = read_words(words)
    tagged = _find_tagged(project_id, wanted)
    of_project = (Testimonial.project_id == project_id, *conditions)
    newest = _load_newest(*of_project)
    ranked = _rank(newest[:MOST], wanted, tagged)
    if len(ranked) >= ENOUGH and _is_long(*of_project):
        return _sort(ranked, is_all=False)
    candidates = _ask_index(project_id, wanted, tagged)
    if not candidates.is_all and len(newest) <= MOST:
        return _sort(ranked, is_all=True)
    ids = {*candidates.sure, *candidates.others}
    by_index = _rank(_load(ids, of_ids), wanted, tagged, candidates.sure)
    return _sort(by_index if candidates.is_all else ranked | by_index, is_all=candidates.is_all)


def _ask_index(project_id: str, words: list[Word], tagged: dict[Word, set[str]]) -> _Candidates:
    indexed = [word for word in words if word.pattern]
    if not indexed:
        return _Candidates((), (), is_all=False)
    found = find_by_index(project_id, indexed)
    is_all = len(found) <= MOST and not any(word.is_short for word in words)
    others: list[str] = []
    for names in tagged.values():
        with_tag = _find_with_tag(project_id, names)
        others += with_tag[:MOST]
        is_all = is_all and len(with_tag) <= MOST
    if tagged and not is_all and (rest := [word for word in indexed if word not in tagged]):
        others += find_by_index(project_id, rest)[:MOST]
    if len(indexed) < len(words):
        # The others of the words are signs, which the index doesn't have.
        return _Candidates((), [*found[:MOST], *others], is_all)
    return _Candidates(set(found[:MOST]), others, is_all)


def _find_tagged(project_id: str, words: list[Word]) -> dict[Word, set[str]]:
    """Return the words that tags have, and which."""
    query = select(TagCount.name).where(TagCount.project_id == project_id).distinct()
    names = [(name, fold(name)) for name in db.session.scalars(query)]
    tagged = {word: {name for name, folded in names if any(word.find(folded))} for word in words}
    return {word: found for word, found in tagged.items() if found}


def _find_with_tag(project_id: str, names: Iterable[str]) -> list[str]:
    has_tag = (TestimonialTag.project_id == project_id, TestimonialTag.name.in_(names))
    query = select(TestimonialTag.testimonial_id).where(*has_tag).limit(MOST + 1)
    return list(db.session.scalars(query))


def _load_newest(*conditions: ColumnElement[bool]) -> Sequence[Row[Any]]:
    query = select(*_COLUMNS).where(*conditions).order_by(*_NEWEST)
    return db.session.execute(query.limit(MOST + 1)).all()


def _is_long(*conditions: ColumnElement[bool]) -> bool:
    """Tell whether a list has so many that what a tenth of them has is more than `MOST`."""
    query = select(Testimonial.id).where(*conditions).order_by(*_NEWEST)
    return db.session.scalar(query.offset(LONG).limit(1)) is not None


def _load(ids: Collection[str], *conditions: ColumnElement[bool]) -> Sequence[Row[Any]]:
    query = select(*_COLUMNS).where(Testimonial.id.in_(ids), *conditions)
    return db.session.execute(query).all() if ids else ()


def _rank(
    rows: Sequence[Row[Any]],
    words: list[Word],
    tagged: dict[Word, set[str]],
    sure: Collection[str] = (),
) -> set[_Ranked]:
    """Return the rows that have all words: what each is worth, its time and id."""
    tags = _load_tags([row.id for row in rows], tagged)
    ranked = set()
    for row in rows:
        value = rank_row(row, words, tags.get(row.id, ""), is_sure=row.id in sure)
        if value is not None:
            ranked.add((value, row.created_at, row.id))
    return ranked


def _sort(ranked: set[_Ranked], *, is_all: bool) -> Found:
    return Found([each[2] for each in sorted(ranked, reverse=True)], is_all)


def _load_tags(ids: Iterable[str], tagged: dict[Word, set[str]]) -> dict[str, str]:
    """Return the tags of testimonials that have some of the words, folded."""
    tags: dict[str, str] = {}
    if not tagged:
        return tags
    names = {name for found in tagged.values() for name in found}
    of = TestimonialTag
    query = select(of.testimonial_id, of.name).where(
        of.testimonial_id.in_(list(ids)), of.name.in_(names)
    )
    for testimonial_id, name in db.session.execute(query):
        tags[testimonial_id] = f"{tags.get(testimonial_id, '')} {fold(name)}"
    return tags
