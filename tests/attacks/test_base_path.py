"""The service below a path of somebody's host, behind Debian's nginx: nothing leads out of it.

Every page is opened and every form is sent over HTTP. What nginx doesn't pass on is another
program's, as on a real host.
"""

import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import update
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder

from testimonials.auth.models import Session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from tests.attacks.conftest import restore
from tests.attacks.test_access import addresses, keeper
from tests.attacks.world import World, find_doors
from tests.conftest import MakeApp
from tests.operations.server.hosts.nginx import run_below
from tests.support.sampling import mostly_thorough
from tests.support.servers import PATIENCE, free_port, serving

BASE = "/testimonials"
# What the other program of the host answers.
OTHERS = 418
# What names an address in a page, wherever it stands.
LINKS = "href", "src", "action", "formaction", "poster", "cite", "content", "value", "srcset"
# Addresses from the root of the host in a style sheet or a script.
ROOTED = re.compile(r"""(?:url\(|import\(?|from|fetch\(|new URL\()\s*["'`]?(/[^"'`)\s]*)""")


@dataclass
class Answer:
    path: str
    status: int
    headers: Headers
    text: str

    @property
    def is_page(self) -> bool:
        return self.headers.get("Content-Type", "").startswith("text/html")


@dataclass
class Host:
    app: Flask
    port: int
    # Everything that leads out of the path, and where it was.
    leaks: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", cookie: str = "", **sent: Any) -> Answer:
        """Send one request, look for what leads out in its answer, and return that."""
        builder = EnvironBuilder(path.partition("?")[0], method=method, **sent)
        body, headers = builder.get_environ()["wsgi.input"].read(), dict(builder.headers)
        headers |= {"X-Forwarded-For": next(addresses)} | ({"Cookie": cookie} if cookie else {})
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body or None, headers)
            got = connection.getresponse()
            text = got.read().decode("utf-8", "replace")
        finally:
            connection.close()
        answer = Answer(path, got.status, Headers(got.getheaders()), text)
        self.look_at(answer)
        return answer

    def look_at(self, answer: Answer) -> None:
        """Note what leads out of the path: links, forms, scripts, cookies, redirects."""
        for name in ("Location", "Content-Location"):
            if name in answer.headers:
                self.check(answer, answer.headers[name])
        for link in re.findall(r"<([^>]+)>; rel=", ",".join(answer.headers.getlist("Link"))):
            self.check(answer, link)
        for cookie in answer.headers.getlist("Set-Cookie"):
            if f"; Path={BASE}" not in f"{cookie};".replace(f"{BASE};", BASE):
                self.leaks.append(f"{answer.path}: {cookie}")
        for rest in re.findall(rf"{re.escape(self.origin)}([^\s\"'<>&;,)\\`]*)", answer.text):
            self.check(answer, self.origin + rest)
        if answer.is_page:
            for link in find_links(answer.text):
                self.check(answer, link)
        elif re.search("css|javascript", answer.headers.get("Content-Type", "")):
            for link in ROOTED.findall(answer.text):
                self.check(answer, link)

    def check(self, answer: Answer, link: str) -> None:
        """Note a link that leads to another program of this host."""
        target = urljoin(self.origin + answer.path, link)
        parts = urlsplit(target)
        is_ours = f"{parts.scheme}://{parts.netloc}" == self.origin
        # An Origin as a policy names it, or a text about the host.
        is_whole = parts.path in ("", "/") and link == self.origin
        if is_ours and not is_whole and not f"{parts.path}/".startswith(f"{BASE}/"):
            self.leaks.append(f"{answer.path}: {link}")


def find_links(text: str) -> Iterator[str]:
    for node in LexborHTMLParser(text).css("*"):
        # The end of a secret may begin with a slash by chance.
        if node.attributes.get("name") in ("last_four", "key_seen"):
            continue
        for name, value in node.attributes.items():
            is_link = name in LINKS or name.startswith("data-")
            # Of words that may be anything, only what is an address.
            if is_link and value and (name in LINKS[:6] or value.startswith("/")):
                yield from (each.split()[0] for each in value.split(",") if each.strip())


@pytest.fixture(params=[pytest.param("behind nginx", marks=pytest.mark.thorough)])
def host(request: pytest.FixtureRequest, make_app: MakeApp, world: World) -> Iterator[Host]:
    """The world's service, now below a path, behind nginx or alone."""
    is_alone = request.param == "alone"
    inner = free_port()
    port = inner if is_alone else free_port()
    base_url = f"http://127.0.0.1:{port}{BASE}"
    app = make_app(base_url=base_url, trusted_proxies=1 if is_alone else 2)
    proxy = run_below(BASE, port, f"http://127.0.0.1:{inner}", OTHERS)
    with serving(app, inner), nullcontext() if is_alone else proxy:
        yield Host(app, port)


@pytest.mark.parametrize("host", mostly_thorough(["alone", "behind nginx"], "alone"), indirect=True)
def test_no_page_leads_out_of_the_path(host, world):
    cookie = f"testimonials={world.cookies['owner']}"
    seen: set[tuple[str, str]] = set()
    for who, starts in (
        (cookie, ["/dashboard/projects", "/dashboard/account", "/docs"]),
        ("", ["", "/", "/login", "/robots.txt", f"/{world.ids['slug']}", "/llms.txt"]),
    ):
        waiting = [BASE + path for path in starts]
        waiting += [
            BASE + world.path(door)
            for door in find_doors(host.app)
            if door.method == "GET" and keeper(door) != "key" and "filename" not in door.names
        ]
        while waiting:
            path = waiting.pop().partition("#")[0]
            if (who, path.partition("?")[0]) in seen or "/logout" in path:
                continue
            seen.add((who, path.partition("?")[0]))
            answer = host.ask(path, cookie=who)
            assert answer.status != OTHERS, path
            if answer.is_page:
                links = [urljoin(path, link) for link in find_links(answer.text)]
                waiting += [link for link in links if link.startswith(f"{BASE}/")]
    assert host.leaks == []
    # Pages, their style sheets and scripts, of both.
    assert len(seen) > 150


def test_no_form_or_call_leads_out_of_the_path(host, world, instance):
    cookie, count = f"testimonials={world.cookies['owner']}", 0
    for door in find_doors(host.app):
        if door.method in ("HEAD", "GET") and keeper(door) != "key":
            continue
        path = world.path(door)
        bodies: list[dict[str, Any]] = [{"data": body} for body in world.bodies(path)]
        who = {"cookie": cookie} if keeper(door) == "session" else {}
        if keeper(door) == "key":
            bodies = [world.call(host.app, door) if not door.is_safe else {}]
            bodies[0]["headers"] = world.tokens["owner"]
        for body in bodies:
            answer = host.ask(BASE + path, door.method, **who, **body)
            assert answer.status < 500, door
            assert answer.status != OTHERS, door
            count += answer.status in (200, 303)
        restore(host.app, instance)
    assert host.leaks == []
    assert count > 100


def test_a_path_that_only_begins_alike_is_not_the_services(host):
    assert host.ask(f"{BASE}-more/login").status == OTHERS
    assert host.ask(BASE).headers["Location"] == f"{host.origin}{BASE}/"
    assert host.ask(f"{BASE}/login").status == 200
    # Nobody can take the path as a slug, which a proxy that takes it away would make of it.
    assert host.ask(f"{BASE}{BASE}").status == 404
    assert host.leaks == []


def test_asking_for_the_password_again_stays_within_the_path(host, world):
    with host.app.app_context(), write():
        db.session.execute(update(Session).values(proved_at=None))
    path = f"{BASE}/dashboard/account/delete"
    cookie = f"testimonials={world.cookies['owner']}"
    answer = host.ask(path, "POST", cookie, data={"confirm": "owner@example.com"})
    assert f'action="{path}"' in answer.text
    assert host.leaks == []
