"""The part of `scripts/bench` about the hot paths, on SQLite and PostgreSQL, compared with a floor.

The floor is a bare WSGI function that returns 1 kB, on the same server, limited to one core.
"""

import json
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg

from tests.support.process import Service, run_command, start_service
from tests.support.servers import PostgresServer, free_port, new_database, wait_for

CONNECTIONS = 16
SECONDS = 3
ROUNDS = 3
ITEMS = 50
WRITES = 100
BY_KEY, BY_TOKEN = "API list, by key", "API list, by access token"
WRITE, POSTGRESQL = "POST testimonial, durable", "PostgreSQL: "
TEXT = (
    "We switched on a Tuesday and by Friday every one of us had stopped asking where things are. "
)
VALUES = {"authorName": "Maya Kowalski", "authorRole": "Owner", "text": TEXT * 3, "rating": 5}

FLOOR = """
import logging, os, sys
logging.getLogger("waitress.queue").setLevel(logging.ERROR)
from waitress import serve
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
BODY = b"x" * 1024
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "1024")])
    return [BODY]
serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=4, asyncore_use_poll=True)
"""


@dataclass
class Case:
    """A URL to load, with its headers and, for a write, its body."""

    name: str
    url: str
    headers: dict[str, str]
    body: dict[str, object] | None = None


@dataclass
class Site:
    """A running service with a project, and its cases."""

    service: Service
    headers: dict[str, str]
    project: str
    cases: list[Case]


def main() -> None:
    """Load each case on both databases, and print the medians and their ratios."""
    folder = Path(tempfile.mkdtemp(prefix="testimonials-bench-"))
    try:
        with open_sites(folder) as (floor, sites):
            measure_paths(floor, sites, folder)
            measure_propagation(sites[-1], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_sites(folder: Path) -> Iterator[tuple[Case, list[Site]]]:
    """Start the floor, and the service on SQLite in `folder` and on PostgreSQL."""
    sites: list[Site] = []
    server = PostgresServer(fsync="on")
    try:
        with open_floor(folder) as floor, new_database(server.url) as url:
            for name, home, settings in (
                ("", folder, {}),
                (POSTGRESQL, folder / "postgres", {"database_url": url}),
            ):
                service = start_service(home, (), {"log_level": "warning"} | settings)
                sites.append(_make_site(name, service, home))
            yield floor, sites
            # Before the database is removed.
            for site in sites:
                site.service.kill()
    finally:
        for site in sites:
            site.service.kill()
        server.stop()


@contextmanager
def open_floor(folder: Path) -> Iterator[Case]:
    """Start the bare function; yield the case with which every rate is compared."""
    if shutil.which("wrk") is None:
        sys.exit("scripts/bench needs wrk: apt-get install wrk")
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", FLOOR, str(port)])
    try:
        case = Case("bare waitress, 1 kB (floor)", f"http://127.0.0.1:{port}/", {})
        # If nobody is listening yet, wrk ends with an error.
        wait_for(lambda: is_open(port), what="the floor")
        measure(case, 1, folder)
        yield case
    finally:
        process.kill()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _make_site(name: str, service: Service, folder: Path) -> Site:
    headers = service.sign_up()
    project = make_project(service, headers)
    cases = prepare(service, headers, project, give_token(service, folder, headers))
    return Site(service, headers, project, [replace(each, name=name + each.name) for each in cases])


def measure_paths(floor: Case, sites: list[Site], folder: Path) -> float:
    """Print how many requests of each case are answered in a second; return the floor's rate."""
    rates = report_rates([floor, *(case for site in sites for case in site.cases)], folder)
    print(f"a token instead of the key: {rates[BY_TOKEN] / rates[BY_KEY]:.2f} times the rate")
    print(f"POST on PostgreSQL: {rates[POSTGRESQL + WRITE] / rates[WRITE]:.2f} of SQLite's rate")
    return rates[floor.name]


def report_rates(cases: Sequence[Case], folder: Path) -> dict[str, float]:
    """Load the cases in turn, for several rounds; print and return the median rates."""
    rates: dict[str, list[float]] = {case.name: [] for case in cases}
    for _ in range(ROUNDS):
        for case in cases:
            rates[case.name].append(measure(case, SECONDS, folder))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, rate in medians.items():
        print_rate(name, rate, medians[cases[0].name])
    return medians


def print_rate(name: str, rate: float, floor: float) -> None:
    print(f"{name:40} {rate:10,.0f} req/s  {rate / floor:6.3f} of the floor")


def measure_propagation(site: Site, folder: Path) -> None:
    """Print how long it takes until another host shows what one host has acknowledged."""
    settings = {
        name.removeprefix("TESTIMONIALS_").lower(): site.service.environment[name]
        for name in ("TESTIMONIALS_DATABASE_URL", "TESTIMONIALS_LOG_LEVEL")
    }
    key = (folder / "postgres" / "secret_key").read_text().strip()
    other = start_service(folder / "other", (), settings | {"secret_key": key})
    connection = HTTPConnection(urlsplit(other.url).netloc)
    path, times = f"/v1/projects/{site.project}/testimonials", []

    def shows(text: str) -> bool:
        connection.request("GET", f"/widget/{site.project}/feed")
        return text in connection.getresponse().read().decode()

    try:
        for number in range(WRITES + 1):
            text = f"Change {number}"
            site.service.call("POST", path, VALUES | {"text": text}, site.headers)
            begun = time.perf_counter()
            while not shows(text):
                pass
            times.append((time.perf_counter() - begun) * 1_000)
            time.sleep(0.05)
    finally:
        other.kill()
    # The first one is left out: the other host has only just started.
    median, longest = statistics.median(times[1:]), max(times[1:])
    print(f"a change on one host is on another after {median:.1f} ms, at most {longest:.1f} ms")


def make_project(service: Service, headers: dict[str, str]) -> str:
    """Make a project with approved testimonials; return its id."""
    project = service.make_project(headers)
    path = f"/v1/projects/{project}"
    service.call("PATCH", f"{path}/widget-config", {"initialCount": ITEMS}, headers)
    for _ in range(ITEMS):
        service.call("POST", f"{path}/testimonials", VALUES, headers)
    return project


def give_token(service: Service, folder: Path, headers: dict[str, str]) -> dict[str, str]:
    """Claim the account without its mail; return the headers of an access token for reading."""
    claim = "UPDATE account SET claimed_at = created_at"
    if url := service.environment.get("TESTIMONIALS_DATABASE_URL"):
        with psycopg.connect(url) as connection:
            connection.execute(claim)
    else:
        with closing(sqlite3.connect(folder / "testimonials.db")) as database, database:
            database.execute(claim)
    account = headers["x-service-account-id"]
    arguments = ("tokens", "create", "--account", account, "--name", "bench", "--json")
    made = run_command(arguments, service.environment)
    return {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}


def prepare(
    service: Service, headers: dict[str, str], project: str, token: dict[str, str]
) -> list[Case]:
    # This is the URL that the script requests.
    feed = f"/widget/{project}/feed?lang=en"
    etag = service.call("GET", feed).headers["ETag"]
    testimonials = f"{service.url}/v1/projects/{project}/testimonials"
    wall = service.call("GET", f"/v1/projects/{project}", None, headers).data["publicPageConfig"][
        "slug"
    ]
    return [
        Case("script", f"{service.url}/widget/v1.js", {"Accept-Encoding": "gzip"}),
        Case("wall", f"{service.url}/{wall}/wall", {"Accept-Encoding": "gzip"}),
        Case("widget, rendered", f"{service.url}/widget/{project}", {"Accept-Encoding": "gzip"}),
        Case("badge, rendered", f"{service.url}/widget/{project}?shape=badge", {}),
        Case("oEmbed", f"{service.url}/oembed?url={quote(f'{service.url}/widget/{project}')}", {}),
        Case("widget data, plain", service.url + feed, {}),
        Case("widget data, gzip", service.url + feed, {"Accept-Encoding": "gzip"}),
        Case("widget data, 304", service.url + feed, {"If-None-Match": etag}),
        Case(BY_KEY, testimonials, headers),
        Case(BY_TOKEN, testimonials, token),
        writing(service, headers),
    ]


def writing(service: Service, headers: dict[str, str]) -> Case:
    """Return the case that adds testimonials, in a project of its own."""
    return Case(
        WRITE,
        f"{service.url}/v1/projects/{service.make_project(headers)}/testimonials",
        headers | {"Content-Type": "application/json"},
        dict(VALUES),
    )


def measure(case: Case, seconds: int, folder: Path) -> float:
    """Load a case for `seconds`; return how many requests a second were answered."""
    script = folder / "case.lua"
    lines = [f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}" for k, v in case.headers.items()]
    if case.body is not None:
        lines += ['wrk.method = "POST"', f"wrk.body = {json.dumps(json.dumps(case.body))}"]
    script.write_text("\n".join(lines))
    result = subprocess.run(
        ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script), case.url],
        capture_output=True,
        text=True,
        check=True,
    )
    if "Non-2xx" in result.stdout and "304" not in case.name:
        sys.exit(f"{case.name}: errors\n{result.stdout}")
    found = re.search(r"Requests/sec:\s+([0-9.]+)", result.stdout)
    return float(found[1]) if found else 0.0


def resident_megabytes(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
