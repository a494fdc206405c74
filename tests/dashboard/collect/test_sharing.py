"""Sharing the page: its link, QR code, table card, and the message to customers."""

import html
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
import segno
from flask import Flask
from werkzeug.test import TestResponse

from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.support.applications import change_settings

LINK = "https://testimonials.example.com/fern"


@pytest.fixture
def has_mail(app: Flask) -> None:
    change_settings(app, smtp_url="smtp://127.0.0.1:9")


def save(inbox: Inbox, message: str, **options: object) -> TestResponse:
    data = {"message": message}
    return inbox.client.post(f"{inbox.base}/collect/message", data=data, **options)  # type: ignore[arg-type]


def message_on(page: str) -> str:
    found = re.search(r'<textarea[^>]*name="message"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    return html.unescape(found[1])


def mail_on(page: str) -> dict[str, str]:
    parts = urlsplit(html.unescape(re.search(r'href="(mailto:[^"]+)"', page)[1]))
    assert parts.path == ""
    return {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}


def test_the_codes_and_the_card_to_print_have_the_address(inbox):
    expected = segno.make_qr(LINK, error="m", boost_error=False)
    for kind, content_type, scale in (("svg", "image/svg+xml", 10), ("png", "image/png", 25)):
        answer = inbox.get(f"collect/qr.{kind}")
        assert answer.headers["Content-Type"] == content_type
        assert answer.headers["Content-Disposition"] == f'attachment; filename="fern-qr.{kind}"'
        file = io.BytesIO()
        expected.save(file, kind=kind, scale=scale, border=4, dark="#000000", light="#FFFFFF")
        assert answer.data == file.getvalue()
    assert expected.designator.endswith("-M")
    page = inbox.get("collect/card").text
    assert "How was your experience with Fern &amp; Fable?" in page
    assert "<svg" in page
    assert "testimonials.example.com/fern</p>" in page


def test_a_form_has_a_code_and_a_card_of_its_own(inbox):
    inbox.client.post(f"{inbox.base}/collect/page/name", data={"title": "Class"})
    sheet = inbox.get("collect/code?form=class").text
    assert f"{LINK}/f/class</span>" in sheet
    name = inbox.get("collect/qr.png?form=class").headers["Content-Disposition"]
    assert name == 'attachment; filename="fern-class-qr.png"'
    assert "testimonials.example.com/fern/f/class</p>" in inbox.get("collect/card?form=class").text


def test_the_page_has_its_link_and_what_came_of_it(inbox):
    page = inbox.get("collect").text
    assert "testimonials.example.com/fern</span>" in page
    assert "Not opened in 30 days" in page
    assert "Nobody was asked yet" in page


@pytest.mark.usefixtures("has_mail")
def test_without_a_name_of_the_business_the_words_say_us(app, owner):
    inbox = open_inbox(app, owner, slug="project-4f2a9c")
    asked = inbox.get("collect").text
    assert "thank you for choosing us." in asked
    assert 'value="Would you write a few words?"' in asked
    shared = message_on(inbox.get("collect/message").text)
    assert shared.startswith("Hi! Thank you for choosing us.")


@pytest.mark.usefixtures("has_mail")
def test_the_mail_is_pictured_with_its_stars_and_the_time_it_goes_out(inbox):
    page = inbox.get("collect").text
    assert ">Tap a star</p>" in re.sub(r"<span>★+</span>", "", page)
    # Without a script too.
    assert ">Now, and one reminder after 5 days</span>" in page
    sent = {"ask-rating": "false"}
    inbox.client.post(f"{inbox.base}/collect/page", data=sent, headers=JSON)
    assert "Tap a star" not in inbox.get("collect").text


def test_a_message_follows_the_address(inbox):
    old = message_on(inbox.get("collect/message").text)
    inbox.client.post(f"{inbox.base}/settings/address", data={"slug": "new"})
    assert message_on(inbox.get("collect/message").text) == old.replace("/fern", "/new")
    here = "https://testimonials.example.com/new"
    save(inbox, f"Mine: {here}, not {here}er or {here}/thanks")
    inbox.client.post(f"{inbox.base}/settings/address", data={"slug": "newer-still"})
    followed = f"Mine: {here}er-still, not {here}er or {here}/thanks"
    assert message_on(inbox.get("collect/message").text) == followed


def test_a_message_is_kept_as_typed_until_it_is_reset_and_has_its_limits(inbox):
    suggested = message_on(inbox.get("collect/message").text)
    german = inbox.client.get(
        f"{inbox.base}/collect/message", headers={"Accept-Language": "de"}
    ).text
    assert message_on(german).startswith("Hallo! Danke")
    text = "Hóla!\n</textarea><b>& two\n\nlines 100%"
    assert save(inbox, text.replace("\n", "\r\n")).status_code == 303
    page = inbox.get("collect/message").text
    assert message_on(page) == text
    assert "<b>" not in page
    mail = mail_on(page)
    assert mail["body"] == text.replace("\n", "\r\n")
    assert "Fern & Fable" in mail["subject"]
    assert save(inbox, "Mine", headers=JSON).get_json()["message"] == "Saved"
    assert message_on(inbox.get("collect/message").text) == "Mine"
    save(inbox, "  ")
    assert message_on(inbox.get("collect/message").text) == suggested
    assert save(inbox, "ä" * 2000).status_code == 303
    for text, said in (
        ("ä" * 2001, "Shorten this to 2000 characters; it has 2001."),
        ("a\x00b", "Remove the control characters"),
    ):
        answer = save(inbox, text)
        assert answer.status_code == 422
        assert said in answer.text
        assert save(inbox, text, headers=JSON).status_code == 422
    assert message_on(inbox.get("collect/message").text) == "ä" * 2000
