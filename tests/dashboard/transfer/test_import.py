"""Choosing a file in the dashboard, and the preview, which writes nothing."""

import re
from dataclasses import replace

import pytest
from flask import Flask

from testimonials.dashboard import imports
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.dashboard.transfer.imports import (
    TABLE,
    change,
    import_all,
    read_form,
    start,
    text_of,
    upload,
    work,
)
from tests.support.rows import add_testimonial, read_testimonials


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    """A signed-in owner with a project that has one testimonial."""
    found = open_inbox(app, owner, slug="fern")
    add_testimonial(app, found.project, author_name="Noor", text="From the page")
    return found


def test_a_preview_tells_what_would_happen_and_writes_nothing(app, inbox):
    page = upload(inbox, TABLE)
    text = text_of(page)
    assert "Import 1 testimonial?" in text
    assert "reviews.csv" in text
    assert "New 1 Already here 1 Refused 1" in text
    assert "Line 4 Li Good Rating: Must be a number from 1 to 5, or empty for none." in text
    assert "Line 5 Noor From the page The project already has it." in text
    assert "Maya Kowalski CTO" in text
    chosen = read_form(page, "columns")
    assert (chosen["map_text"], chosen["map_authorName"], chosen["map_tags"]) == ("1", "0", "")
    work(app)
    assert len(read_testimonials(app, inbox.project)) == 1


def test_the_question_and_the_reasons_are_in_the_owners_language(inbox):
    inbox.client.post("/dashboard/account/language", data={"language": "de"})
    asked = upload(inbox, "name,text,date\nMia,Gut,03/04/2024\nMia,Gut,\n")
    assert "Welcher Tag ist 03/04/2024? 3. April 2024" in text_of(asked)
    assert "Zeile 2 hat es auch." in text_of(change(inbox, asked, dates="dmy"))


def test_day_or_month_is_asked_once_and_columns_can_be_chosen(app, inbox):
    page = upload(inbox, "Wer,Was,Wann\nMia,Gut,03/04/2024\nBo,Fein,05/06/2024\n")
    assert "Which column has the text?" in page.text
    assert "Which column has the name?" in page.text
    asked = change(inbox, page, map_text="1", map_authorName="0", map_submittedAt="2")
    assert "Which day is 03/04/2024? 3 April 2024 4 March 2024" in text_of(asked)
    # The question can't be gone around.
    assert 'id="start"' not in asked.text
    inbox.client.post(f"{asked.request.path}/start", data={"token": "x"})
    answered = change(inbox, asked, dates="dmy", status="pending")
    assert "3 Apr 2024" in answered.text
    start(inbox, answered)
    work(app)
    rows = {row.author_name: row for row in read_testimonials(app, inbox.project)}
    assert (rows["Mia"].status, rows["Mia"].submitted_at.date().isoformat()) == (
        "pending",
        "2024-04-03",
    )


def test_only_what_a_preview_has_shown_is_started(app, inbox):
    page = upload(inbox, TABLE)
    changed = change(inbox, page, map_rating="")
    assert "Import 2 testimonials?" in changed.text
    # Another tab still shows the first.
    start(inbox, page)
    work(app)
    assert len(read_testimonials(app, inbox.project)) == 1
    start(inbox, changed)
    work(app)
    assert len(read_testimonials(app, inbox.project)) == 3


def test_lines_that_would_be_lost_can_be_mended(app, inbox):
    long = "It works. " * 250
    table = f"Name,Review,Stars,Photo\nMaya,{long},5,\nLi,Good,9,ftp://x\nAda,{long},0,\n"
    page = upload(inbox, table)
    text = text_of(page)
    assert "New 0 Already here 0 Refused 3" in text
    assert "Shorten what is too long (2)" in text
    assert "Leave out what can’t be used (2)" in text
    data = read_form(page, "columns") | {"repairs": ["shorten", "leave-out"]}
    mended = inbox.client.post(page.request.path, data=data, follow_redirects=True)
    assert "New 3 Already here 0 Refused 0" in text_of(mended)
    start(inbox, mended)
    work(app)
    rows = {row.author_name: row for row in read_testimonials(app, inbox.project)}
    maya, li = rows["Maya"], rows["Li"]
    assert maya.text.endswith("It works. …")
    assert len(maya.text) <= 2000
    assert maya.original_text == long.strip()
    assert (li.rating, li.author_avatar, li.original_text) == (None, None, None)
    # Whole or shortened, it is the same testimonial.
    assert "Already here 3 Refused 0" in text_of(upload(inbox, table))


def test_lines_are_pasted_from_a_table(app, inbox):
    lines = "Name\tQuote\r\nMaya\tIt works.\r\n"
    path = f"{inbox.base}/import"
    page = inbox.client.post(path, data={"lines": lines}, follow_redirects=True)
    assert "Pasted lines" in text_of(page)
    start(inbox, page)
    work(app)
    assert {row.author_name for row in read_testimonials(app, inbox.project)} == {"Maya", "Noor"}


UNUSABLE = (
    (b"", "The file is empty."),
    (b"Name,Review\n" + b"A,b\n" * 20_001, "more than 20,000 lines"),
    (b"Name,Review\n" + b"\n" * 600_000, "too many empty rows"),
    (b"Name,Review" + b",x" * 1_000 + b"\nA,b", "more than 200 columns"),
    (b"x" * (12 * 1024 * 1024 + 1), "larger than 12 MB"),
    (b"x" * (13 * 1024 * 1024), "larger than 12 MB"),
    (b"PK\x03\x04xl/", "Save a spreadsheet as CSV."),
)


def test_a_file_that_can_not_be_used_is_refused_with_the_reason(inbox):
    for content, reason in UNUSABLE:
        answer = upload(inbox, content)
        assert answer.status_code == 422
        assert reason in text_of(answer)
    answer = inbox.client.post(f"{inbox.base}/import", data={})
    assert (answer.status_code, "Choose a file." in answer.text) == (422, True)
    assert ">History<" not in inbox.get("import").text


def test_an_account_imports_so_often_an_hour(inbox, monkeypatch):
    limit = replace(imports.IMPORTS_PER_ACCOUNT, per_hour=4)
    monkeypatch.setattr(imports, "IMPORTS_PER_ACCOUNT", limit)
    # Each is uploaded and shown.
    assert [upload(inbox, TABLE).status_code for _ in range(3)] == [200, 200, 429]


def test_few_files_wait_and_each_for_a_day(app, inbox, moved_clock):
    paths = []
    for number in range(7):
        moved_clock.move(seconds=1)
        paths.append(upload(inbox, f"Name,Review\nA,{number}\n").request.path)
    statuses = [inbox.client.get(path).status_code for path in paths]
    assert statuses == [404, 404, 200, 200, 200, 200, 200]
    moved_clock.move(days=1)
    assert app.test_cli_runner().invoke(args=["prune"]).exit_code == 0
    assert "/login" in inbox.client.get(paths[-1]).headers.get("Location", "/login")


def test_an_encoding_is_recognised_or_chosen_and_names_are_one(app, inbox):
    for codec, encoding, name in (
        ("cp1252", "windows-1252", "Zoë"), ("utf-16-le", "utf-16", "Zoé"),
        ("shift_jis", "shift-jis", "さくらコーヒー"), ("cp1250", "windows-1250", "Zażółć"),
    ):  # fmt: skip
        shown = upload(inbox, f"Name,Review\n{name},Fine {codec}\n".encode(codec))
        assert "The file isn’t UTF-8" in shown.text
        if codec == "cp1250":
            shown = change(inbox, shown, encoding=encoding)
        assert re.search(f'<option value="{encoding}" selected', shown.text)
        start(inbox, shown)
        work(app)
        assert any(row.author_name == name for row in read_testimonials(app, inbox.project))
    table = "First name,Last name,Review\nZoë,Ng,Fine\n"
    assert "First name + Last name" in upload(inbox, table).text
    import_all(app, inbox, table)
    assert any(row.author_name == "Zoë Ng" for row in read_testimonials(app, inbox.project))


def test_what_stands_in_a_file_is_text(inbox):
    table = 'Name,"Review<b>",<script>\n<i>A</i>,"1 < 2 <img src=x onerror=alert(1)>",<b>\n'
    page = upload(inbox, table, status="pending").text
    for harmful in ("<img src=x", "<script>\n", "<i>A</i>", "Review<b>"):
        assert harmful not in page
