"""Whether the index of words is in step with the testimonials."""

from sqlalchemy import Connection, text

from testimonials.testimonials.search import SCRIPTS

# What the triggers of SQLite index: all words of a row, with a space around each letter of scripts
# without spaces.
TOKENIZE = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
WORDS = """
(SELECT CASE WHEN whole NOT GLOB '*LETTER*' THEN whole ELSE (
  WITH RECURSIVE letter (at, done) AS (SELECT 1, '' UNION ALL SELECT at + 1, done ||
    CASE WHEN substr(whole, at, 1) GLOB 'LETTER'
    THEN ' ' || substr(whole, at, 1) || ' ' ELSE substr(whole, at, 1) END
    FROM letter WHERE at <= length(whole))
  SELECT done FROM letter ORDER BY at DESC LIMIT 1) END
FROM (SELECT coalesce(it.author_name, '') || ' ' || coalesce(it.author_role, '') || ' ' ||
  coalesce(it.author_company, '') || ' ' || coalesce(it.author_email, '') || ' ' ||
  coalesce(it.text, '') || ' ' || (SELECT coalesce(group_concat(value, ' '), '')
  FROM json_tree(it.answers) WHERE key = 'answer') AS whole))
""".replace("LETTER", f"[{SCRIPTS}]")
ADVICE = "run: testimonials db check --repair"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('testimonial_search')"
COUNT_ROWS = """
SELECT (SELECT count(*) FROM
    (SELECT id FROM testimonial EXCEPT SELECT testimonial_id FROM testimonial_search_row))
  + (SELECT count(*) FROM
    (SELECT testimonial_id FROM testimonial_search_row EXCEPT SELECT id FROM testimonial))
"""
# An index of the same words, made now, and how many testimonials have each word in both.
MAKE = (
    "CREATE VIRTUAL TABLE temp.made USING fts5"
    f"(project, words, content='', detail=none, tokenize=\"{TOKENIZE}\")",
    "INSERT INTO temp.made (rowid, project, words) "  # noqa: S608
    f"SELECT it.rowid, it.project_id, {WORDS} FROM testimonial it",
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
    """Return what is wrong about the index, a sentence each; on SQLite this reads everything."""
    if connection.dialect.name == "postgresql":
        is_valid = connection.execute(text(IS_VALID)).scalar()
        return [] if is_valid else [f"the index of words is missing or incomplete; {ADVICE}"]
    if wrong := connection.execute(text(COUNT_ROWS)).scalar_one():
        return [f"{wrong} testimonials are missing or too many in the index of words; {ADVICE}"]
    for statement in MAKE:
        connection.exec_driver_sql(statement)
    wrong = connection.execute(text(COUNT_WORDS)).scalar_one()
    for name in ("kept", "right", "made"):
        connection.exec_driver_sql(f"DROP TABLE temp.{name}")
    return [f"{wrong} words are out of step in the index of words; {ADVICE}"] if wrong else []
