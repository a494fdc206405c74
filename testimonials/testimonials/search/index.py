"""The index of words: FTS5 on SQLite, GIN on PostgreSQL.

Both find words that begin as the caller's do, whatever their case and accents. In scripts without
spaces each letter is a word, so that letters in a row are found wherever they stand.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    column,
    delete,
    func,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from testimonials.extensions import db
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.search.ranking import FIELDS
from testimonials.testimonials.search.words import UNSPACED, Word

# What it finds of more is cut off.
MOST = 500
# Of other names than the program's tables; the schema's comparison passes them over.
INDEX = "testimonial_search"

_INDEX = table(INDEX, column("rowid"), column(INDEX))
_EMPTY = text("INSERT INTO testimonial_search (testimonial_search) VALUES ('delete-all')")
_ROWS = table(f"{INDEX}_row", column("number"), column("testimonial_id"))


def find_by_index(project_id: str, words: Sequence[Word]) -> list[str]:
    """Return the ids of testimonials with all the words, of too many one more than `MOST`."""
    if db.session.connection().dialect.name == "sqlite":
        return _find_on_sqlite(project_id, words)
    return list(db.session.scalars(_find_on_postgresql(project_id, words)))


def _find_on_sqlite(project_id: str, words: Sequence[Word]) -> list[str]:
    """Find the newest: the index is read backwards, no further than needed.

    Words of more letters than it has beginnings of (its `prefix`) are put together from all
    testimonials, so those that don't go on are asked for first.
    """
    found = _match(project_id, words, "")
    return found if len(found) > MOST else _match(project_id, words, " *")


def _match(project_id: str, words: Sequence[Word], end: str) -> list[str]:
    phrases = ((UNSPACED.sub(r" \1 ", word.said).replace('"', " "), word) for word in words)
    asked = (f'words : "{it}"{"" if word.is_short else end}' for it, word in phrases)
    numbers = (
        select(_INDEX.c.rowid)
        .where(_INDEX.c[INDEX].op("MATCH")(" AND ".join((f'project : "{project_id}"', *asked))))
        .order_by(_INDEX.c.rowid.desc())
        .limit(MOST + 1)
    )
    query = select(_ROWS.c.testimonial_id).where(_ROWS.c.number.in_(numbers))
    return list(db.session.scalars(query))


def _find_on_postgresql(project_id: str, words: Sequence[Word]) -> Select[Any]:
    """Find any: GIN has no order. The planner must not think of the limit, or reads all rows."""
    it = Testimonial.__table__.alias("it").c
    row_words = func.testimonial_search_words(it.project_id, *(it[name] for name in FIELDS))
    query: ColumnElement[Any] = func.plainto_tsquery(text("'simple'"), project_id)
    for word in words:
        plain = func.testimonial_search_text(word.said)
        # The last word of a phrase may go on.
        phrase = func.phraseto_tsquery(text("'simple'"), plain).cast(Text)
        end = "" if word.is_short else ":*"
        query = query.op("&&")(func.nullif(phrase, "").concat(end).cast(TSQUERY))
    found = select(it.id).where(row_words.op("@@")(query)).cte("found")
    found = found.prefix_with("MATERIALIZED", dialect="postgresql")
    return select(found.c.id).limit(MOST + 1)


def rebuild_index(connection: Connection) -> None:
    """Make the index again, in a transaction that keeps writers out."""
    if connection.dialect.name == "postgresql":
        columns = ", ".join(("project_id", *FIELDS))
        connection.execute(text("DROP INDEX IF EXISTS testimonial_search"))
        connection.execute(
            text(
                "CREATE INDEX testimonial_search ON testimonial USING gin "
                f"(testimonial_search_words({columns}))"
            )
        )
        return
    connection.execute(_EMPTY)
    connection.execute(delete(_ROWS))
    # Its trigger adds each to the index.
    connection.execute(text("UPDATE testimonial SET text = text"))
