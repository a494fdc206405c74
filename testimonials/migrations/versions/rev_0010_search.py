"""An index to search testimonials by words."""

from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"

TOKENIZE = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
COLUMNS = ("author_name", "author_role", "author_company", "author_email", "text", "answers")
# Scripts without spaces: Thai, Lao, Burmese, Khmer, Japanese and Chinese.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
FURTHER = "\U00020000-\U0003134f"
# The accents that NFD makes of letters.
ACCENTS = "\u0300-\u036f"
PUNCTUATION = ".,:;!?/@-_+*#&=()[]{}<>|~^%$\\\"`\u2019'"


def upgrade() -> None:
    """Change the schema."""
    if op.get_bind().dialect.name == "sqlite":
        _index_on_sqlite()
    else:
        _index_on_postgresql()


def _index_on_sqlite() -> None:
    """Make an FTS5 index without the texts; SQLite gives rows other numbers in a VACUUM."""
    op.execute(
        "CREATE TABLE testimonial_search_row "
        "(number INTEGER PRIMARY KEY, testimonial_id VARCHAR NOT NULL UNIQUE)"
    )
    op.execute(
        "CREATE VIRTUAL TABLE testimonial_search USING fts5(project, words, content='', "
        f"prefix='2 3 4', tokenize=\"{TOKENIZE}\")"
    )
    op.execute(
        "INSERT INTO testimonial_search_row (testimonial_id) "
        "SELECT id FROM testimonial ORDER BY created_at, id"
    )
    op.execute(
        "INSERT INTO testimonial_search (rowid, project, words) "
        f"SELECT number, it.project_id, {join_words('it')} FROM testimonial_search_row "
        "JOIN testimonial it ON it.id = testimonial_id ORDER BY number"
    )
    # A row whose number is lost gets one with its next change: `db reindex` makes use of that.
    keep = "INSERT OR IGNORE INTO testimonial_search_row (testimonial_id) VALUES (NEW.id)"
    forget = "DELETE FROM testimonial_search_row WHERE testimonial_id = OLD.id"
    columns = ", ".join(("project_id", *COLUMNS))
    _on_row("search_added", "AFTER INSERT ON testimonial", keep, _add())
    _on_row("search_removed", "AFTER DELETE ON testimonial", _remove(), forget)
    _on_row("search_changed", f"AFTER UPDATE OF {columns} ON testimonial", _remove(), keep, _add())


def _on_row(name: str, when: str, *statements: str) -> None:
    body = "".join(f"  {each};\n" for each in statements)
    op.execute(f"CREATE TRIGGER {name} {when} FOR EACH ROW BEGIN\n{body}END".replace(":", "\\:"))


def _add() -> str:
    return (
        "INSERT INTO testimonial_search (rowid, project, words) "
        f"SELECT number, NEW.project_id, {join_words('NEW')} "
        "FROM testimonial_search_row WHERE testimonial_id = NEW.id"
    )


def _remove() -> str:
    return (
        "INSERT INTO testimonial_search (testimonial_search, rowid, project, words) "
        f"SELECT 'delete', number, OLD.project_id, {join_words('OLD')} "
        "FROM testimonial_search_row WHERE testimonial_id = OLD.id"
    )


def join_words(row: str) -> str:
    """Return all words of a row, with spaces around each letter of scripts without spaces."""
    answers = (
        "(SELECT coalesce(group_concat(value, ' '), '') "
        f"FROM json_tree({row}.answers) WHERE key = 'answer')"
    )
    texts = [f"coalesce({row}.{name}, '')" for name in COLUMNS if name != "answers"]
    joined = " || ' ' || ".join((*texts, answers))
    return (
        f"(SELECT CASE WHEN whole NOT GLOB '*[{UNSPACED}{FURTHER}]*' THEN whole ELSE ("
        "WITH RECURSIVE letter (at, done) AS (SELECT 1, '' UNION ALL SELECT at + 1, done || "
        f"CASE WHEN substr(whole, at, 1) GLOB '[{UNSPACED}{FURTHER}]' "
        "THEN ' ' || substr(whole, at, 1) || ' ' ELSE substr(whole, at, 1) END "
        "FROM letter WHERE at <= length(whole)) "
        "SELECT done FROM letter ORDER BY at DESC LIMIT 1) END "
        f"FROM (SELECT {joined} AS whole))"
    )


def _index_on_postgresql() -> None:
    """Make an index of an expression, which needs no trigger.

    Neither function calls the other: pg_restore makes the index without a search path.
    """
    texts = " || ' ' || ".join(f"coalesce({name}, '')" for name in COLUMNS if name != "answers")
    answers = "jsonb_path_query_array(CAST(answers AS jsonb), '$[*].answer')::text"
    types = ", ".join(f"{name} {'json' if name == 'answers' else 'text'}" for name in COLUMNS)
    _make_function("testimonial_search_text(words text) RETURNS text", _plain("words"))
    _make_function(
        f"testimonial_search_words(project_id text, {types}) RETURNS tsvector",
        "to_tsvector('simple', project_id || ' ' || "
        + _plain(f"{texts} || ' ' || coalesce({answers}, '')")
        + ")",
    )
    op.execute(
        "CREATE INDEX testimonial_search ON testimonial USING gin "
        f"(testimonial_search_words(project_id, {', '.join(COLUMNS)}))"
    )


def _make_function(head: str, value: str) -> None:
    body = f"LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT {value} $$"
    op.execute(f"CREATE FUNCTION {head} {body}".replace(":", "\\:"))


def _plain(words: str) -> str:
    """Return words without accents and punctuation, as `join_words` has them for SQLite."""
    punctuation = PUNCTUATION.replace("'", "''").replace("\\", "\\\\")
    return (
        f"translate(regexp_replace(regexp_replace(normalize({words}, NFD), "
        f"'[{ACCENTS}]', '', 'g'), '([{UNSPACED}{FURTHER}])', ' \\1 ', 'g'), "
        f"E'{punctuation}', repeat(' ', {len(PUNCTUATION)}))"
    )
