"""A project gets its own host name, on a running service and with a real name server."""

import html
import itertools
import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.projects.domains.name_servers import NameServer
from tests.support.process import Answer, Service, start_service
from tests.support.servers import free_port, wait_for

pytestmark = pytest.mark.thorough

numbers = itertools.count(1)
CADDYFILE = Path(__file__).parents[3] / "packaging" / "Caddyfile"


@dataclass
class World:
    """A service at `home.example`, its name server, and a project that wants `host`."""

    host: str
    slug: str
    service: Service
    names: NameServer
    port: int
    owner: dict[str, str]
    project: dict[str, Any]

    def at(self, host: str, method: str, path: str, form: dict[str, str] | None = None) -> Answer:
        """Ask for a page as a browser does that was led to the service by `host`."""
        headers = {"Host": f"{host}:{self.port}"}
        if form is not None:
            headers |= {"Origin": f"http://{host}:{self.port}"}
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = None if form is None else urlencode(form).encode()
        return self.service.call(method, path, body, headers)

    def domain(self, method: str, path: str = "", body: object = None) -> Answer:
        where = f"/v1/projects/{self.project['_id']}/domain{path}"
        return self.service.call(method, where, body, self.owner)

    def lead(self, *records: str) -> None:
        """Answer with these records and that of the service."""
        self.names.say("host-record=home.example,127.0.0.1", *records)

    def take(self) -> str:
        """Give the project its host name; return the token of its record."""
        assert self.domain("PUT", body={"host": self.host}).status == 200
        token = str(self.domain("GET").data["records"][0]["value"])
        theirs = f"txt-record=_testimonials.{self.host},{token}"
        self.lead(theirs, f"cname={self.host},home.example")
        assert self.domain("POST", "/check").data["state"] == "serving"
        return token


def give_token(service: Service, email: str, slug: str) -> tuple[dict[str, str], Any]:
    """Make an account with a project; return the headers of its token, and the project."""
    key = service.sign_up(email)
    project = service.call("POST", "/v1/projects", {"slug": slug}, key).data
    account = key["x-service-account-id"]
    # As if they had followed the mailed link.
    with sqlite3.connect(
        Path(service.environment["TESTIMONIALS_INSTANCE_PATH"]) / "testimonials.db"
    ) as database:
        database.execute("UPDATE account SET claimed_at = created_at WHERE id = ?", [account])
    make = ("tokens", "create", "--account", account, "--name", "T", "--json")
    made = service.run(*make, "--scopes", "read,publish,configure")
    assert made.returncode == 0, made.stderr
    return {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}, project


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, NameServer, int]]:
    port = free_port()
    with NameServer() as names:
        settings = {
            "port": str(port), "base_url": f"http://home.example:{port}",
            "dns_resolver": names.address, "min_form_seconds": "0",
        }  # fmt: skip
        service = start_service(tmp_path_factory.mktemp("domains"), (), settings)
        # The public address is a name that only our name server knows.
        service.url = f"http://127.0.0.1:{port}"
        yield service, names, port
        service.kill()


@pytest.fixture
def world(served: tuple[Service, NameServer, int]) -> World:
    slug = f"kiln{next(numbers)}"
    owner, project = give_token(served[0], f"{slug}@example.com", slug)
    return World(f"words.{slug}.example", slug, *served, owner, project)


def test_a_project_gets_its_own_host_name(world):
    host = world.host
    set_up = world.domain("PUT", body={"host": f"https://{host.upper()}/"}).data
    txt, cname = set_up["records"]
    assert (set_up["host"], set_up["state"]) == (host, "waiting")
    assert txt["name"] == f"_testimonials.{host}"
    assert cname == {"type": "CNAME", "name": host, "value": "home.example"}

    world.lead("host-record=shops.example,203.0.113.9", f"cname={host},shops.example")
    found = world.domain("POST", "/check").data
    assert (found["state"], found["pointsTo"]) == ("waiting", ["shops.example"])
    assert world.service.call("GET", f"/domains/ask?domain={host}").status == 404

    # Theirs, and still elsewhere.
    record = f"txt-record=_testimonials.{host},{txt['value']}"
    world.lead(record, "host-record=shops.example,203.0.113.9", f"cname={host},shops.example")
    found = world.domain("POST", "/check").data
    assert (found["state"], found["servingSince"]) == ("verified", None)
    assert found["problem"]
    assert world.service.call("GET", f"/domains/ask?domain={host}").status == 200
    page = world.at("home.example", "GET", f"/{world.slug}").body.decode()
    assert f'<link rel="canonical" href="http://home.example:{world.port}/{world.slug}">' in page

    world.lead(record, f"cname={host},home.example")
    found = world.domain("POST", "/check").data
    assert (found["state"], found["problem"]) == ("serving", "")
    # The former address stays, and says where the page is now.
    page = world.at("home.example", "GET", f"/{world.slug}").body.decode()
    assert f'<link rel="canonical" href="http://{host}:{world.port}">' in page
    assert world.at(host, "GET", "/").status == 200
    # Each look asks other people's name servers.
    assert {world.domain("POST", "/check").status for _ in range(60)} == {200, 429}


def test_a_visitor_writes_on_it_and_finds_nothing_else_there(world):
    host, kiln = world.host, f"/{world.slug}"
    world.take()
    page = world.at(host, "GET", "/")
    text = page.body.decode()
    # Nothing leads away but pictures and the script.
    ways = set(re.findall(r'(?:href|src|action)="([^"]*)"', text))
    assert "/theme.css" in {each.partition("?")[0] for each in ways}
    assert not [each for each in ways if each.startswith(kiln)]
    for way in sorted(each for each in ways if each.startswith("/")):
        assert world.at(host, "GET", html.unescape(way)).status == 200, way
    token = re.search(r'name="token" value="([^"]+)"', text)
    assert token
    form = {
        "token": html.unescape(token[1]), "subject": "", "text": "The best bread.", "name": "Maya",
        "consent": "yes", "rating": "5",
    }  # fmt: skip
    sent = world.at(host, "POST", "/", form)
    assert sent.status == 200, sent.body.decode()[:3000]
    assert "The best bread." in sent.body.decode()
    listed = world.service.call(
        "GET", f"/v1/projects/{world.project['_id']}/submissions", None, world.owner
    )
    assert [each["text"] for each in listed.data["items"]] == ["The best bread."]

    assert world.at(host, "GET", "/wall").status == 200
    assert world.at(host, "GET", f"/widget/{world.project['_id']}/feed").status == 200
    for path in ("/dashboard", "/login", "/v1/projects", "/docs", "/signup", "/operator", kiln):
        missing = world.at(host, "GET", path)
        assert missing.status == 404, path
        assert path.startswith("/v1/") or "Testimonials" not in missing.body.decode()
    # It has the owner's colors, and leads to their wall.
    lost = world.at(host, "GET", "/nothing-here").body.decode()
    assert re.search(r'href="/theme\.css"', lost)
    assert 'href="/wall"' in lost
    # A form of another site is refused here, too.
    headers = {"Host": f"{host}:{world.port}", "Origin": "http://evil.example"}
    refused = world.service.call("POST", "/", urlencode(form).encode(), headers)
    assert refused.status == 403


def test_it_is_lost_with_its_record_and_goes_to_who_has_one(world):
    host = world.host
    mine = world.take()
    other, theirs = give_token(world.service, "other@example.com", "oven")
    where = f"/v1/projects/{theirs['_id']}/domain"
    token = world.service.call("PUT", where, {"host": host}, other).data["records"][0]["value"]
    there = f"cname={host},home.example"

    # Who has the name keeps it, as long as its record is there.
    world.lead(
        there, f"txt-record=_testimonials.{host},{mine}", f"txt-record=_testimonials.{host},{token}"
    )
    refused = world.service.call("POST", f"{where}/check", None, other).data
    assert refused["state"] == "waiting"
    assert world.domain("POST", "/check").data["state"] == "serving"

    # Nobody answering is no news.
    world.names.stop()
    found = world.domain("POST", "/check").data
    assert found["state"] == "serving"
    assert "name server" in found["problem"]

    # A record that is gone is missed for a while; another's takes its place at once.
    world.lead(there)
    assert world.domain("POST", "/check").data["state"] == "serving"
    world.lead(there, f"txt-record=_testimonials.{host},{token}")
    assert world.service.call("POST", f"{where}/check", None, other).data["state"] == "serving"
    assert world.domain("GET").data["state"] == "waiting"
    wait_for(lambda: "· oven</title>" in world.at(host, "GET", "/").body.decode())
    assert world.at("home.example", "GET", f"/{world.slug}").status == 200

    removed = world.service.call("DELETE", where, None, other)
    assert removed.status == 200
    assert world.service.call("GET", f"/domains/ask?domain={host}").status == 404
    assert world.service.call("GET", where, None, other).json["code"] == "NO_DOMAIN"


def test_caddy_gets_certificates_for_it_alone(world, tmp_path):
    host = world.host
    program = shutil.which("caddy")
    assert program is not None, "caddy is not installed; scripts/test installs it."
    world.take()
    tls, plain = free_port(), free_port()
    text = CADDYFILE.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{world.port}")
    own = ("admin off", f"http_port {plain}", f"https_port {tls}", "skip_install_trust")
    ours = "\n".join((*own, "local_certs", "on_demand_tls {"))
    text = text.replace("on_demand_tls {", ours)
    file = tmp_path / "Caddyfile"
    file.write_text(text)
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(
        [program, "run", "--config", file, "--adapter", "caddyfile"],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        page = wait_for(lambda: _fetch(tls, host), what="Caddy's certificate")
        assert page.startswith("200 ")
        assert 'action="/' in page or "<form" in page
        assert _fetch(tls, "strange.example") == ""
    finally:
        process.terminate()
        process.wait(60)


def _fetch(port: int, host: str) -> str:
    """Return the status and content of a page over TLS, "" if there is no certificate."""
    done = subprocess.run(
        ["curl", "-sk", "--resolve", f"{host}:{port}:127.0.0.1", "-o", "-", "-w", "", "-i", f"https://{host}:{port}/"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    first, _, rest = done.stdout.partition("\n")
    return f"{first.split()[1]} {rest}" if first else ""
