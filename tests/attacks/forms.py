"""The forms of the service's pages, found by following links as a browser would."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tests.conftest import PASSWORD
from tests.support.pictures import photo, to_bytes
from tests.testimonials.media.recorded import VIDEO
from tests.transfer.archives.projects import VERSION_1

# Where people write what they like.
FREE = {"text", "search", "url", "email", "tel", "textarea", "hidden"}
BUTTONS = {"submit", "image", "button"}


@dataclass(frozen=True)
class Field:
    """One control of a form, with what it would send if nobody touched it."""

    name: str
    kind: str
    value: str
    accept: str = ""
    is_sent: bool = True
    is_required: bool = False


@dataclass(frozen=True)
class Form:
    """One form, and the page it was on."""

    page: str
    path: str
    method: str
    fields: tuple[Field, ...]

    def fill(self, write: Callable[[Field], str] = lambda each: "") -> dict[str, Any]:
        """Return what a browser sends when somebody fills it in and presses its first button.

        `write` gives the words for a field where it has any.
        """
        body: dict[str, Any] = {}
        for each in self.fields:
            if each.kind == "file":
                body[each.name] = _choose_file(each)
            elif not each.is_sent or (each.kind in BUTTONS | {"radio"} and each.name in body):
                continue
            else:
                body.setdefault(each.name, []).append(write(each) or each.value or _guess(each))
        return body


def crawl(
    browser: FlaskClient,
    starts: Iterable[str],
    check: Callable[[str, str], object] = lambda text, address: None,
) -> list[Form]:
    """Follow every link of our own from these pages; return each kind of form once.

    `check` is called with each page. Those to begin with may differ by their queries alone.
    """
    waiting, seen = list(starts), set()
    unopened = set(waiting)
    found: dict[tuple[Any, ...], Form] = {}
    while waiting:
        address = waiting.pop()
        path = urlsplit(address).path
        if path in seen and address not in unopened:
            continue
        unopened.discard(address)
        seen.add(path)
        answer = browser.get(address)
        if answer.status_code != 200 or answer.mimetype != "text/html":
            continue
        check(answer.text, address)
        page = LexborHTMLParser(answer.text)
        waiting += list(_links(page, path))
        for form in read_forms(page, path):
            key = (form.path, form.method, tuple(each.name for each in form.fields))
            found.setdefault(key, form)
    return list(found.values())


def _links(page: LexborHTMLParser, path: str) -> Iterator[str]:
    for node in page.css("a[href], iframe[src], [data-preview-url]"):
        target = urljoin(path, node.attributes.get("href") or node.attributes.get("src") or "")
        if target.startswith("/") and not target.startswith("//"):
            yield target


def read_forms(page: LexborHTMLParser, path: str) -> Iterator[Form]:
    """Read the forms of a page at `path`, with the controls that name them from elsewhere."""
    controls = page.css("input[name], textarea[name], select[name], button[name]")
    for node in page.css("form:not([method=dialog])"):
        own = node.attributes.get("id") or None
        inside = {each.mem_id for each in node.css("[name]")}
        fields = [
            _read(each)
            for each in controls
            if each.mem_id in inside or (own and each.attributes.get("form") == own)
        ]
        method = (node.attributes.get("method") or "get").upper()
        actions = [node.attributes.get("action") or path]
        actions += [each.attributes["formaction"] or "" for each in node.css("[formaction]")]
        for action in actions:
            target = urlsplit(urljoin(path, action)).path
            yield Form(path, target, method, tuple(fields))


def _read(node: LexborNode) -> Field:
    values = node.attributes
    kind = node.tag if node.tag in ("textarea", "select") else values.get("type") or "text"
    kind = "submit" if node.tag == "button" and kind == "text" else kind
    value, is_sent = values.get("value") or "", "disabled" not in values
    if kind == "textarea":
        value = node.text()
    elif kind == "select":
        options = node.css("option[selected]") or node.css("option")
        value = (options[0].attributes.get("value") or "") if options else ""
    elif kind in ("checkbox", "radio"):
        value = value if "value" in values else "on"
        is_sent = kind == "checkbox" or "checked" in values or "required" in values
    accept, is_required = values.get("accept") or "", "required" in values or kind == "password"
    return Field(values["name"] or "", kind, value, accept, is_sent, is_required)


def _choose_file(each: Field) -> tuple[io.BytesIO, str]:
    if "image" in each.accept or ".png" in each.accept:
        return io.BytesIO(to_bytes(photo(40, 30), "PNG")), "picture.png"
    if ".zip" in each.accept:
        return io.BytesIO(VERSION_1.read_bytes()), "project.zip"
    if "video" in each.accept:
        return io.BytesIO(VIDEO), "clip.webm"
    return io.BytesIO(b"name,text,email\nMaya,Words,maya@example.com\n"), "rows.csv"


def _guess(each: Field) -> str:
    """Return what an empty field has to hold; an address is as good as any words."""
    if not each.is_required:
        return ""
    return {"password": PASSWORD, "url": "https://example.com"}.get(each.kind, "a@example.com")
