"""What a search finds, and that its index stays in step."""

import pytest
from flask import Flask
from sqlalchemy import delete, text, update

from testimonials.extensions import begin_write, db
from testimonials.projects.models import Project
from testimonials.projects.services import lock_project
from testimonials.testimonials import models
from testimonials.testimonials.moderation.inbox import InboxFilter, find_rows
from testimonials.testimonials.moderation.tags import add_tag
from tests.conftest import Caller
from tests.support.rows import add_testimonial

ANSWERS = [
    {"id": "q1", "question": "Before?", "kind": "text", "answer": "Spreadsheets", "isPublic": True}
]


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project()["_id"])


def find(project_id: str, words: str) -> str:
    rows = find_rows(project_id, InboxFilter(tab="all", q=words), [], is_all=True)
    return " ".join(sorted(row.author_name for row in rows))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("quick", "Zoë"), ("QUI", "Zoë"), ("uick", ""), ("zoe", "Zoë"), ("ZOË", "Zoë"),
        ("baker", "Zoë"), ("acme", "Zoë"), ("zoe@mail.example", "Zoë"), ("mail.exam", "Zoë"),
        ("quick spreadsheet", "Zoë"), ("quick tokyo", ""), ("well-made", "Zoë"), ("made-well", ""),
        ("question", ""), ("pres", "Zoë"), ("東京", "Tokyo"), ("京都", ""), ("ดี", "Tokyo"),
        ("日本", "Tokyo"), ('quick"', "Zoë"), ("project : quick", ""), ("quick*", "Zoë"),
        ("' OR", ""), ("\\", ""), ("²", ""), ("NOT", ""), ("🌿", "Tokyo"), ("!!!", ""),
        ("\u0301", ""), ("a\u0301", "Zoë"), ("()", ""), (":*", ""), ("&", ""),
    ],
)  # fmt: skip
def test_what_is_found(app: Flask, project_id: str, words: str, found: str) -> None:
    fill(app, project_id)
    with app.app_context():
        assert find(project_id, words) == found


def fill(app: Flask, project_id: str) -> None:
    zoe = add_testimonial(
        app,
        project_id,
        author_name="Zoë",
        author_role="Head baker",
        author_company="ACME (Berlin)",
        author_email="zoe@mail.example",
        text="A quick, well-made thing",
        answers=ANSWERS,
    )
    add_testimonial(app, project_id, author_name="Tokyo", text="日本の東京は都です 🌿 ดีมาก")
    with app.app_context():
        begin_write()
        project = lock_project(project_id)
        add_tag(project, [zoe], "Press", "me", lambda: project)
        db.session.commit()


def test_the_index_follows_every_change(app: Flask, project_id: str) -> None:
    kept, gone = (add_testimonial(app, project_id, author_name=name) for name in ("Kept", "Gone"))
    with app.app_context():
        for words in ("first words", "second words", "東京"):
            begin_write()
            db.session.execute(
                update(models.Testimonial).where(models.Testimonial.id == kept).values(text=words)
            )
            db.session.commit()
            assert find(project_id, words) == "Kept"
        assert find(project_id, "words") == ""
        begin_write()
        db.session.execute(delete(models.Testimonial).where(models.Testimonial.id == gone))
        db.session.commit()
        assert find(project_id, "gone") == ""
        assert count_indexed() in (None, 1)


def test_a_project_takes_its_words_along(app: Flask, project_id: str) -> None:
    add_testimonial(app, project_id, author_name="Vera")
    with app.app_context():
        begin_write()
        db.session.execute(delete(Project))
        db.session.commit()
        assert count_indexed() in (None, 0)


def test_reindexing_finds_the_same(app: Flask, project_id: str) -> None:
    fill(app, project_id)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            begin_write()
            db.session.execute(text("DELETE FROM testimonial_search_row"))
            db.session.commit()
            assert find(project_id, "quick") == ""
    for _ in range(2):
        done = app.test_cli_runner().invoke(args=["db", "reindex"])
        assert done.output == "The index of words was made again.\n"
        with app.app_context():
            assert [find(project_id, each) for each in ("quick", "東京")] == ["Zoë", "Tokyo"]


def count_indexed() -> int | None:
    """Return how many testimonials SQLite's index has."""
    if db.engine.dialect.name != "sqlite":
        return None
    (number,) = db.session.execute(text("SELECT count(*) FROM testimonial_search_row")).one()
    (found,) = db.session.execute(text("SELECT count(*) FROM testimonial_search_docsize")).one()
    assert number == found
    return int(number)
