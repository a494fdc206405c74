"""The largest of each kind of input that strangers and accounts may send, as a request.

Each is the worst that was found for what reads it. The test of costs and `scripts/bench costs` send
them, and the table in docs/security.md names each with its size.
"""

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from testimonials.transfer.archives.writing import JSON_NAME
from tests.transfer.archives.projects import VERSION_1

MEGABYTE = 1024 * 1024
# In the order that takes most sorting: Unicode wants them the other way round.
MARKS = "\u0345\u0360\u0315\u0300\u0316\u0327\u0334"
# In which each letter is another of a domain's, and each of a name's becomes eighteen.
HAN, LONG_LETTER = "".join(map(chr, range(0x4E00, 0x5200))), "\ufdfa"
# Read to its end, and then maybe refused for what it says.
TAKEN = (200, 204, 302, 303, 400, 409, 422)
# What a testimonial of an archive must have.
LEAST = ("id", "status", "source", "authorName", "createdAt", "submittedAt", "updatedAt")
EMPTY: dict[str, Any] = {"text": "a", "tags": [], "changes": []}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Place:
    """Where requests go: a project with a testimonial, its owner's key and session."""

    project: str
    slug: str
    testimonial: str
    key: dict[str, str]
    session: dict[str, str]


@dataclass(frozen=True)
class Sent:
    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Input:
    """A kind of input: its largest size in words and in units, and the request of so many units."""

    name: str
    most: str
    size: int
    make: Callable[[Place, int], Sent]
    # Read line by line or value by value; a whole one may take longer than any other input.
    is_file: bool = False
    # What is sent once, before it costs something.
    before: Callable[[Place, int], Sent] | None = None


def pile(size: int) -> str:
    """Return so many characters: a letter, and marks on it."""
    return "a" + (MARKS * (size // len(MARKS) + 1))[: size - 1]


def draw_words(seed: int, size: int) -> str:
    """Return so many words of one sign each, of which any is in many places."""
    return "".join(random.Random(seed).choices(".,;:!", k=size))


def list_inputs() -> list[Input]:
    return [
        Input("a password", "1,024 bytes", 1024, lambda _, size: _post(
            "/login", email="somebody@example.com", password=pile(size // 2)
        )),
        Input("an address of mail", "254 characters", 254, lambda _, size: _post(
            "/forgot", email=f"a@{HAN[: size - 6]}.com"
        )),
        Input("a host name", "239 characters", 239, lambda at, size: _post_to(
            at, "settings/domain", host=HAN[:size]
        )),
        Input("a web address", "500 characters", 500, lambda at, size: _api(
            at, "POST", "testimonials", {"authorAvatar": f"https://{'é.' * (size // 2 - 8)}com/"}
        )),
        Input("a name, of which an address is made", "120 characters", 120, lambda at, size: Sent(
            "POST", "/v1/projects?dryRun=true",
            json.dumps({"businessName": LONG_LETTER * size}).encode(),
            at.key | {"Content-Type": JSON},
        )),
        Input("the words of a testimonial", "2,000 characters", 2000, lambda at, size: _api(
            at, "POST", "testimonials", {"text": pile(size)}
        )),
        Input("100 testimonials at once", "512 KB", 100, lambda at, size: _api(
            at, "POST", "testimonials/bulk",
            {"testimonials": [{"authorName": str(n), "text": pile(2000)} for n in range(size)]},
        )),
        Input("tags in a line", "2,000 characters", 2000, lambda at, size: _api(
            at, "PATCH", f"testimonials/{at.testimonial}", {"tags": [pile(size)]}
        )),
        Input("words to highlight", "2,000 characters", 2000, lambda at, size: _post_to(
            at, f"testimonials/{at.testimonial}/highlights", words="a " * (size // 2 - 1) + "b"
        )),
        Input("captions", "40,000 characters", 40_000, lambda at, size: _api(
            at, "PATCH", f"testimonials/{at.testimonial}",
            {"captions": "WEBVTT" + "\n\n00:00.000 --> 00:01.000\na" * (size // 29)},
        )),
        Input("words to search for", "200 characters", 200, lambda at, size: Sent(
            "GET",
            f"/dashboard/projects/{at.project}/inbox?status=all&q={quote('a.' * (size // 2))}",
            headers=at.session,
        )),
        Input("what a page of the widget is asked for", "64 KB", 60_000, lambda at, size: Sent(
            "GET", f"/widget/{at.project}/feed?tag={quote(pile(size // 6))}"
        )),
        Input("a form of the collection page", "16 MB", 15_900_000, lambda at, size: _file(
            Place("", "", "", {}, {}), f"/{at.slug}", "\r\n-" * (size // 3), "photo"
        )),
        Input("any other form", "256 KB", 240_000, lambda at, size: _post_to(
            at, "widget", tags=["a"] * (size // 7)
        )),
        Input("the head of a request", "64 KB", 60_000, lambda _, size: Sent(
            "GET", "/login", headers={
                "Accept-Language": "a," * (size // 6), "Cookie": "a=b;" * (size // 12),
                "User-Agent": "Firefox/1 " * (size // 30),
            },
        )),
        Input("a body of the API", "64 KB", 65_000, lambda at, size: Sent(
            "POST", "/v1/projects", b'{"a":' * (size // 5), at.key | {"Content-Type": JSON}
        )),
        Input("a body of setup or MCP", "512 KB", 500_000, lambda at, size: Sent(
            "PUT", "/v1/setup",
            json.dumps({"testimonials": [{}] * (size // 4)}).encode(),
            at.key | {"Content-Type": JSON},
        )),
        Input("what a widget tells", "16 KB", 16_000, lambda at, size: Sent(
            "POST", f"/widget/{at.project}/seen", b"[" * size, {"Content-Type": "text/plain"}
        )),
        Input("a list of people to ask", "200,000 characters", 200_000, lambda at, size: _post_to(
            at, "collect/preview", people="(" * (size - 8) + " a@b.co"
        )),
        Input("an answer of a passkey", "64 KB", 65_000, lambda _, size: _post(
            "/login/passkey", passkey_token="x", passkey="[" * size
        )),
        Input("the words of a proposal", "2,000 words", 2000, lambda at, _: Sent(
            "GET", f"/dashboard/projects/{at.project}/inbox", headers=at.session
        ), before=lambda at, size: _api(
            at, "POST", "proposals", {"kind": "testimonial.edit", "targetId": at.testimonial,
            "values": {"text": draw_words(1, size)}}, is_dry=False,
        )),
        Input("an archive: its text", "8 MB", 8000, lambda at, size: _file(
            at, "/dashboard/projects/import", _write_archive(size)
        ), is_file=True),
        Input("an archive: its lists and objects", "65,536", 21_000, lambda at, size: _file(
            at, "/dashboard/projects/import", _write_archive(size, is_least=True)
        ), is_file=True),
        Input("a CSV file: its rows", "12 MB, 20,000 rows", 19_000, lambda at, size: _file(
            at, "import", "text,name\n" + f"{pile(280)},{pile(20)}\n" * size
        ), is_file=True),
        Input("a CSV file: a row", "1,000,000 characters", 990_000, lambda at, size: _file(
            at, "import", "text,name\na,b" + "," * size
        )),
        Input("a CSV file: a cell", "20,000 characters", 20_000, lambda at, size: _file(
            at, "import", f"text,name\n{pile(size)},{pile(size)}"
        )),
        Input("a CSV file: a heading", "300 characters", 300, lambda at, size: _file(
            at, "import", f"text,{pile(size)}\na,b"
        )),
        Input("a JSON file", "12 MB, 20,000 entries", 19_000, lambda at, size: _file(
            at, "import", json.dumps(
                [{"text": pile(280), "name": "x"}] * size, ensure_ascii=False
            )
        ), is_file=True),
    ]  # fmt: skip


def _post(path: str, **values: Any) -> Sent:
    return Sent("POST", path, urlencode(values, doseq=True).encode(), {"Content-Type": FORM})


def _post_to(at: Place, path: str, **values: Any) -> Sent:
    """Return a form of the owner's dashboard."""
    sent = _post(f"/dashboard/projects/{at.project}/{path}", **values)
    return Sent(sent.method, sent.path, sent.body, sent.headers | at.session)


def _api(at: Place, method: str, path: str, body: dict[str, Any], *, is_dry: bool = True) -> Sent:
    if path == "testimonials":
        body = {"authorName": "Maya", "text": "It simply works."} | body
    headers = at.key | {"Content-Type": JSON}
    content = json.dumps(body, ensure_ascii=False).encode()
    path = f"/v1/projects/{at.project}/{path}{'?dryRun=true' * is_dry}"
    return Sent(method, path, content, headers)


def _file(at: Place, path: str, content: str | bytes, name: str = "file") -> Sent:
    """Return a form with a file."""
    head = f'--x\r\nContent-Disposition: form-data; name="{name}"; filename="a"\r\n\r\n'.encode()
    headers = at.session | {"Content-Type": "multipart/form-data; boundary=x"}
    body = content if isinstance(content, bytes) else content.encode()
    path = path if path.startswith("/") else f"/dashboard/projects/{at.project}/{path}"
    return Sent("POST", path, head + body + b"\r\n--x--\r\n", headers)


def _write_archive(size: int, *, is_least: bool = False) -> bytes:
    """Return an archive with so many testimonials, each there many times."""
    out = io.BytesIO()
    with zipfile.ZipFile(VERSION_1) as kept, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in kept.namelist():
            content = kept.read(name)
            if name == JSON_NAME:
                described = json.loads(content)
                rows = described["testimonials"]
                if is_least:
                    rows = [{name: row[name] for name in LEAST} | EMPTY for row in rows]
                described["testimonials"] = (rows * size)[:size]
                content = json.dumps(described).encode()
            new.writestr(name, content)
    return out.getvalue()
