"""`scripts/bench`: how fast the hot paths are, as ratios to a floor measured in the same run.

The floor of the service is a bare WSGI function of 1 kB on the same server, kept to one core; that
of the widget is in `bench_widget`. Rounds are interleaved, so that a machine that slows down for a
while slows everything alike; the figures are medians. Nothing here passes or fails.
"""

import json
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.support.process import Service, run_command, start_service
from tests.support.servers import free_port, wait_for
from tests.support.visitors import Visitors
from tests.tools.bench_page import measure_page
from tests.tools.bench_webhooks import measure_webhooks
from tests.tools.bench_widget import measure_widget
from tests.tools.bench_workers import measure_start, measure_workers

CONNECTIONS = 16
SECONDS = 3
ROUNDS = 3
ITEMS = 50
VISITORS = 2000
BULK = 100
BY_KEY, BY_TOKEN = "API list, by key", "API list, by access token"
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
    """One address to load, with headers and, for a write, a body."""

    name: str
    url: str
    headers: dict[str, str]
    body: dict[str, object] | None = None


def main() -> None:
    """Load each case in turn, some rounds of it, and print the medians and their ratios."""
    if shutil.which("wrk") is None:
        sys.exit("scripts/bench needs wrk: apt-get install wrk")
    folder = Path(tempfile.mkdtemp(prefix="testimonials-bench-"))
    port = free_port()
    floor = subprocess.Popen([sys.executable, "-c", FLOOR, str(port)])
    service = start_service(folder, (), {"log_level": "warning"})
    try:
        cases = [Case("bare waitress, 1 kB (floor)", f"http://127.0.0.1:{port}/", {})]
        headers = service.sign_up()
        project = make_project(service, headers)
        cases += prepare(service, headers, project, give_token(service, folder, headers))
        wait_for(lambda: measure(cases[0], 1, folder) > 0, what="the floor")
        rates: dict[str, list[float]] = {case.name: [] for case in cases}
        for _ in range(ROUNDS):
            for case in cases:
                rates[case.name].append(measure(case, SECONDS, folder))
        report(rates)
        (worker,) = service.workers
        print(f"memory of a worker: {resident_megabytes(worker):.0f} MB")
        measure_workers(service, folder, cases[1:], lambda case: measure(case, SECONDS, folder))
        measure_bulk(service, headers)
        measure_widget(service, project, headers)
        measure_page(service, headers)
        service.kill()
        measure_submissions(folder, statistics.median(rates[cases[0].name]))
        measure_start(folder, ROUNDS)
        measure_depth(folder)
        measure_webhooks(folder)
    finally:
        floor.kill()
        service.kill()
        shutil.rmtree(folder, ignore_errors=True)


def make_project(service: Service, headers: dict[str, str]) -> str:
    """Make a project with approved testimonials; return its id."""
    body = {"skipDemoTestimonials": True}
    project = str(service.call("POST", "/v1/projects", body, headers).data["_id"])
    path = f"/v1/projects/{project}"
    service.call("PATCH", f"{path}/widget-config", {"initialCount": ITEMS}, headers)
    for _ in range(ITEMS):
        service.call("POST", f"{path}/testimonials", VALUES, headers)
    return project


def give_token(service: Service, folder: Path, headers: dict[str, str]) -> dict[str, str]:
    """Claim the account past its mail; return the headers of an access token that may read."""
    with closing(sqlite3.connect(folder / "testimonials.db")) as database, database:
        database.execute("UPDATE account SET claimed_at = created_at")
    account = headers["x-service-account-id"]
    arguments = ("tokens", "create", "--account", account, "--name", "bench", "--json")
    made = run_command(arguments, service.environment)
    return {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}


def prepare(
    service: Service, headers: dict[str, str], project: str, token: dict[str, str]
) -> list[Case]:
    """Return the cases to load."""
    second = service.call("POST", "/v1/projects", {}, headers).data["_id"]
    # As the script asks for it.
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
        Case("widget data, plain", service.url + feed, {}),
        Case("widget data, gzip", service.url + feed, {"Accept-Encoding": "gzip"}),
        Case("widget data, 304", service.url + feed, {"If-None-Match": etag}),
        Case(BY_KEY, testimonials, headers),
        Case(BY_TOKEN, testimonials, token),
        Case(
            "POST testimonial, durable",
            f"{service.url}/v1/projects/{second}/testimonials",
            headers | {"Content-Type": "application/json"},
            dict(VALUES),
        ),
    ]


def measure(case: Case, seconds: int, folder: Path) -> float:
    """Load one case for `seconds`; return the requests a second that were answered without
    error."""
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


def report(rates: dict[str, list[float]]) -> None:
    """Print each case's median and its ratio to the first one."""
    medians = {name: statistics.median(values) for name, values in rates.items()}
    floor = next(iter(medians.values()))
    for name, rate in medians.items():
        print(f"{name:32} {rate:10,.0f} req/s  {rate / floor:6.3f} of the floor")
    print(f"a token instead of the key: {medians[BY_TOKEN] / medians[BY_KEY]:.2f} times the rate")


def measure_bulk(service: Service, headers: dict[str, str]) -> None:
    """Print how long 100 testimonials take in one call, against 100 calls."""
    body = {"skipDemoTestimonials": True}
    project = service.call("POST", "/v1/projects", body, headers).data["_id"]
    path, ratios = f"/v1/projects/{project}/testimonials", []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(BULK):
            service.call("POST", path, VALUES, headers)
        middle = time.perf_counter()
        answer = service.call("POST", f"{path}/bulk", {"testimonials": [VALUES] * BULK}, headers)
        ended = time.perf_counter()
        assert {each["status"] for each in answer.data["results"]} == {"created"}
        ratios.append((middle - begun) / (ended - middle))
    print(
        f"{BULK} testimonials in one call: {statistics.median(ratios):.1f} x as fast as one by one"
    )


def resident_megabytes(pid: int) -> float:
    """Return the memory that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def measure_submissions(folder: Path, floor: float) -> None:
    """Print how many visitors can send a form in a second, and check that each is there once.

    The visitors are threads of Python, on the other core at best, so this is the least it can be.
    """
    shutil.rmtree(folder / "crowd", ignore_errors=True)
    settings = {"trusted_proxies": "1", "min_form_seconds": "0", "log_level": "warning"}
    service = start_service(folder / "crowd", (), settings)
    try:
        body = {"slug": "crowd", "skipDemoTestimonials": True}
        service.call("POST", "/v1/projects", body, service.sign_up())
        visitors = Visitors(f"{service.url}/crowd", VISITORS, CONNECTIONS)
        for name, rate in (
            ("collection page, opened", visitors.open_forms()),
            ("collection page, sent", visitors.send_forms()),
            ("collection page, sent again", visitors.send_forms()),
        ):
            print(f"{name:32} {rate:10,.0f} req/s  {rate / floor:6.3f} of the floor")
        with closing(sqlite3.connect(folder / "crowd" / "testimonials.db")) as connection:
            query = "SELECT count(*), count(DISTINCT text) FROM testimonial"
            rows, texts = connection.execute(query).fetchone()
        print(f"of {VISITORS} visitors stored: {texts}, doubled: {rows - texts}")
    finally:
        service.kill()


def measure_depth(folder: Path) -> None:
    """Print what a page of a project with 200,000 rows costs at depth; no answer is from memory."""
    service = start_service(folder, (), {"log_level": "warning"})
    try:
        headers = service.run("accounts", "create", "deep@example.com", "--no-mail", "--json")
        account = json.loads(headers.stdout)
        credentials = {
            "x-service-account-id": account["accountId"],
            "x-api-key": account["apiKey"],
        }
        body = {"skipDemoTestimonials": True}
        project = service.call("POST", "/v1/projects", body, credentials).data["_id"]
        fill(folder / "testimonials.db", project)
        path = f"/v1/projects/{project}/testimonials?limit=50&offset="
        base = 0.0
        for offset in (0, 1_000, 100_000):
            # Offsets differ by one, so each page is read from the database.
            urls = [f"{path}{offset + step}" for step in range(15)]
            cost = median_seconds(service, urls, credentials)
            base = base or cost
            print(f"API list at offset {offset:7,}: {cost * 1000:6.1f} ms  {cost / base:5.1f} x")
    finally:
        service.kill()


def fill(database: Path, project: str) -> None:
    """Add 200,000 approved testimonials."""
    columns = (
        "id, project_id, status, source, author_name, author_role, text, submitted_at, created_at, "
        "updated_at"
    )
    rows = (
        (f"{n:024x}", project, "approved", "manual", "Maya", "Owner", TEXT, n, n, n)
        for n in range(1, 200_001)
    )
    with closing(sqlite3.connect(database)) as connection, connection:
        marks = ", ".join("?" * 10)
        connection.executemany(f"INSERT INTO testimonial ({columns}) VALUES ({marks})", rows)


def median_seconds(service: Service, paths: list[str], headers: dict[str, str]) -> float:
    """Return the median time of one GET each."""
    times = []
    for path in paths:
        begun = time.perf_counter()
        assert service.call("GET", path, None, headers).status == 200
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    main()
