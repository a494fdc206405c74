"""Importing a file in the dashboard: a preview that writes nothing, and the import itself."""

import base64
import json
import re
import zlib
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.dashboard.transfer import import_pages
from testimonials.transfer.tables import importing
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.support.rows import add_member, add_testimonial, read_testimonials

LINES = {"Accept": "application/x-ndjson"}
TABLE = (
    "Name,Quote,Stars,Date,Job title\n"
    'Maya Kowalski,"It works.\nTruly.",5,2024-03-12,CTO\n'
    "Li,Good,9,,\n"
    "Noor,From the page,,,\n"
)


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    """A signed-in owner with a project that has one testimonial."""
    found = open_inbox(app, owner, slug="fern")
    add_testimonial(app, found.project, author_name="Noor", text="From the page")
    return found


def preview(inbox: Inbox, content: str | bytes, **values: str) -> TestResponse:
    """Choose a file and look at what would happen."""
    raw = content.encode() if isinstance(content, str) else content
    fields = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in values.items()
    )
    head = '--x\r\nContent-Disposition: form-data; name="file"; filename="reviews.csv"\r\n\r\n'
    body = (fields + head).encode() + raw + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    return inbox.client.post(f"{inbox.base}/import/preview", data=body, content_type=kind)


def read_form(page: str) -> dict[str, str]:
    """Return what the page's form would send."""
    form = page[page.index('id="import"') :]
    found = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    for name, inner in re.findall(r'<select[^>]* name="(\w+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', inner)
        found[name] = chosen[1] if chosen else ""
    return {name: unescape(value) for name, value in found.items()}


def text_of(answer: TestResponse) -> str:
    """Return what a person reads on a page."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", answer.text)).split())


def test_settings_and_inbox_lead_to_it(inbox: Inbox) -> None:
    for page in ("settings", "inbox"):
        assert f'href="{inbox.base}/import"' in inbox.get(page).text
    assert "Import testimonials" in inbox.get("import").text


def test_a_preview_tells_what_would_happen_and_writes_nothing(app: Flask, inbox: Inbox) -> None:
    answer = preview(inbox, TABLE)
    assert answer.status_code == 200
    text = text_of(answer)
    assert "Import 1 testimonial?" in text
    assert "reviews.csv" in text
    assert "New 1 Already here 1 Refused 1" in text
    assert "Line 4 Li Good Rating: Must be a number from 1 to 5, or empty for none." in text
    assert "Line 5 Noor From the page The project already has it." in text
    assert "Maya Kowalski CTO" in text
    chosen = read_form(answer.text)
    assert (chosen["map_text"], chosen["map_authorName"], chosen["map_tags"]) == ("1", "0", "")
    assert len(read_testimonials(app, inbox.project)) == 1


def test_the_import_does_what_the_preview_said(app: Flask, inbox: Inbox) -> None:
    form = read_form(preview(inbox, TABLE).text)
    answer = inbox.client.post(f"{inbox.base}/import", data=form)
    assert answer.status_code == 303
    page = inbox.client.get(answer.headers["Location"]).text
    assert "Imported one testimonial" in page
    assert "Maya Kowalski" in page
    rows = {row.author_name: row for row in read_testimonials(app, inbox.project)}
    assert rows.keys() == {"Maya Kowalski", "Noor"}
    assert rows["Maya Kowalski"].text == "It works.\nTruly."
    # Pressed twice, or gone back to: all of it is here now.
    again = inbox.client.post(f"{inbox.base}/import", data=form)
    assert again.status_code == 422
    assert "Nothing to import" in again.text
    assert len(read_testimonials(app, inbox.project)) == 2


def test_columns_and_status_can_be_changed(app: Flask, inbox: Inbox) -> None:
    page = preview(inbox, "Wer,Was,Wann\nMia,Gut,03/04/2024\n")
    assert page.status_code == 422
    assert "Which column has the text?" in page.text
    assert "Which column has the name?" in page.text
    form = read_form(page.text) | {"map_text": "1", "map_authorName": "0", "map_submittedAt": "2"}
    asked = inbox.client.post(f"{inbox.base}/import/preview", data=form)
    assert asked.status_code == 422
    assert "Choose whether dates such as 03/04/2026" in asked.text
    # The question can't be gone around.
    assert inbox.client.post(f"{inbox.base}/import", data=form).status_code == 422
    form = read_form(asked.text) | {"dates": "dmy", "status": "pending"}
    answered = inbox.client.post(f"{inbox.base}/import/preview", data=form)
    assert answered.status_code == 200
    assert "3 Apr 2024" in answered.text
    done = inbox.client.post(f"{inbox.base}/import", data=read_form(answered.text))
    assert done.status_code == 303
    row = next(row for row in read_testimonials(app, inbox.project) if row.source == "import")
    assert (row.status, row.submitted_at.date().isoformat()) == ("pending", "2024-04-03")


def test_what_no_preview_has_shown_is_shown_first(app: Flask, inbox: Inbox) -> None:
    form = read_form(preview(inbox, TABLE).text) | {"map_rating": ""}
    answer = inbox.client.post(f"{inbox.base}/import", data=form)
    assert answer.status_code == 422
    assert "Import 2 testimonials?" in answer.text
    assert len(read_testimonials(app, inbox.project)) == 1
    assert inbox.client.post(f"{inbox.base}/import", data=read_form(answer.text)).status_code == 303


def test_a_script_hears_how_far_it_is(
    app: Flask, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_ROWS", 2)
    form = read_form(
        preview(inbox, "Name,Review\n" + "".join(f"P{n},W{n}\n" for n in range(5))).text
    )
    answer = inbox.client.post(f"{inbox.base}/import", data=form, headers=LINES)
    steps = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.mimetype == "application/x-ndjson"
    assert [step.get("done") for step in steps] == [2, 4, 5, None]
    assert steps[0]["total"] == 5
    assert "Imported 5 testimonials" in inbox.client.get(steps[-1]["url"]).text
    assert len(read_testimonials(app, inbox.project)) == 6


def test_who_loses_the_role_meanwhile_imports_no_more(
    app: Flask, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_ROWS", 1)
    form = read_form(preview(inbox, "Name,Review\nA,One\nB,Two\n").text)
    answer = inbox.client.post(f"{inbox.base}/import", data=form, headers=LINES, buffered=False)
    lines = iter(answer.response)
    first = json.loads(next(lines))
    inbox.client.post(f"{inbox.base}/delete", data={"confirm": "fern"})
    last = json.loads(list(lines)[-1])
    assert first == {"done": 1, "total": 2}
    assert "Imported one testimonial." in last["message"]
    assert len(read_testimonials(app, inbox.project)) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "The file is empty."),
        (b"Name,Review\n" + b"A,b\n" * 5_001, "more than 5,000 lines"),
        (b"Name,Review\n" + b"\n" * 600_000, "too many empty rows"),
        (b"x" * (5 * 1024 * 1024 + 1), "larger than 5 MB"),
        (b"x" * (11 * 1024 * 1024), "larger than 5 MB"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused_with_the_reason(
    inbox: Inbox, content: bytes, reason: str
) -> None:
    answer = preview(inbox, content)
    assert answer.status_code == 422
    assert reason in text_of(answer)


def test_an_account_imports_so_often_an_hour(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = replace(import_pages.IMPORTS_PER_ACCOUNT, per_hour=2)
    monkeypatch.setattr(import_pages, "IMPORTS_PER_ACCOUNT", limit)
    statuses = [preview(inbox, TABLE).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert inbox.client.post(f"{inbox.base}/import").status_code == 429


def test_a_form_without_a_file_asks_for_one(inbox: Inbox) -> None:
    for data in ({}, {"packed": "nothing"}, {"packed": "eJw="}):
        answer = inbox.client.post(f"{inbox.base}/import/preview", data=data)
        assert answer.status_code == 422
        assert "Choose a file." in answer.text


def test_a_packed_file_is_not_unpacked_without_end(inbox: Inbox) -> None:
    bomb = base64.b64encode(zlib.compress(bytes(300_000_000), 9)).decode()
    assert len(bomb) < 500_000
    answer = inbox.client.post(f"{inbox.base}/import", data={"packed": bomb})
    assert answer.status_code == 422
    assert "larger than 5 MB" in answer.text


@pytest.mark.parametrize(
    ("codec", "encoding", "reason"),
    [
        ("cp1252", "windows-1252", "The file isn’t in UTF-8."),
        ("utf-16-le", "utf-16", "The file seems to be in UTF-16."),
    ],
)
def test_the_encoding_is_asked_for_where_it_matters(
    app: Flask, inbox: Inbox, codec: str, encoding: str, reason: str
) -> None:
    content = "Name,Review\nZoë,Très bien\n".encode(codec)
    assert "Encoding" not in inbox.get("import").text
    asked = preview(inbox, content)
    assert asked.status_code == 422
    assert reason in asked.text
    assert re.search(f'<option value="{encoding}" selected', asked.text)
    shown = preview(inbox, content, encoding=encoding)
    assert "Très bien" in shown.text
    assert inbox.client.post(f"{inbox.base}/import", data=read_form(shown.text)).status_code == 303
    assert any(row.author_name == "Zoë" for row in read_testimonials(app, inbox.project))


def test_what_stands_in_a_file_is_text(inbox: Inbox) -> None:
    table = 'Name,"Review<b>",<script>\n<i>A</i>,"<img src=x onerror=alert(1)>",<b>\n'
    page = preview(inbox, table, status="pending").text
    for harmful in ("<img src=x", "<script>\n", "<i>A</i>", "Review<b>"):
        assert harmful not in page


def test_first_and_last_names_are_chosen_together(app: Flask, inbox: Inbox) -> None:
    shown = preview(inbox, "First name,Last name,Review\nZoë,Ng,Fine\n")
    assert "First name + Last name" in shown.text
    inbox.client.post(f"{inbox.base}/import", data=read_form(shown.text))
    assert any(row.author_name == "Zoë Ng" for row in read_testimonials(app, inbox.project))


def test_an_admin_may_and_a_moderator_may_not(
    app: Flask, inbox: Inbox, outsider: Caller, make_caller: Any
) -> None:
    moderator = make_caller("moderator@example.com", is_claimed=True)
    add_member(app, inbox.project, outsider, "admin")
    add_member(app, inbox.project, moderator, "moderator")
    for caller, status in ((outsider, 200), (moderator, 403)):
        other = Inbox(app, caller, open_inbox(app, caller).client, inbox.project)
        assert preview(other, TABLE).status_code == status
    assert f"{inbox.base}/import" not in other.get("inbox").text
