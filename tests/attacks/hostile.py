"""What people could write to break out of where their words are shown, and what must hold there."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from flask import Flask
from flask.testing import FlaskClient
from marshmallow import fields
from selectolax.lexbor import LexborHTMLParser

from testimonials.core.http.fields import Choice, Color
from testimonials.core.http.openapi import operations
from testimonials.widget.sightings import write_sightings
from tests.attacks.forms import FREE, Field, Form, read_forms
from tests.attacks.world import SLUG, World
from tests.auth.links import ORIGIN
from tests.support.servers import Received

# It is in each text, and nowhere else.
MARK = "zqx"
TEXTS = {
    "markup": "\"'><zqx-e onzqx=1></textarea></title></script><script>zqx()</script><!--{{7*7}}zqx",
    "code words": "=?utf-8?q?=0D=0ABcc:zqx@evil.example=0D=0A=0D=0A?= %(zqx)s %s {0.__class__} 👩‍",
    "formula": '=HYPERLINK("http://zqx.example")', "wide formula": "＝1+1zqx\u202egnp.exe\u2067",
    "lines": "zqx\r\nBcc: zqx@evil.example\r\n\r\n2026-01-01T00:00:00.000Z error forged",
    "separators": "zqx\u2028x\u0085x\u009b31m\ufeff\ufffe\u202ex",
    "script address": "javascript:zqx()//",
    "address": "https://zqx.example/?a=1&b='-zqx()-'#%0d%0aBcc:zqx",
    "mail address": "=1+1'{{7*7}}zqx@example.com", "refused": "zqx\0\x1b[31m\ud800",
}  # fmt: skip
URLS = {"action", "data", "formaction", "href", "poster", "src"}
SAFE_URL = re.compile(r"https?://|/(?!/)|[?#]|mailto:")
FORMULA = tuple("=+-@\t\r＝＋－＠")
HEADERS = {
    "Auto-Submitted", "Content-Type", "Date", "From", "List-Unsubscribe", "List-Unsubscribe-Post",
    "MIME-Version", "Message-ID", "Reply-To", "Subject", "To",
}  # fmt: skip
# In one of these a change of direction ends where the words end.
ISOLATING = {"bdi", "textarea", "title", "option"}
STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
LANGUAGE = re.compile(r"[\u202a-\u202e\u2066-\u2069]")


def write_everywhere(app: Flask, world: World, text: str) -> int:
    """Send a text in each string of each door in turn; return how many were taken."""
    owner = world.open(app, "owner")
    _send_in_heads(app, world, text)
    taken = sum(_call_api(app, owner, world, text))
    is_public = {form: not form.path.startswith("/dashboard") for form in world.forms}
    for form in sorted(world.forms, key=lambda form: not is_public[form]):
        for each in form.fields:
            if each.kind in FREE - {"hidden"}:
                taken += _send(owner, form, each, text)
    return taken


def write_all_at_once(app: Flask, world: World, form: Form, text: str) -> None:
    """Send a form with a text in all that a program could put there, hidden fields and choices."""
    body = {each.name: [text] for each in form.fields}
    if body:
        _check_answer(_submit(world.open(app, "owner"), form, body), form)


def _send_in_heads(app: Flask, world: World, text: str) -> None:
    """Send a text as what programs say of themselves, and as an address."""
    # A server ends a header at a line break; what is left of the text is bytes.
    line = "".join(text.encode("utf-8", "replace").decode("latin-1").split("\0")[0].split())
    path = f"/widget/{world.ids['project_id']}/feed"
    for name in ("Origin", "User-Agent", "Accept-Language", "Referer", "Cookie", "Accept", "Host"):
        for value in (line, f"https://{line}.example"):
            answer = world.open(app, "nobody").get(path, headers={name: value})
            assert answer.status_code < 500, (name, value)
            assert MARK not in str(answer.headers), (name, value)
    with app.app_context():
        write_sightings()
    for address in (f"/{quote(line)}", f"/{SLUG}?{quote(line)}=1&lang={quote(line)}"):
        check_page(app.test_client().get(address).text, address)


def _call_api(app: Flask, client: FlaskClient, world: World, text: str) -> Iterator[bool]:
    for rule, operation in operations(app):
        (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
        path = rule.rule.replace("<project_id>", world.ids["project_id"])
        for schema, where in ((operation.body, "json"), (operation.query, "query_string")):
            example = (operation.example or {}) if where == "json" else {}
            for name, field in (schema().fields if schema else {}).items():
                is_free = isinstance(field, fields.String) and not isinstance(field, Choice | Color)
                # No browser or program can write half a character in an address.
                value = text if where == "json" else text.replace("\ud800", "\ufffd")
                body = {where: example | {name: value}}
                answer = client.open(path, method=method, headers=world.keys["owner"], **body)
                assert answer.status_code < 500, (method, path, name)
                assert answer.is_json
                yield is_free and answer.status_code == 200


def _send(client: FlaskClient, form: Form, chosen: Field, text: str) -> bool:
    def write(each: Field) -> str:
        if each == chosen:
            return f"{text} <a@example.com>" if each.name == "people" else text
        # Nobody is asked twice.
        people = f"{chosen.name}@example.com"
        typed = {"author_name": "Maya", "name": "Maya", "people": people, "text": "Words"}
        return typed.get(each.name, "")

    answer = _submit(client, form, form.fill(write))
    _check_answer(answer, form)
    if answer.status_code == 200 and answer.mimetype == "text/html" and form.method == "POST":
        # A preview: the next form of it does what this one showed.
        page = LexborHTMLParser(answer.text)
        for following in read_forms(page, form.path):
            if following.path.startswith("/dashboard/projects/"):
                _check_answer(_submit(client, following, following.fill()), following)
    return answer.status_code in (200, 303)


def _submit(client: FlaskClient, form: Form, body: dict[str, Any]) -> Any:
    if form.method != "POST":
        query = {name: _to_bytes(values) for name, values in body.items()}
        return client.get(form.path, query_string=query)
    # A browser sends whatever is in its memory; what is no text arrives as bytes of none.
    sent = {name: _to_bytes(values) for name, values in body.items()}
    return client.post(form.path, data=sent, buffered=True)


def _to_bytes(values: Any) -> Any:
    if not isinstance(values, list):
        return values
    return [value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for value in values]


def _check_answer(answer: Any, form: Form) -> None:
    assert answer.status_code < 500, (form, answer.text)
    if answer.status_code in range(300, 400):
        target = urljoin(ORIGIN, answer.headers["Location"])
        assert urlsplit(target).netloc in (urlsplit(ORIGIN).netloc, "localhost"), form
    elif answer.mimetype == "text/html":
        check_page(answer.text, form.path)
    answer.close()


def check_page(text: str, where: str) -> None:
    """Check that a page has the words of people as words alone."""
    assert f"{MARK}49" not in text
    assert f"49{MARK}" not in text, where
    for node in LexborHTMLParser(text).css("*"):
        content = node.text(deep=False)
        assert MARK not in (node.tag or ""), (where, node.html)
        for name, value in node.attributes.items():
            assert MARK not in name, (where, node.html)
            if MARK in (value or ""):
                assert not name.startswith("on"), (where, node.html)
                assert name not in ("style", "srcdoc"), (where, node.html)
                assert name not in URLS or SAFE_URL.match(value or ""), (where, node.html)
        if node.tag in ("script", "style") and MARK in node.text():
            assert "json" in (node.attributes.get("type") or ""), (where, node.html)
            json.loads(node.text())
        elif LANGUAGE.search(content):
            # What turns the direction of reading may not turn what is not theirs.
            assert is_isolated(node), (where, node.html)


def is_isolated(node: Any) -> bool:
    """Return whether the words in an element can't turn the direction of what is around them."""
    while node is not None:
        kind = (node.attributes.get("class") or "").split()
        # These are boxes of their own among the words.
        is_box = "visually-hidden" in kind or "button" in kind
        if node.tag in ISOLATING or is_box or "dir" in node.attributes:
            return node.tag not in ("html", "body")
        node = node.parent
    return False


def check_mail(mail: Received) -> None:
    """Check that a mail has our headers, each once, and our two parts."""
    names = [name.title() for name in mail.message]
    assert sorted(set(names)) == sorted(names)
    assert {name.lower() for name in names} <= {name.lower() for name in HEADERS}, names
    assert mail.message.defects == []
    for value in mail.message.values():
        assert not STEERING.search(str(value)), repr(value)
    assert [part.get_content_type() for part in mail.message.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]
    assert len(mail.recipients) == 1
    check_page(mail.html, "mail")


def check_table(content: bytes) -> None:
    """Check that a CSV file has no cell that a spreadsheet would calculate."""
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        for cell in row:
            assert not cell.lstrip(" ").startswith(FORMULA), cell


def public_paths(world: World) -> list[str]:
    widget = f"/widget/{world.ids['project_id']}"
    yours = f"/yours/{world.links['yours']}"
    parts = [widget, f"{widget}/fragment", f"{widget}/newsletter"]
    return [f"/{SLUG}", f"/{SLUG}/wall", f"/{SLUG}/thanks", *parts, yours]
