"""`scripts/bench scale`: how long each page takes with 1,000 to 200,000 testimonials in a project.

    scripts/bench scale [--postgres [URL]] [--rows 1000000] [--rounds 5] [--keep DIR] [--only WORD]

A million rows are spread over 1,001 projects of one account: four have the sizes that are measured,
and all others the same size. The table is Markdown, for docs/scaling.md. Nothing here passes or
fails. With `--keep` the database stays in the folder (that of PostgreSQL at its URL), and the next
run measures it again; `--only` limits the run to pages with a word in their names.
"""

import argparse
import contextlib
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import insert, select

from testimonials import create_app
from testimonials.auth.models import Account
from testimonials.auth.sessions import start_session
from testimonials.auth.tokens import Scope, make_token
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from testimonials.projects.defaults import WIDGET_CONFIG, default_page_config
from testimonials.projects.models import Project
from tests.support.process import Service, start_service
from tests.support.servers import PostgresServer, new_database
from tools.scale_rows import COMMON, RARE, add_testimonials

SIZES = (1_000, 10_000, 100_000, 200_000)
PROJECTS = 1_001
EMAIL = "owner@example.com"


@dataclass(frozen=True)
class Door:
    """A page or an operation of the API; `{id}` and `{slug}` in its path are the project's.

    With `is_changed`, something is written to the project before each request.
    """

    name: str
    path: str
    is_changed: bool = False
    accept: str = "*/*"


DOORS = (
    Door("widget's data, unchanged", "/widget/{id}/feed"),
    Door("widget's data after a write", "/widget/{id}/feed", is_changed=True),
    Door("widget as a page, unchanged", "/widget/{id}"),
    Door("widget as a page after a write", "/widget/{id}", is_changed=True),
    Door("wall, unchanged", "/{slug}/wall"),
    Door("wall after a write", "/{slug}/wall", is_changed=True),
    Door("collection page", "/{slug}"),
    Door("inbox, pending", "/dashboard/projects/{id}/inbox"),
    Door("inbox, all", "/dashboard/projects/{id}/inbox?status=all"),
    Door("inbox, five stars", "/dashboard/projects/{id}/inbox?status=all&rating=5"),
    Door("inbox, five stars by hand", "/dashboard/projects/{id}/inbox?rating=5&source=manual"),
    Door("inbox, a form", "/dashboard/projects/{id}/inbox?status=all&form=fair"),
    Door("inbox, a rare form", "/dashboard/projects/{id}/inbox?status=rejected&form=market"),
    Door("inbox, samples", "/dashboard/projects/{id}/inbox?status=all&source=demo"),
    Door("inbox, a tag", "/dashboard/projects/{id}/inbox?status=all&tag=support"),
    Door("inbox, a rare tag", f"/dashboard/projects/{{id}}/inbox?status=all&tag={RARE}"),
    Door("inbox, a tag, pending", "/dashboard/projects/{id}/inbox?tag=support"),
    Door("inbox, trash", "/dashboard/projects/{id}/inbox?status=trash"),
    Door("inbox, spam", "/dashboard/projects/{id}/inbox?status=spam"),
    Door("search, no hit", "/dashboard/projects/{id}/inbox?status=all&q=zeppelin"),
    Door("search, a rare word", f"/dashboard/projects/{{id}}/inbox?status=all&q={RARE}"),
    Door("search, a word of each", f"/dashboard/projects/{{id}}/inbox?status=all&q={COMMON}"),
    Door("widget editor", "/dashboard/projects/{id}/widget"),
    Door("page editor", "/dashboard/projects/{id}/collect/page"),
    Door("insights", "/dashboard/projects/{id}/insights"),
    Door("collect", "/dashboard/projects/{id}/collect"),
    Door("settings", "/dashboard/projects/{id}/settings"),
    Door("insights of 365 days", "/dashboard/projects/{id}/insights?days=365"),
    Door("integrations", "/dashboard/projects/{id}/settings/developers"),
    Door("API list, 50", "/v1/projects/{id}/testimonials?limit=50"),
    Door("API list after a write", "/v1/projects/{id}/testimonials?limit=50", is_changed=True),
    Door("token form", "/dashboard/projects/{id}/settings/developers/tokens/new"),
    Door("case file", "/v1/projects/{id}/case-file"),
    Door("case file as a page", "/v1/projects/{id}/case-file", accept="text/html"),
    Door("API submissions, 50", "/v1/projects/{id}/submissions?limit=50"),
    Door(
        "API submissions, a rare form",
        "/v1/projects/{id}/submissions?status=approved&form=market&limit=50",
    ),
    Door("API submissions, four stars", "/v1/projects/{id}/submissions?minRating=4&limit=50"),
    Door("API submissions, a word", f"/v1/projects/{{id}}/submissions?status=all&q={RARE}"),
)
# These belong to the account rather than to a project.
ACCOUNT_DOORS = (
    Door("projects page", "/dashboard/projects"),
    Door("projects page, a search", "/dashboard/projects?q=shop+7"),
    Door("account page", "/dashboard/account"),
)


class Visitor:
    """A client with one connection to a service, which is signed in and has a token."""

    def __init__(self, service: Service, headers: dict[str, str]) -> None:
        self.address = urlsplit(service.url).netloc
        self.headers = headers
        self.connection = http.client.HTTPConnection(self.address)

    def get(self, path: str, accept: str = "*/*") -> tuple[float, int]:
        """Return how many milliseconds an answer took, and how many bytes it has."""
        begun = time.perf_counter()
        self.connection.request("GET", path, headers=self.headers | {"Accept": accept})
        answer = self.connection.getresponse()
        size = len(answer.read())
        assert answer.status == 200, (path, answer.status)
        return (time.perf_counter() - begun) * 1_000, size


def main(arguments: list[str]) -> None:
    """Fill a new instance, request each door in turn, and print the medians."""
    parser = argparse.ArgumentParser(prog="scripts/bench scale")
    parser.add_argument("--postgres", nargs="?", const="new", metavar="URL")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    wanted = parser.parse_args(arguments)
    sizes = [size for size in SIZES if size <= wanted.rows // 2]
    doors = [door for door in (*DOORS, *ACCOUNT_DOORS) if wanted.only in door.name]
    with (
        tempfile.TemporaryDirectory(prefix="testimonials-scale-") as home,
        _open_database(wanted.postgres) as settings,
    ):
        folder = wanted.keep or Path(home)
        owner = folder / "owner.json"
        if not owner.exists():
            begun = time.perf_counter()
            filled = fill(folder, settings, sizes, wanted.rows)
            print(f"filled in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
            owner.write_text(json.dumps(filled))
        headers, projects = json.loads(owner.read_text())
        service = start_service(folder, (), {"log_level": "warning"} | settings)
        try:
            by_size = {int(size): each for size, each in projects.items()}
            measure(service, headers, by_size, wanted.rounds, doors)
        finally:
            service.kill()


@contextlib.contextmanager
def _open_database(postgres: str | None) -> Iterator[dict[str, str]]:
    """Yield the settings for a new database, or for the one at a URL."""
    if postgres != "new":
        yield {"database_url": postgres} if postgres else {}
        return
    server = PostgresServer()
    try:
        with new_database(server.url) as url:
            yield {"database_url": url}
    finally:
        server.stop()


def fill(
    folder: Path, settings: dict[str, str], sizes: list[int], rows: int
) -> tuple[dict[str, str], dict[int, tuple[str, str]]]:
    """Fill a new instance; return its owner's headers, and the id and slug for each size."""
    service = start_service(folder, (), {"log_level": "warning"} | settings)
    try:
        assert service.run("accounts", "create", EMAIL, "--no-mail").returncode == 0
    finally:
        service.kill()
    app = create_app(load_settings({}, {"instance_path": str(folder)} | settings))
    with app.app_context():
        with write():
            owner = db.session.scalars(select(Account)).one()
            owner.project_limit = 2 * PROJECTS
            # As if the account were claimed; nobody signs in with this password.
            owner.claimed_at, owner.password_hash = owner.created_at, "none"
            session = start_session(owner, "bench")
            _, token = make_token(
                owner.id,
                name="bench",
                made_by_id=owner.id,
                scopes=[Scope.READ, Scope.PUBLISH, Scope.CONFIGURE],
                project_id=None,
                days=None,
            )
            ids = _add_projects(owner.id)
        others = PROJECTS - len(sizes)
        rest = max(0, rows - sum(sizes)) // others
        spread = {ids[place]: size for place, size in enumerate(sizes)}
        add_testimonials(spread | dict.fromkeys(ids[len(sizes) :], rest))
        _analyze()
    headers = {"Authorization": f"Bearer {token}", "Cookie": f"testimonials={session}"}
    return headers, {size: (ids[place], f"shop-{place}") for place, size in enumerate(sizes)}


def _add_projects(account_id: str) -> list[str]:
    ids = [f"{number:024x}" for number in range(PROJECTS)]
    rows = [
        {
            "id": project,
            "account_id": account_id,
            "business_name": f"Shop {number}",
            "slug": f"shop-{number}",
            "page_config": default_page_config(f"Shop {number}"),
            "widget_config": WIDGET_CONFIG,
        }
        for number, project in enumerate(ids)
    ]
    db.session.execute(insert(Project), rows)
    return ids


def _analyze() -> None:
    """Gather the statistics that PostgreSQL would have after an hour; SQLite needs none."""
    engine = db.engine
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")


def measure(
    service: Service,
    headers: dict[str, str],
    projects: dict[int, tuple[str, str]],
    rounds: int,
    doors: Sequence[Door],
) -> None:
    """Request each door of each project in turn, for several rounds, and print the medians."""
    visitor = Visitor(service, headers)
    times: dict[tuple[str, int], list[float]] = {}
    of_project = [door for door in doors if door not in ACCOUNT_DOORS]
    for turn in range(rounds + 1):
        for door in of_project:
            for size, (project, slug) in projects.items():
                if door.is_changed:
                    _write(service, headers, project)
                took, _ = visitor.get(door.path.format(id=project, slug=slug), door.accept)
                # The first round is left out: nothing is in memory yet.
                if turn:
                    times.setdefault((door.name, size), []).append(took)
    _print_table(times, of_project, list(projects))
    print()
    for door in ACCOUNT_DOORS:
        if door in doors:
            answers = [visitor.get(door.path) for _ in range(rounds + 1)]
            median = statistics.median(took for took, _ in answers[1:])
            size = answers[0][1]
            print(f"- {door.name} of {PROJECTS:,} projects: {median:.1f} ms, {size:,} bytes")


def _write(service: Service, headers: dict[str, str], project: str) -> None:
    values = {"authorName": "Maya Kowalski", "authorRole": "Owner", "text": "It took one day."}
    answer = service.call("POST", f"/v1/projects/{project}/testimonials", values, headers)
    assert answer.status == 200, answer.body


def _print_table(
    times: dict[tuple[str, int], list[float]], doors: Sequence[Door], sizes: list[int]
) -> None:
    columns = "".join(f" {size:,} |" for size in sizes)
    print(f"| milliseconds, in a project of |{columns} last to first |")
    print(f"|---|{'---|' * (len(sizes) + 1)}")
    for door in doors:
        medians = [statistics.median(times[door.name, size]) for size in sizes]
        cells = "".join(f" {each:.1f} |" for each in medians)
        print(f"| {door.name} |{cells} {medians[-1] / medians[0]:.1f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
