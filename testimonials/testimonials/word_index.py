"""The full-text index: FTS5 on SQLite, GIN on PostgreSQL."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, column, delete, table, text

from testimonials.core.db.sqlite import checkpoint_log
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import Retry, every_process, job
from testimonials.core.settings.table import current_settings

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003134f"
)
# The columns whose words are indexed.
COLUMNS = ("author_name", "author_role", "author_company", "author_email", "text", "answers")

# No model has these names; the comparison of the schema skips them.
INDEX = "testimonial_search"
LIST = table(f"{INDEX}_row", column("number"), column("testimonial_id"))
_EMPTY = text("INSERT INTO testimonial_search (testimonial_search) VALUES ('delete-all')")
_FILL = text(
    "INSERT INTO testimonial_search_row (testimonial_id) SELECT id FROM testimonial ORDER BY id"
)


# On SQLite, triggers list new testimonials, and update those that are in the index. A job adds the
# listed ones in batches, which takes a tenth of the time; until then a search reads them.

# The words of a row, with spaces around each letter of scripts without spaces. SQLite finds a
# letter by counting from the first, so the text is split into parts.
TOKENIZE = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
WORDS = """
(SELECT CASE WHEN whole NOT GLOB '*LETTER*' THEN whole ELSE (
  WITH RECURSIVE part (it, rest) AS (SELECT substr(whole, 1, 50), substr(whole, 51) UNION ALL
    SELECT substr(rest, 1, 50), substr(rest, 51) FROM part WHERE rest <> ''),
  place (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM place WHERE at < 50)
  SELECT group_concat(CASE WHEN substr(it, at, 1) GLOB 'LETTER'
    THEN ' ' || substr(it, at, 1) || ' ' ELSE substr(it, at, 1) END, '')
  FROM part CROSS JOIN place) END
FROM (SELECT coalesce(it.author_name, '') || ' ' || coalesce(it.author_role, '') || ' ' ||
  coalesce(it.author_company, '') || ' ' || coalesce(it.author_email, '') || ' ' ||
  coalesce(it.text, '') || ' ' || (SELECT coalesce(group_concat(value, ' '), '')
  FROM json_tree(it.answers) WHERE key = 'answer') AS whole))
""".replace("LETTER", f"[{SCRIPTS}]")
# Numbers in the list increase, so the index has everything up to its largest.
LISTED = "testimonial_search_row CROSS JOIN testimonial it ON it.id = testimonial_id"
INDEXED = "(SELECT coalesce(max(id), 0) FROM testimonial_search_docsize)"
_ADD = text(
    "INSERT INTO testimonial_search (rowid, project, words) "  # noqa: S608 - our own names
    f"SELECT number, it.project_id, {WORDS} FROM {LISTED} WHERE number > {INDEXED} "
    "ORDER BY number LIMIT :most"
)
_UNINDEXED = text(
    f"SELECT testimonial_id FROM {LISTED} WHERE number > {INDEXED} "  # noqa: S608 - our own names
    "AND it.project_id = :project_id ORDER BY number DESC LIMIT :most"
)
_IS_ANY = text(
    f"SELECT max(number) > {INDEXED} FROM testimonial_search_row"  # noqa: S608 - our own names
)


# These take half a second if they are the longest texts in Japanese, else milliseconds.
_ROWS_AT_ONCE = 100


# Not in the thread of imports, which add the most testimonials.
@every_process("mail")
def index_new() -> None:
    """Add the listed testimonials to SQLite's index."""
    if db.engine.dialect.name != "sqlite":
        return
    is_any = db.session.scalar(_IS_ANY)
    db.session.rollback()
    while is_any:
        with write():
            added = db.session.connection().execute(_ADD, {"most": _ROWS_AT_ONCE}).rowcount
        is_any = added == _ROWS_AT_ONCE


def find_unindexed(project_id: str, most: int) -> list[str]:
    """Return the ids of the project's newest testimonials that aren't in SQLite's index yet."""
    if db.session.connection().dialect.name != "sqlite":
        return []
    return list(db.session.scalars(_UNINDEXED, {"project_id": project_id, "most": most}))


def rebuild_index(connection: Connection) -> None:
    """Rebuild the index; the caller's transaction must keep writers out."""
    if connection.dialect.name == "postgresql":
        columns = ", ".join(("project_id", *COLUMNS))
        connection.execute(text("DROP INDEX IF EXISTS testimonial_search"))
        connection.execute(
            text(
                "CREATE INDEX testimonial_search ON testimonial USING gin "
                f"(testimonial_search_words({columns}))"
            )
        )
        return
    connection.execute(_EMPTY)
    connection.execute(delete(LIST))
    connection.execute(_FILL)
    connection.execute(_ADD, {"most": -1})


ADVICE = "run: testimonials db check --repair"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('testimonial_search')"
COUNT_ROWS = """
SELECT (SELECT count(*) FROM
    (SELECT id FROM testimonial EXCEPT SELECT testimonial_id FROM testimonial_search_row))
  + (SELECT count(*) FROM
    (SELECT testimonial_id FROM testimonial_search_row EXCEPT SELECT id FROM testimonial))
"""
# These make a new index of the same rows, and tables of how many rows have each word in both.
MAKE = (
    "CREATE VIRTUAL TABLE temp.made USING fts5"
    f"(project, words, content='', detail=none, tokenize=\"{TOKENIZE}\")",
    "INSERT INTO temp.made (rowid, project, words) "  # noqa: S608 - our own names
    f"SELECT number, it.project_id, {WORDS} FROM {LISTED} WHERE number <= {INDEXED}",
    "CREATE VIRTUAL TABLE temp.right USING fts5vocab('temp', 'made', 'row')",
    "CREATE VIRTUAL TABLE temp.kept USING fts5vocab('main', 'testimonial_search', 'row')",
)
COUNT_WORDS = """
SELECT count(DISTINCT term) FROM (
  SELECT * FROM (SELECT term, doc FROM temp.kept EXCEPT SELECT term, doc FROM temp.right)
  UNION ALL
  SELECT * FROM (SELECT term, doc FROM temp.right EXCEPT SELECT term, doc FROM temp.kept))
"""


def find_wrong_words(connection: Connection) -> list[str]:
    """Return a sentence for each fault of the index; on SQLite this reads everything."""
    if connection.dialect.name == "postgresql":
        is_valid = connection.execute(text(IS_VALID)).scalar()
        return [] if is_valid else [f"the index of words is missing or incomplete; {ADVICE}"]
    if wrong := connection.execute(text(COUNT_ROWS)).scalar_one():
        return [
            (
                f"{wrong} testimonials are missing from the index of words, or wrongly in it; "
                f"{ADVICE}"
            )
        ]
    for statement in MAKE:
        connection.exec_driver_sql(statement)
    wrong = connection.execute(text(COUNT_WORDS)).scalar_one()
    for name in ("kept", "right", "made"):
        connection.exec_driver_sql(f"DROP TABLE temp.{name}")
    return [f"{wrong} words differ in the index of words; {ADVICE}"] if wrong else []


# Removed words remain in the segments of SQLite's index until these are merged.

MERGE_WORDS = "search.merge"
PAGES = 250


@job(MERGE_WORDS, "jobs", longest=timedelta(hours=1))
def merge_words() -> None:
    """Merge the segments in short steps, so that others can write in between."""
    if db.engine.dialect.name != "sqlite":
        return
    merge = text(
        "INSERT INTO testimonial_search (testimonial_search, rank) VALUES ('merge', :pages)"
    )
    # A negative number puts all segments on one level first.
    pages, is_done = -PAGES, False
    while not is_done:
        with write():
            driver: Any = db.session.connection().connection.driver_connection
            before = driver.total_changes
            db.session.execute(merge, {"pages": pages})
            # The merge is complete once a step changes fewer than 2 rows (SQLite's FTS5 docs).
            is_done, pages = driver.total_changes - before < 2, PAGES
    # They also remain in the write-ahead log.
    if (file := current_settings().database_file) is not None and not checkpoint_log(file):
        raise Retry("the database is being read")
