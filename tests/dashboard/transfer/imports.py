"""What the tests of imports share: choosing a file, looking, starting, and the background."""

import re
from html import unescape

from flask import Flask
from werkzeug.test import TestResponse

from testimonials.core.jobs import run_due
from tests.dashboard.inbox.inbox import Inbox

TABLE = (
    "Name,Quote,Stars,Date,Job title\n"
    'Maya Kowalski,"It works.\nTruly.",5,2024-03-12,CTO\n'
    "Li,Good,9,,\n"
    "Noor,From the page,,,\n"
)


def upload(inbox: Inbox, content: str | bytes, **values: str) -> TestResponse:
    """Choose a file, and how it is read; return the page that comes."""
    raw = content.encode() if isinstance(content, str) else content
    head = '--x\r\nContent-Disposition: form-data; name="file"; filename="reviews.csv"\r\n\r\n'
    # By hand: the client would keep large files open.
    body = head.encode() + raw + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    path = f"{inbox.base}/import"
    page = inbox.client.post(path, data=body, content_type=kind, follow_redirects=True)
    return change(inbox, page, **values) if values else page


def change(inbox: Inbox, page: TestResponse, **values: str) -> TestResponse:
    """Send a preview's form with other values; return the page that comes."""
    data = read_form(page, "columns") | values
    return inbox.client.post(page.request.path, data=data, follow_redirects=True)


def start(inbox: Inbox, page: TestResponse) -> TestResponse:
    """Press a preview's button; return the page that comes."""
    data = read_form(page, "start")
    return inbox.client.post(f"{page.request.path}/start", data=data, follow_redirects=True)


def work(app: Flask) -> None:
    """Do what the background thread does."""
    with app.app_context():
        run_due("imports")


def import_all(app: Flask, inbox: Inbox, content: str | bytes, **values: str) -> TestResponse:
    page = start(inbox, upload(inbox, content, **values))
    work(app)
    return inbox.client.get(page.request.path)


def read_form(page: TestResponse, name: str) -> dict[str, str]:
    """Return what one of the page's forms would send."""
    found = re.search(rf'<form[^>]* id="{name}".*?</form>', page.text, re.S)
    assert found, page.text
    form = found[0]
    values = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    for field, inner in re.findall(r'<select[^>]* name="(\w+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', inner)
        values[field] = chosen[1] if chosen else ""
    checked = re.findall(r'type="checkbox"[^>]* name="(\w+)" value="([^"]*)" checked', form)
    return {field: unescape(value) for field, value in (values | dict(checked)).items()}


def text_of(answer: TestResponse) -> str:
    """Return what a person reads on a page."""
    return " ".join(unescape(re.sub("<[^>]+>", " ", answer.text)).split())
