"""What a search finds, and that its index stays in step."""

import random
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, event, select, text, update

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.jobs import run_due
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.testimonials import models, search
from testimonials.testimonials.inbox import InboxFilter, find_ids, find_rows, find_words, list_inbox
from testimonials.testimonials.tags import add_tag
from testimonials.testimonials.word_index import find_wrong_words, index_new
from tests.dashboard.inbox.inbox import open_inbox
from tests.support.rows import add_testimonial

pytestmark = [pytest.mark.postgres, pytest.mark.recount]

ANSWERS = [
    {"id": "q1", "question": "Before?", "kind": "text", "answer": "Spreadsheets", "isPublic": True}
]


def find(project_id: str, words: str, tab: str = "all") -> str:
    ids = find_ids(project_id, InboxFilter(tab=tab, q=words), [], is_all=True)
    rows = find_rows(project_id, ids)
    return " ".join(sorted(row.author_name for row in rows))


WANTED = [
    ("quick", "Zoë"), ("QUI", "Zoë"), ("uick", ""), ("zoe", "Zoë"), ("ZOË", "Zoë"),
    ("baker", "Zoë"), ("acme", "Zoë"), ("zoe@mail.example", "Zoë"), ("mail.exam", "Zoë"),
    ("quick spreadsheet", "Zoë"), ("quick tokyo", ""), ("well-made", "Zoë"), ("made-well", ""),
    ("question", ""), ("pres", "Zoë"), ("東京", "Tokyo"), ("京都", ""), ("ดี", "Tokyo"),
    ("日本", "Tokyo"), ('quick"', "Zoë"), ("project : quick", ""), ("quick*", "Zoë"),
    ("' OR", ""), ("\\", ""), ("²", ""), ("NOT", ""), ("🌿", ""), ("!!!", ""),
    ("\u0301", ""), ("a\u0301", "Zoë"), ("()", ""), (":*", ""), ("&", ""),
    ("press quick", "Zoë"), ("press zoe", "Zoë"), ("press tokyo", ""), ("press press", "Zoë"),
    ("q", "Zoë"), ("q z", "Zoë"), ("quick 🌿", "Zoë"), ("日本 🌿", "Tokyo"),
    ("spreadsheets b", "Zoë"),
]  # fmt: skip


def test_what_is_found(app, project_id):
    fill(app, project_id)
    # Before it is in the index, and from there.
    for _ in range(2):
        with app.app_context():
            for words, found in WANTED:
                assert find(project_id, words) == found, words
            run_due("mail")
    with app.app_context():
        is_sqlite = db.engine.dialect.name == "sqlite"
        assert count_indexed() in (None, 2)
        for words in ("quick", "press zoe", "東京", "q"):
            for statement, plan in explain_search(project_id, words):
                assert "SCAN testimonial" not in plan.replace("SCAN testimonial_search VIRTUAL", "")
                if "MATCH" in statement or "@@" in statement:
                    used = "VIRTUAL TABLE INDEX" if is_sqlite else "Scan on testimonial_search"
                    assert used in plan, plan
                    assert "USE TEMP B-TREE FOR ORDER" not in plan


def fill(app: Flask, project_id: str) -> None:
    zoe = add_testimonial(
        app, project_id, author_name="Zoë", author_role="Head baker", answers=ANSWERS,
        author_company="ACME (Berlin)", author_email="zoe@mail.example",
        text="A quick, well-made thing",
    )  # fmt: skip
    add_testimonial(app, project_id, author_name="Tokyo", text="日本の東京は都です 🌿 ดีมาก")
    with app.app_context(), write():
        project = lock_project(project_id)
        add_tag(project, [zoe], "Press", "me")


def test_the_index_follows_every_change(app, project_id):
    kept, gone = (add_testimonial(app, project_id, author_name=name) for name in ("Kept", "Gone"))
    with app.app_context():
        for words in ("first words", "second words", "東京"):
            lock_for_writing()
            db.session.execute(
                update(models.Testimonial).where(models.Testimonial.id == kept).values(text=words)
            )
            db.session.commit()
            assert find(project_id, words) == "Kept"
        assert find(project_id, "words") == ""
        lock_for_writing()
        db.session.execute(delete(models.Testimonial).where(models.Testimonial.id == gone))
        db.session.commit()
        assert find(project_id, "gone") == ""
        index_new()
        assert count_indexed() in (None, 1)
        # A project takes its words along.
        db.session.rollback()
        lock_for_writing()
        db.session.execute(delete(Project))
        db.session.commit()
        assert count_indexed() in (None, 0)


def test_the_index_is_in_step_whenever_it_is_filled(app, project_id):
    choose = random.Random(19)
    ids: list[str] = []
    with app.app_context():
        for number in range(120):
            deed = choose.choice(("add", "add", "change", "remove", "index"))
            if deed == "add":
                ids.append(add_testimonial(app, project_id, author_name=f"No {number}"))
            elif deed == "index":
                index_new()
            elif ids:
                row = models.Testimonial.id == choose.choice(ids)
                with write():
                    db.session.execute(
                        update(models.Testimonial).where(row).values(text=f"東京 {number}")
                        if deed == "change"
                        else delete(models.Testimonial).where(row)
                    )
            assert find_wrong_words(db.session.connection()) == []
            db.session.rollback()
        index_new()
        rows = db.session.scalars(select(models.Testimonial)).all()
        assert count_indexed() in (None, len(rows))
        assert len({*find(project_id, "No").split()} - {"No"}) == len(rows)


def test_the_best_come_first(app, project_id):
    for name, values in (
        ("Rosetta", {}), ("Rosé", {}), ("Firm", {"author_company": "Rose & Sons"}),
        ("Older", {"text": "A rose."}), ("Newer", {"text": "Roses and a rose"}),
        ("Begun", {"text": "Roses"}), ("Asked", {"answers": [ANSWERS[0] | {"answer": "rose"}]}),
    ):  # fmt: skip
        add_testimonial(app, project_id, author_name=name, **values)
    all_seven = "Rosé Rosetta Firm Newer Older Asked Begun"
    with app.app_context():
        for words, found in (("rose", all_seven), ("rose sons", "Firm")):
            rows = list_inbox(project_id, InboxFilter(tab="all", q=words), 1, {})[0]
            assert " ".join(row.author_name for row in rows) == found


def test_the_newest_of_many(app, project_id, monkeypatch):
    monkeypatch.setattr(search, "MOST", 5)
    for number in range(12):
        status = "pending" if number in (0, 11) else "approved"
        name = f"{number:02}"
        add_testimonial(app, project_id, author_name=name, status=status, text="Such service")
    with app.app_context():
        index_new()
        found = find_words(project_id, InboxFilter("all", q="service"))
        assert not found.is_all
        names = find(project_id, "service").split()
        assert {"07", "08", "09", "10", "11"} <= set(names)
        assert len(names) <= 10
        # What a filter leaves is looked through, however many others have the words.
        assert find(project_id, "service", "pending") == find(project_id, "s", "pending") == "00 11"
        # A long list with many of them isn't read any further.
        monkeypatch.setattr(search, "ENOUGH", 5)
        assert len(find(project_id, "service").split()) > 5
        monkeypatch.setattr(search, "LONG", 10)
        assert find(project_id, "service") == "07 08 09 10 11"
        assert find_words(project_id, InboxFilter("all", q="service 03")).is_all
        assert find(project_id, "service 03") == "03"


def test_the_inbox_marks_them(app, owner, monkeypatch):
    inbox = open_inbox(app, owner, slug="salon")
    hostile = "A quick <b>thing</b>, quíck"
    for _ in range(2):
        add_testimonial(app, inbox.project, status="approved", author_name="Quickley", text=hostile)
    page = inbox.client.get(f"{inbox.base}/inbox?status=all&q=quick").text
    mark = '<mark class="found">{}</mark>'.format
    assert f"{mark('Quick')}ley</bdi>" in page
    assert f"A {mark('quick')} &lt;b&gt;thing&lt;/b&gt;, {mark('quíck')}</p>" in page
    assert "Add a word" not in page
    monkeypatch.setattr(search, "MOST", 1)
    assert "Add a word" in inbox.client.get(f"{inbox.base}/inbox?status=all&q=quick").text
    plain = inbox.client.get(f"{inbox.base}/inbox?status=all").text
    assert "<mark" not in plain


def explain_search(project_id: str, words: str) -> list[tuple[str, str]]:
    made = []

    def note(*arguments: Any) -> None:
        made.append((arguments[2], arguments[3]))

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        find_words(project_id, InboxFilter("all", q=words))
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN " if db.engine.dialect.name == "sqlite" else "EXPLAIN "
    plans = []
    with db.engine.connect() as connection:
        if db.engine.dialect.name == "postgresql":
            # Of few rows it would read all.
            connection.exec_driver_sql("SET enable_seqscan = off")
        for statement, parameters in made:
            if statement.startswith(("SELECT", "WITH")):
                rows = connection.exec_driver_sql(explain + statement, parameters)
                plans.append((statement, "\n".join(str(row[-1]) for row in rows)))
    return plans


def test_db_check_knows_when_it_is_in_step(app, project_id, backend):
    fill(app, project_id)
    with app.app_context():
        index_new()
    check = ["db", "check"]
    run = app.test_cli_runner().invoke
    assert run(args=check).exit_code == 0
    damages = ["DROP INDEX testimonial_search"]
    if backend == "sqlite":
        damages = [
            "DELETE FROM testimonial_search_row WHERE number = 1",
            "INSERT INTO testimonial_search (rowid, project, words) VALUES (1, 'x', 'quick')",
        ]
    for damage in damages:
        with app.app_context(), write():
            db.session.execute(text(damage))
        wrong = run(args=check)
        assert wrong.exit_code == 1
        assert "index of words" in wrong.output
        assert run(args=[*check, "--repair"]).exit_code == 0
        assert run(args=check).exit_code == 0
        with app.app_context():
            assert find(project_id, "quick") == "Zoë"
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            lock_for_writing()
            db.session.execute(text("DELETE FROM testimonial_search_row"))
            db.session.commit()
            assert find(project_id, "quick") == ""
    for _ in range(2):
        done = app.test_cli_runner().invoke(args=["db", "reindex"])
        assert done.output == "The index of words was rebuilt.\n"
        with app.app_context():
            assert [find(project_id, each) for each in ("quick", "東京")] == ["Zoë", "Tokyo"]


def count_indexed() -> int | None:
    if db.engine.dialect.name != "sqlite":
        return None
    (number,) = db.session.execute(text("SELECT count(*) FROM testimonial_search_row")).one()
    (found,) = db.session.execute(text("SELECT count(*) FROM testimonial_search_docsize")).one()
    assert number == found
    return int(number)
