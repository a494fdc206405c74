"""Search by an index: FTS5 on SQLite, GIN on PostgreSQL (revision 0010).

Both find words that begin as the caller's do, whatever their case and accents. In scripts without
spaces each letter is a word, so that letters in a row are found wherever they stand.
"""

import re

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    column,
    delete,
    func,
    or_,
    select,
    table,
    text,
    union,
)
from sqlalchemy.dialects.postgresql import TSQUERY

from testimonials.extensions import db
from testimonials.testimonials.counts.models import TagCount
from testimonials.testimonials.models import Testimonial, TestimonialTag

# What a search asks for more than these is left out.
MAX_WORDS = 10
# Of other names than the program's tables; the schema's comparison passes them over.
INDEX = "testimonial_search"

# As in revision 0010.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003134f])"
)
_INDEX = table(INDEX, column("rowid"), column(INDEX))
_EMPTY = text("INSERT INTO testimonial_search (testimonial_search) VALUES ('delete-all')")
_ROWS = table(f"{INDEX}_row", column("number"), column("testimonial_id"))
_SEARCHED = (
    Testimonial.author_name,
    Testimonial.author_role,
    Testimonial.author_company,
    Testimonial.author_email,
    Testimonial.text,
)


def has_words(project_id: str, words: str) -> list[ColumnElement[bool]]:
    """Return the conditions for a project's testimonials in which all the words are."""
    return [_has_word(project_id, word) for word in words.split()[:MAX_WORDS]]


def rebuild_index(connection: Connection) -> None:
    """Make the index again, in a transaction that keeps writers out."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("REINDEX INDEX testimonial_search"))
        return
    connection.execute(_EMPTY)
    connection.execute(delete(_ROWS))
    # Its trigger adds each to the index.
    connection.execute(text("UPDATE testimonial SET text = text"))


def _has_word(project_id: str, word: str) -> ColumnElement[bool]:
    if not any(letter.isalnum() for letter in word):
        # Only letters and digits are in the index.
        return or_(*(each.icontains(word, autoescape=True) for each in _SEARCHED))
    names = select(TagCount.name).where(
        TagCount.project_id == project_id, TagCount.name.icontains(word, autoescape=True)
    )
    tagged = select(TestimonialTag.testimonial_id).where(
        TestimonialTag.project_id == project_id, TestimonialTag.name.in_(names)
    )
    is_sqlite = db.session.connection().dialect.name == "sqlite"
    find = _find_on_sqlite if is_sqlite else _find_on_postgresql
    return Testimonial.id.in_(union(find(project_id, word), tagged))


def _find_on_sqlite(project_id: str, word: str) -> Select[tuple[str]]:
    phrase = _UNSPACED.sub(r" \1 ", word).replace('"', " ").replace("\0", " ")
    wanted = f'project : "{project_id}" AND words : "{phrase}" *'
    numbers = select(_INDEX.c.rowid).where(_INDEX.c[INDEX].op("MATCH")(wanted))
    return select(_ROWS.c.testimonial_id).where(_ROWS.c.number.in_(numbers))


def _find_on_postgresql(project_id: str, word: str) -> Select[tuple[str]]:
    it = Testimonial.__table__.alias("it").c
    names = ("author_name", "author_role", "author_company", "author_email", "text", "answers")
    words = func.testimonial_search_words(it.project_id, *(it[name] for name in names))
    simple = text("'simple'")
    plain = func.testimonial_search_text(word.replace("\0", " "))
    # The last word of a phrase may go on.
    phrase = func.nullif(func.phraseto_tsquery(simple, plain).cast(Text), "").concat(":*")
    query = func.plainto_tsquery(simple, project_id).op("&&")(phrase.cast(TSQUERY))
    return select(it.id).where(and_(words.op("@@")(query), it.project_id == project_id))
