"""`scripts/bench`: how fast the hot paths are, as ratios to a floor measured in the same run.

The floor of the service is in `bench_paths`, that of the widget in `bench_widget`. Rounds are
interleaved, so that a machine that slows down for a while slows everything alike; the figures are
medians. Nothing here passes or fails.
"""

import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests.support.process import Service, start_service
from tests.support.visitors import Visitors
from tools.bench_page import measure_page
from tools.bench_paths import (
    CONNECTIONS,
    ROUNDS,
    SECONDS,
    TEXT,
    measure,
    measure_paths,
    measure_propagation,
    open_sites,
    print_rate,
    resident_megabytes,
)
from tools.bench_webhooks import measure_webhooks
from tools.bench_widget import measure_widget
from tools.bench_workers import measure_start, measure_workers, read_megabytes

VISITORS = 2000


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="testimonials-bench-"))
    try:
        with open_sites(folder) as (floor, sites):
            rate = measure_paths(floor, sites, folder)
            measure_propagation(sites[-1], folder)
            service, headers = sites[0].service, sites[0].headers
            (worker,) = service.workers
            own = read_megabytes(worker, "Private_")
            print(f"memory of a worker: {resident_megabytes(worker):.0f} MB, its own {own:.0f} MB")
            measure_workers(
                service, folder, sites[0].cases, lambda case: measure(case, SECONDS, folder)
            )
            measure_widget(service, headers)
            measure_page(service, headers)
        measure_submissions(folder, rate)
        measure_start(folder, ROUNDS)
        measure_depth(folder)
        measure_webhooks(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_submissions(folder: Path, floor: float) -> None:
    """Print how many visitors can send a form in a second, and check that each is stored once.

    The visitors are threads of Python, at best on the other core, so this is a lower bound.
    """
    shutil.rmtree(folder / "crowd", ignore_errors=True)
    settings = {"trusted_proxies": "1", "min_form_seconds": "0", "log_level": "warning"}
    service = start_service(folder / "crowd", (), settings)
    try:
        service.make_project(service.sign_up(), slug="crowd")
        visitors = Visitors(f"{service.url}/crowd", VISITORS, CONNECTIONS)
        for name, rate in (
            ("collection page, opened", visitors.open_forms()),
            ("collection page, sent", visitors.send_forms()),
            ("collection page, sent again", visitors.send_forms()),
        ):
            print_rate(name, rate, floor)
        with closing(sqlite3.connect(folder / "crowd" / "testimonials.db")) as connection:
            query = "SELECT count(*), count(DISTINCT text) FROM testimonial"
            rows, texts = connection.execute(query).fetchone()
        print(f"of {VISITORS} visitors stored: {texts}, doubled: {rows - texts}")
    finally:
        service.kill()


def measure_depth(folder: Path) -> None:
    """Print what deep pages of a list of 200,000 rows cost; no answer comes from memory."""
    service = start_service(folder, (), {"log_level": "warning"})
    try:
        headers = service.run("accounts", "create", "deep@example.com", "--no-mail", "--json")
        account = json.loads(headers.stdout)
        credentials = {
            "x-service-account-id": account["accountId"],
            "x-api-key": account["apiKey"],
        }
        project = service.make_project(credentials)
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
    """Return the median time of a GET of each path."""
    times = []
    for path in paths:
        begun = time.perf_counter()
        assert service.call("GET", path, None, headers).status == 200
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    main()
