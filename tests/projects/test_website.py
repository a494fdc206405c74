"""Reading an owner's website for their brand, from a real server."""

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image
from sqlalchemy import select, update

from testimonials.auth.models import Account
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http_client import ask
from testimonials.core.jobs import enqueue
from testimonials.operations.expiry import sweep
from testimonials.projects.models import Project
from testimonials.projects.website import READ, READ_OWN, WebsiteUnread, read_page, read_website
from tests.auth.browsers import mailed_path
from tests.auth.links import ask_for_link
from tests.conftest import PASSWORD, Caller
from tests.support.pictures import photo, to_bytes
from tests.support.rows import change_settings, do_jobs

BAKERY = """<!doctype html><html><head><title>Oat &amp; Ember | Bread from the river</title>
<meta name="theme-color" content="#FFFFFF">
<link rel="stylesheet" href="/site.css"><link rel="apple-touch-icon" href="/touch.png">
<script type="application/ld+json">{"@context": "https://schema.org",
  "@graph": [{"@type": "Bakery", "name": "Oat & Ember", "logo": {"url": "/logo.png"}}]}</script>
</head><body><header><img class="site-logo" src="/header.png"></header></body></html>"""
SHEET = """:root { --brand-color: #C2410C; --grey-primary: #888; --space: 4px }
a.button { background: rgb(47, 93, 80) } .btn-primary { background-color: #c2410c !important }
@media (min-width: 1px) { .cta { background: #E9A23B } }"""


@dataclass
class Site:
    url: str
    pages: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@contextlib.contextmanager
def serve_website() -> Iterator[Site]:
    """Serve a bakery's home page, with its style sheet and its logo."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            status, kind, content = found.pages.get(self.path, (404, "text/plain", b"Nothing"))
            self.send_response(status)
            name = "Location" if status in (301, 302) else "Content-Type"
            self.send_header(name, kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Site(f"http://127.0.0.1:{server.server_port}")
    found.pages = {
        "/": (200, "text/html", BAKERY.encode()),
        "/site.css": (200, "text/css", SHEET.encode()),
        "/logo.png": (200, "image/png", to_bytes(photo(60, 20), "PNG")),
    }
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_website() as served:
        yield served


def brand_of(owner: Caller, project: str) -> dict[str, str | None]:
    data: dict[str, str | None] = owner.get(f"/v1/projects/{project}").json["data"]["brand"]
    return data


def test_an_agent_gets_the_brand_by_naming_the_website(app, owner, site):
    change_settings(app, webhook_addresses="any")
    made = owner.post("/v1/projects", {"businessName": "Oat", "website": site.url})
    project = made.json["data"]["_id"]
    # The answer didn't wait.
    assert site.asked == []
    assert brand_of(owner, project)["color"] == "#0F766E"
    before = owner.get(f"/v1/projects/{project}")
    do_jobs(app, READ)
    brand = brand_of(owner, project)
    assert (brand["color"], brand["trade"], brand["name"]) == ("#C2410C", "bakery", "Oat")
    assert brand["logo"]
    after = owner.get(f"/v1/projects/{project}")
    assert after.headers["ETag"] == before.headers["ETag"]
    assert after.json["data"]["updatedAt"] == before.json["data"]["updatedAt"]
    assert after.json["data"]["publicPageConfig"]["logo"] is None
    feed = owner.client.get(f"/widget/{project}/feed").json
    assert "c2410c" in feed["colours"]["light"]


def test_a_setup_that_makes_the_project_reads_it_too(app, owner, site):
    change_settings(app, webhook_addresses="any")
    body = {"externalId": "oat", "project": {"website": site.url}}
    project = owner.client.put("/v1/setup", json=body, headers=owner.headers).json["data"][
        "project"
    ]["_id"]
    do_jobs(app, READ)
    assert brand_of(owner, project)["color"] == "#C2410C"


def test_the_owner_looks_again_and_what_they_chose_stays(app, browser, owner, site):
    change_settings(app, webhook_addresses="any")
    project = owner.create_project(website=f"{site.url}/old")["_id"]
    path = f"/dashboard/projects/{project}/settings/brand"
    refused = browser.post(f"{path}/read")
    assert refused.status_code == 422
    assert "We couldn’t read that address." in refused.text
    # A redirect is followed, and checked like the first.
    site.pages["/old"] = (302, "/", b"")
    assert browser.post(f"{path}/read").status_code == 303
    assert brand_of(owner, project)["color"] == "#C2410C"
    for _ in range(3):
        browser.post(f"{path}/read")
    assert browser.post(f"{path}/read").status_code == 429
    # The reading that the new project asked for counts, too.
    asked = len(site.asked)
    do_jobs(app, READ)
    assert len(site.asked) == asked


@pytest.mark.parametrize("website_reading", ["on", "off"])
def test_nothing_private_is_read_and_the_operator_can_turn_it_off(app, site, website_reading):
    addresses = "public" if website_reading == "on" else "any"
    change_settings(app, website_reading=website_reading, webhook_addresses=addresses)
    with app.app_context(), pytest.raises(WebsiteUnread):
        read_website(site.url)
    assert site.asked == []


def test_what_a_page_says_of_itself():
    found = read_page(BAKERY, "https://oat.example/")
    assert (found.name, found.trade) == ("Oat & Ember", "bakery")
    paths = ["logo.png", "header.png", "touch.png"]
    assert found.logos == [f"https://oat.example/{each}" for each in paths]
    assert found.sheets == ["https://oat.example/site.css"]
    assert found.colors == []
    assert found.made_with == ""
    page = BAKERY.replace("/touch.png", "/wp-content/uploads/touch.png")
    assert read_page(page, "https://oat.example/").made_with == "wordpress"
    plain = read_page(
        "<title>Salon Mira – Hair</title><style>--accent:#abc</style>", "https://x.example"
    )
    assert (plain.name, plain.trade, plain.colors) == ("Salon Mira", "salon", [])


@pytest.mark.parametrize(
    ("rule", "typeface"),
    [
        ("body { font-family: 'GT America', Helvetica, serif }", "plain"),
        ("html, body { font: 400 1rem/1.5 Georgia, sans-serif }", "classic"),
        (":root { --body: Nunito, sans-serif } body { font-family: var(--body) }", "rounded"),
        ("body { font-family: 'Noto Serif Display', sans-serif }", "classic"),
        ("h1 { font-family: Georgia } body { font-family: 'Recoleta' }", ""),
        ("body { font-family: var(--", ""),
    ],
)
def test_the_font_of_a_page_is_the_nearest_of_three(rule, typeface):
    found = read_page(f"<style>{rule}</style>", "https://oat.example/")
    assert (found.typeface, found.describe().get("typeface", "")) == (typeface, typeface)


def test_a_manifest_and_a_logo_have_colors_and_the_page_a_ground(app, site):
    change_settings(app, webhook_addresses="any")
    page = """<link rel="manifest" href="/app.json"><style>body { background: #FBF6EF }</style>
<header><img class="logo" src="/logo.svg"></header>"""
    manifest = {"theme_color": "#2F5D50", "icons": [{"src": "/small.png"}, {"src": "/big.png"}]}
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    red = to_bytes(Image.new("RGB", (90, 90), "#B91C1C"), "PNG")
    site.pages = {
        "/": (200, "text/html", page.encode()),
        "/app.json": (200, "application/json", json.dumps(manifest).encode()),
        "/logo.svg": (200, "image/svg+xml", svg),
        "/big.png": (200, "image/png", red),
        "/small.png": (200, "image/png", red),
    }
    with app.app_context():
        found = read_website(site.url)
    assert (found.ground, len(found.images), found.colors[0]) == ("#FBF6EF", 2, "#2F5D50")
    assert len(found.colors) == 2
    site.pages["/app.json"] = (200, "application/json", b'[{"theme_color": 1}]')
    with app.app_context():
        assert read_website(site.url).colors == []


def test_who_signs_up_finds_their_brand_filled_in(app, client, site, moved_clock):
    change_settings(app, webhook_addresses="any")
    ask_for_link(client, "/signup", "mira@oat.example")
    # A domain that leads to the test's own server; it has no https.
    with app.app_context(), write():
        email = f"mira@{site.url.removeprefix('http://')}"
        db.session.execute(update(Account).values(email=email))
    site.pages["/header.png"] = site.pages["/logo.png"]
    # JSON has letters that no page and no database can have.
    odd = BAKERY.replace('"Oat & Ember"', r'"Oat \ud83d\u0000\n& Ember"')
    site.pages["/"] = (200, "text/html", odd.encode())
    link = mailed_path(app, "signup")
    page = client.get(link).text
    assert "Reading" in page
    assert "Look again" in page
    # Nothing waits for it, and it is read once a link.
    client.get(link)
    assert site.asked == []
    do_jobs(app, READ_OWN)
    do_jobs(app, READ_OWN)
    assert site.asked.count("/") == 1
    page = client.get(link).text
    assert "the domain of your email address. Change what isn’t right." in page
    assert 'value="Oat &amp; Ember"' in page
    assert 'value="#C2410C" checked' in page
    assert '<option value="bakery" data-color="#C2410C" selected>' in page
    logos = re.findall(r'name="picture" value="(\w+)"', page)
    assert len(logos) == 2
    # They are there for as long as the link.
    moved_clock.move(days=3)
    with app.app_context():
        sweep()
    assert client.get(f"/media/{logos[1]}.webp").status_code == 200
    form = {"password": PASSWORD, "businessName": "Oat & Ember", "website": site.url}
    form |= {"color": "#C2410C", "trade": "bakery", "picture": logos[1]}
    made = client.post(link, data=form)
    project = made.location.split("/")[-2]
    with app.app_context():
        found = db.session.get_one(Project, project)
        assert (found.brand["read"]["color"], found.brand_logo_id) == ("#C2410C", logos[1])
        # What stood there by itself isn't set because the form had it.
        assert found.brand.keys() == {"read"}
        assert db.session.scalars(select(Account)).one().website_read is None


def test_for_one_address_a_website_is_read_five_times_an_hour(app, agent, site):
    change_settings(app, webhook_addresses="any")
    with app.app_context(), write():
        email = f"mira@{site.url.removeprefix('http://')}"
        db.session.execute(update(Account).values(email=email))
        for _ in range(6):
            enqueue(READ_OWN, account_id=agent.account_id, owner=agent.account_id)
    for _ in range(6):
        do_jobs(app, READ_OWN)
    assert site.asked.count("/") == 5


def test_what_is_no_address_is_left_out(app, site):
    change_settings(app, webhook_addresses="any")
    odd = BAKERY.replace("/touch.png", "http://[").replace('"/logo.png"', '"https://[::x"')
    odd = odd.replace("</head>", '<link rel="stylesheet" href="http://["></head>')
    odd = odd.replace("/header.png", "/logo.png")
    site.pages["/"] = (200, "text/html", odd.encode())
    with app.app_context():
        found = read_website(site.url)
    assert (found.name, found.colors[0]) == ("Oat & Ember", "#C2410C")
    assert found.images


def test_a_name_that_nobody_looks_up_takes_no_longer(monkeypatch):
    """The system's resolver has no limit of its own."""
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait())
    with pytest.raises(TimeoutError):
        ask("http://slow.example/", 0.05, 1, lambda *_: True, headers={})
    answered.set()


@pytest.mark.parametrize(
    "page",
    [
        "<meta " * 150_000, "<style>" * 120_000, "<style>" + "a{" * 400_000, "--brand" * 120_000,
        '<script type="application/ld+json">' * 25_000, "<title>" * 120_000, "<img '" * 150_000,
        '<script type="application/ld+json">' + "[" * 900_000, "<style>" + "-" * 900_000,
        "<style>" + "html{font:var(--x)}" * 50_000, ("<img " + "a" * 1990 + ">") * 500,
    ],
)  # fmt: skip
def test_a_hostile_page_takes_no_longer_than_its_letters(page):
    begun = time.process_time()
    read_page(page, "https://x.example/")
    assert time.process_time() - begun < 4
