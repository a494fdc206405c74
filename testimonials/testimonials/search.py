"""Full-text search of testimonials, best matches first."""

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Text, column, func, select, table, text
from sqlalchemy.types import UserDefinedType

from testimonials.core.extensions import db
from testimonials.core.text import normalize, split_text
from testimonials.testimonials.models import TagCount, Testimonial, TestimonialTag
from testimonials.testimonials.word_index import COLUMNS, INDEX, LIST, SCRIPTS, find_unindexed

# Finding words in a text by the same rules as the index.

# Words of a search after these are ignored.
MAX_WORDS = 10

UNSPACED = re.compile(f"([{SCRIPTS}])")


@dataclass(frozen=True)
class Word:
    """A word to find, or several joined by punctuation; it matches the beginnings of words.

    `pattern` finds it in a folded text.
    """

    text: str
    pattern: re.Pattern[str]
    # A single letter of a script with spaces, with which too many words begin.
    is_short: bool = False

    def find(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the word in a folded text."""
        for match in self.pattern.finditer(folded):
            start = match.start()
            if not start or not is_letter(folded[start - 1]) or _is_unspaced(folded, start):
                yield match.span()


def read_words(text: str) -> list[Word]:
    """Return the words to find, without punctuation and emoji, which the index doesn't have."""
    words = map(_read_word, text.replace("\0", " ").split()[:MAX_WORDS])
    return [word for word in words if word is not None]


def find_places(words: list[Word], text: str) -> list[tuple[int, int]]:
    """Return the spans of a text that match the words, in order and without overlaps."""
    letters = list(map(fold, text))
    places = [place for place, folded in enumerate(letters) for _ in folded]
    whole = "".join(letters)
    spans: list[tuple[int, int]] = []
    for first, last in sorted(span for word in words for span in word.find(whole)):
        start, end = places[first], places[last - 1] + 1
        while end < len(text) and not letters[end]:
            # A combining accent.
            end += 1
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return spans


def mark_words(words: list[Word], text: str) -> list[tuple[str, bool]]:
    """Split a text into parts, each with whether it matches one of the words."""
    return split_text(text, find_places(words, text) if words else ())


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    return text.lower() if text.isascii() else "".join(map(_fold_letter, text))


@lru_cache(maxsize=10_000)
def is_letter(letter: str) -> bool:
    """Return whether a character is part of a word: a letter, a digit or a combining mark."""
    category = unicodedata.category(letter)
    return category[0] in "LN" or category in ("Co", "Mn", "Mc")


@lru_cache(maxsize=10_000)
def _fold_letter(letter: str) -> str:
    parts = normalize("NFD", letter)
    plain = "".join(part for part in parts if not "\u0300" <= part <= "\u036f")
    return normalize("NFC", plain).lower()


def _read_word(text: str) -> Word | None:
    spaced = UNSPACED.sub(r" \1 ", fold(text))
    parts = "".join(each if is_letter(each) else " " for each in spaced).split()
    if not parts:
        return None
    pattern = re.escape(parts[0])
    for before, part in itertools.pairwise(parts):
        is_near = UNSPACED.match(before) or UNSPACED.match(part)
        pattern += (r"[\W_]*" if is_near else r"[\W_]+") + re.escape(part)
    is_short = len(pattern) == 1 and not UNSPACED.match(pattern)
    return Word(text, re.compile(pattern), is_short)


def _is_unspaced(folded: str, place: int) -> bool:
    """Return whether this letter or the one before belongs to a script without spaces."""
    return bool(UNSPACED.match(folded, place) or UNSPACED.match(folded, place - 1))


# The weight of a word in each of the columns, and in a tag.
FIELDS = dict(zip(COLUMNS, (9, 4, 4, 4, 2, 1), strict=True))
TAG = 4


def rank_row(row: Any, words: list[Word], tags: str, *, is_sure: bool) -> int | None:
    """Return the rank of a row, or None if it lacks a word; a row from the index is sure to match.

    `tags` are its folded tags. A whole word counts twice as much as the beginning of one.
    """
    fields = [(fold(_read(getattr(row, name))), value) for name, value in FIELDS.items()]
    fields.append((tags, TAG))
    total = 0
    for word in words:
        value = max(value * _weigh(word, folded) for folded, value in fields)
        if not value and not is_sure:
            return None
        total += value
    return total


def _read(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(each["answer"]) for each in value)
    return value or ""


def _weigh(word: Word, folded: str) -> int:
    best = 0
    for _start, end in word.find(folded):
        if end == len(folded) or not is_letter(folded[end]):
            return 2
        best = 1
    return best


# The index is FTS5 on SQLite, GIN on PostgreSQL. Both match beginnings of words and ignore case and
# accents. In scripts without spaces each letter is a word, so that a sequence of letters is found
# anywhere.

# The most matches that are read.
MOST = 500
_INDEX = table(INDEX, column("rowid"), column(INDEX))


def find_by_index(project_id: str, words: Sequence[Word]) -> list[str]:
    """Return the ids of testimonials that have all the words, at most `MOST` + 1."""
    if db.session.connection().dialect.name == "sqlite":
        return _find_on_sqlite(project_id, words)
    return list(db.session.scalars(_find_on_postgresql(project_id, words)))


def _find_on_sqlite(project_id: str, words: Sequence[Word]) -> list[str]:
    """Return the newest matches: the index is read backwards, no further than necessary.

    Prefixes longer than those that the index stores (its `prefix`) are slow, so whole words are
    tried first.
    """
    ids = _match(project_id, words, "")
    return ids if len(ids) > MOST else _match(project_id, words, " *")


def _match(project_id: str, words: Sequence[Word], end: str) -> list[str]:
    phrases = ((UNSPACED.sub(r" \1 ", word.text).replace('"', " "), word) for word in words)
    terms = (f'words : "{it}"{"" if word.is_short else end}' for it, word in phrases)
    matches = _INDEX.c[INDEX].op("MATCH")(" AND ".join((f'project : "{project_id}"', *terms)))
    numbers = select(_INDEX.c.rowid).where(matches).order_by(_INDEX.c.rowid.desc()).limit(MOST + 1)
    query = select(LIST.c.testimonial_id).where(LIST.c.number.in_(numbers))
    return list(db.session.scalars(query))


class _Query(UserDefinedType[str]):
    """PostgreSQL's `tsquery`; SQLAlchemy's own type would load its drivers on SQLite too."""

    cache_ok = True

    def get_col_spec(self, **_options: object) -> str:
        return "TSQUERY"


def _find_on_postgresql(project_id: str, words: Sequence[Word]) -> Select[Any]:
    """Return a query for any of the matches, since GIN has no order.

    MATERIALIZED keeps the planner from reading all rows because of the limit.
    """
    it = Testimonial.__table__.alias("it").c
    row_words = func.testimonial_search_words(it.project_id, *(it[name] for name in FIELDS))
    query: ColumnElement[Any] = func.plainto_tsquery(text("'simple'"), project_id)
    for word in words:
        plain = func.testimonial_search_text(word.text)
        # The last word of a phrase is a prefix.
        phrase = func.phraseto_tsquery(text("'simple'"), plain).cast(Text)
        end = "" if word.is_short else ":*"
        query = query.op("&&")(func.nullif(phrase, "").concat(end).cast(_Query))
    found = select(it.id).where(row_words.op("@@")(query)).cte("found")
    found = found.prefix_with("MATERIALIZED", dialect="postgresql")
    return select(found.c.id).limit(MOST + 1)


# If 200,000 testimonials have a word, they can't all be read and ranked in time. So the newest
# `MOST` that meet the filters are read first. If many of them match, and the list is long, they are
# the answer. Otherwise the index is asked; if it has more than `MOST` matches too, some are added.

# As many as a page of the inbox has.
ENOUGH = 50
LONG = 10 * MOST
_NEWEST = (Testimonial.created_at.desc(), Testimonial.id.desc())
# Rank, time and id.
_Ranked = tuple[int, datetime, str]
_COLUMNS = (
    Testimonial.id,
    Testimonial.created_at,
    *(getattr(Testimonial, each) for each in FIELDS),
)


@dataclass(frozen=True)
class Found:
    """The ids that a search found, best first, and whether these are all matches."""

    ids: list[str]
    is_all: bool


def search(
    project_id: str, words: str, *conditions: ColumnElement[bool], of_ids: ColumnElement[bool]
) -> Found:
    """Return the project's testimonials that meet the conditions and have all the words.

    Matches in the name come first, then in company, role and address, then in the text; among
    equals the newest. `of_ids` means the same as the conditions, for queries that name ids.
    """
    if not (terms := read_words(words)):
        return Found([], is_all=True)
    tagged = _find_tagged(project_id, terms)
    of_project = (Testimonial.project_id == project_id, *conditions)
    listed = select(*_COLUMNS).where(*of_project).order_by(*_NEWEST).limit(MOST + 1)
    newest = db.session.execute(listed).all()
    ranked = _rank(newest[:MOST], terms, tagged)
    if len(ranked) >= ENOUGH and _is_long(*of_project):
        return _sort(ranked, is_all=False)
    sure, others, is_all = _ask_index(project_id, terms, tagged)
    if not is_all and len(newest) <= MOST:
        return _sort(ranked, is_all=True)
    by_index = _rank(_load({*sure, *others}, of_ids), terms, tagged, sure)
    return _sort(by_index if is_all else ranked | by_index, is_all=is_all)


def _ask_index(
    project_id: str, words: list[Word], tagged: dict[Word, set[str]]
) -> tuple[set[str], list[str], bool]:
    """Return ids that match by the index, others that may match, and whether these are all."""
    matches = find_by_index(project_id, words)
    is_all = len(matches) <= MOST and not any(word.is_short for word in words)
    others: list[str] = []
    for names in tagged.values():
        with_tag = _find_with_tag(project_id, names)
        others += with_tag[:MOST]
        is_all = is_all and len(with_tag) <= MOST
    unindexed = find_unindexed(project_id, MOST + 1)
    others += unindexed[:MOST]
    is_all = is_all and len(unindexed) <= MOST
    if tagged and not is_all and (rest := [word for word in words if word not in tagged]):
        others += find_by_index(project_id, rest)[:MOST]
    return set(matches[:MOST]), others, is_all


def _find_tagged(project_id: str, words: list[Word]) -> dict[Word, set[str]]:
    """Return the words that tags match, each with these tags."""
    query = select(TagCount.name).where(TagCount.project_id == project_id).distinct()
    names = [(name, fold(name)) for name in db.session.scalars(query)]
    tagged = {word: {name for name, folded in names if any(word.find(folded))} for word in words}
    return {word: matches for word, matches in tagged.items() if matches}


def _find_with_tag(project_id: str, names: Iterable[str]) -> list[str]:
    has_tag = (TestimonialTag.project_id == project_id, TestimonialTag.name.in_(names))
    query = select(TestimonialTag.testimonial_id).where(*has_tag).limit(MOST + 1)
    return list(db.session.scalars(query))


def _is_long(*conditions: ColumnElement[bool]) -> bool:
    """Return whether a tenth of a list is more than `MOST`."""
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
    """Return testimonials' tags that match some of the words, folded."""
    tags: dict[str, str] = {}
    if not tagged:
        return tags
    names = {name for matches in tagged.values() for name in matches}
    row = TestimonialTag
    query = select(row.testimonial_id, row.name).where(
        row.testimonial_id.in_(list(ids)), row.name.in_(names)
    )
    for testimonial_id, name in db.session.execute(query):
        tags[testimonial_id] = f"{tags.get(testimonial_id, '')} {fold(name)}"
    return tags
