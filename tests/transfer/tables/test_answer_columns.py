"""Answers to the owner's questions as columns of a table, there and back."""

import csv
import io
from pathlib import Path

from flask import Flask

from tests.conftest import Caller
from tests.support.rows import add_testimonial, read_testimonials
from tests.transfer.archives.projects import run_well

ANSWERS = (
    {"id": "takehome", "question": "=What?", "kind": "choice", "answer": ["Bread, rye", "Buns"]},
    {"id": "comeback", "question": "How likely?", "kind": "scale", "answer": 0},
    {"id": "whatbake", "question": "What did you bake?", "kind": "text", "answer": "=Rye\nTwice"},
    {"id": "printbag", "question": "You may print it (q_, too)", "kind": "consent", "answer": True},
)


def test_answers_come_back_from_our_own_table(app: Flask, owner: Caller, tmp_path: Path) -> None:
    first = owner.create_project(slug="first", skipDemoTestimonials=True)["_id"]
    second = owner.create_project(slug="second", skipDemoTestimonials=True)["_id"]
    public = [each | {"isPublic": True} for each in ANSWERS]
    private = [each | {"isPublic": False} for each in ANSWERS]
    for number, answers in enumerate((public, private, private[:1], None)):
        said = {"text": f"Words {number}", "answers": answers, "form_name": "after-class"}
        add_testimonial(app, first, **said)
    path = tmp_path / "first.csv"
    run_well(app, "projects", "export", "first", str(path), "--csv")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    assert rows[0]["How likely? (q_comeback, scale, public)"] == "0"
    assert rows[1]["'=What? (q_takehome, choice)"] == "Bread, rye\nBuns"
    assert rows[2]["How likely? (q_comeback, scale)"] == ""
    run_well(app, "testimonials", "import", "second", str(path))
    kept = [(row.text, row.answers, row.form_name) for row in read_testimonials(app, first)]
    assert [
        (row.text, row.answers, row.form_name) for row in read_testimonials(app, second)
    ] == kept


def test_an_answer_that_cannot_be_is_refused_with_its_line(
    app: Flask, owner: Caller, tmp_path: Path
) -> None:
    owner.create_project(slug="first", skipDemoTestimonials=True)
    path = tmp_path / "ours.csv"
    for heading, cell, said in (
        ("How likely? (q_comeback, scale)", "11", "How likely?: Must be a whole number from 0"),
        ("What? (q_takehome, choice)", "x" * 61, "What?: Must be at most 60 characters"),
        ("May we? (q_printbag, consent)", "no", "May we?: Must be equal to"),
    ):
        path.write_text(f'name,text,"{heading}"\nNoor,Lovely,{cell}\n', encoding="utf-8")
        args = ["testimonials", "import", "first", str(path), "--json"]
        result = app.test_cli_runner().invoke(args=args)
        assert (result.exit_code, said in result.output) == (1, True), result.output
