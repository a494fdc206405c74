"""Which tests a run has, the cast, the factories and the ways into the application.

A test that takes `app` (or anything built on it) runs on SQLite; with the mark `postgres` also on
PostgreSQL, in a run that has it. The servers are started once for a whole run, by the process that
starts the workers.

A test names what it takes without types, which stand at the fixtures; nothing checks them there.
"""

import gc
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis.internal.conjecture import providers
from jinja2 import BytecodeCache, FileSystemBytecodeCache
from werkzeug.test import TestResponse
from xdist.scheduler import LoadScopeScheduling

from setup import compile_catalogs
from testimonials import create_app
from testimonials.auth import credentials
from testimonials.auth.accounts import claim_account, start_account
from testimonials.auth.credentials import hash_password
from testimonials.core import clock
from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.settings.table import load_settings
from testimonials.testimonials.counts import find_wrong_counts
from tests.support import sampling
from tests.support.applications import Applications
from tests.support.process import Service, start_service
from tests.support.servers import (
    POSTGRES,
    MailSink,
    PostgresServer,
    RedisServer,
    find_program,
    memory_folder,
    new_database,
)

# Pages are as wide as their fonts, so browsers see one set of them, whatever the machine has.
FONTS = Path(__file__).parent / "fonts" / f"{os.environ.get('TESTS_FONTS', 'dejavu')}.conf"
os.environ["FONTCONFIG_FILE"] = str(FONTS)
# A time zone that nobody forgets by accident, for this process and those that it starts.
os.environ["TZ"] = "<+1245>-12:45"
time.tzset()

# The same examples each time; and a loaded machine is slow, which is no finding.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")
# It would also draw constants of whichever of our modules this worker happens to have loaded.
providers.is_local_module_file = lambda _path: False

REDIS = "TESTS_REDIS_URL"
PASSWORD = "three blue wardrobes"
# The same algorithm at a hundredth of the cost, which is a quarter of a second for each password.
# The tests of passwords and of running services have the real one.
QUICK_METHOD = "scrypt:1024:8:1"

_servers: list[PostgresServer | RedisServer] = []


# The marks of what a plain run leaves out, and the sentence that it ends with.
NOT_PLAIN = {"deep", "thorough"}
WHOLE_FILE = re.compile(rf"^pytestmark = .*\bmark\.({'|'.join(sorted(NOT_PLAIN))})\b", re.M)
BROWSER = Path(__file__).parent / "browser"
# Where a test goes to every door.
LONG = ("attacks", "contracts")
LEFT_OUT = (
    "This was SQLite without a browser. `./scripts/test --all` adds PostgreSQL, Redis, Chromium, "
    "Firefox and WebKit with axe, proxies, the one file, WordPress, and whatever takes long."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="Add PostgreSQL, Redis, browsers and what takes long."
    )
    parser.addoption(
        "--deep", action="store_true", help="As --all, with the full numbers in place of samples."
    )
    parser.addoption("--postgres", action="store_true", help="What runs on PostgreSQL, alone.")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        compile_catalogs()
    config.option.all |= config.option.deep
    sampling.IS_DEEP = config.option.deep
    has_servers = config.option.all or config.option.postgres
    if is_worker or not has_servers or config.option.collectonly:
        return
    for name, variable, server in (
        ("initdb", POSTGRES, PostgresServer),
        ("redis-server", REDIS, RedisServer),
    ):
        if find_program(name) is None:
            raise pytest.UsageError(f"{name} is not installed; scripts/test --all installs it.")
        started = server()
        _servers.append(started)
        os.environ[variable] = started.url


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread that are wholly for other runs: they import what is not installed."""
    if config.option.all or config.option.postgres:
        return None
    if BROWSER in (collection_path, *collection_path.parents):
        return True
    if collection_path.suffix != ".py":
        return None
    return bool(WHOLE_FILE.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" not in metafunc.fixturenames:
        return
    option = metafunc.config.option
    is_for_both = metafunc.definition.get_closest_marker("postgres") is not None
    backends = [] if option.postgres else ["sqlite"]
    if is_for_both and (option.all or option.postgres):
        backends.append("postgresql")
    metafunc.parametrize("backend", backends or ["sqlite"])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run is not for."""
    is_wanted = _is_plain
    if config.option.postgres:
        is_wanted = _runs_on_postgres
    elif config.option.all:
        is_wanted = _is_for_all
    left_out = [item for item in items if not is_wanted(item)]
    wanted = [item for item in items if is_wanted(item)]
    # The last ones are short, or one worker is at a long one when the others have nothing left.
    last = set([item for item in wanted if _is_short(item)][-len(wanted) // 10 :])
    items[:] = sorted(wanted, key=last.__contains__)
    config.hook.pytest_deselected(items=left_out)


def _is_short(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    is_long = item.path.parent.name in LONG or BROWSER in item.path.parents
    return not (is_long or marks & {"process", *NOT_PLAIN})


def _runs_on_postgres(item: pytest.Item) -> bool:
    """Tell whether a test runs on PostgreSQL: by its backend, by what it takes, or by its mark."""
    assert isinstance(item, pytest.Function)
    if "empty_postgres" in item.fixturenames:
        return True
    if "backend" in item.fixturenames:
        return bool(item.callspec.params["backend"] == "postgresql")
    # The mark of a whole file is not about what takes no database, unless processes have one.
    return {"postgres", "process"} <= {mark.name for mark in item.iter_markers()}


def _is_for_all(item: pytest.Item) -> bool:
    return item.config.option.deep or item.get_closest_marker("deep") is None


def _is_plain(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    return not (marks & NOT_PLAIN or _runs_on_postgres(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Say last what this run left out."""
    yield
    if not (config.option.all or config.option.postgres or config.option.collectonly):
        terminalreporter.write_line(LEFT_OUT)


# What these make for their tests takes long, so one worker makes it, and early.
TOGETHER = (
    "tests/browser/account/test_company.py", "tests/browser/test_every_page.py",
    "tests/browser/widget/test_other_engines.py",
    "tests/operations/backup/test_restore.py", "tests/operations/server/test_binary.py",
    "tests/operations/server/test_nginx.py", "tests/operations/server/test_packaging.py",
    "tests/operations/server/test_serve.py", "tests/operations/server/test_serve_pictures.py",
    "tests/operations/server/test_serve_workers.py",
    "tests/operations/server/hosts/test_two_hosts.py", "tests/projects/domains/test_journey.py",
)  # fmt: skip


class Scheduling(LoadScopeScheduling):
    """Gives each worker one test after another, but those of some files to one.

    xdist's own groups are names at the end of a node's id, which pytest 9.2 no longer takes.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file in TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Hand the tests out in the way above, where scripts/test asks for groups."""
    return Scheduling(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, not at all that was imported for them.

    Looking through half a million lasting objects again and again takes a quarter of a run.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    while _servers:
        _servers.pop().stop()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    _migrate({"instance_path": str(folder)})
    return folder / "testimonials.db"


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with new_database(os.environ[POSTGRES]) as url:
        _migrate({"instance_path": str(tmp_path_factory.mktemp("pg")), "database_url": url})
        yield url


@pytest.fixture
def empty_postgres() -> Iterator[str]:
    """The address of an empty database on a real PostgreSQL, of the test's own."""
    with new_database(os.environ[POSTGRES]) as url:
        yield url


@pytest.fixture
def redis_url() -> str:
    return os.environ[REDIS]


def _migrate(overrides: dict[str, object]) -> None:
    app = create_app(load_settings({}, overrides))
    with app.app_context():
        upgrade(db.engine)
        db.engine.dispose()


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the whole run, which its workers have in common."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def compiled_templates(shared_folder: Path) -> BytecodeCache:
    """What templates compile to, which the applications of all tests share."""
    folder = shared_folder / "templates"
    folder.mkdir(exist_ok=True)
    return FileSystemBytecodeCache(str(folder))


@pytest.fixture(scope="session")
def applications(compiled_templates: BytecodeCache) -> Iterator[Applications]:
    """What the tests of this worker have one after another."""
    with memory_folder() as folder:
        kept = Applications(Path(folder), compiled_templates)
        yield kept
        kept.close()


@pytest.fixture
def instance(request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty instance folder; one of its own where a process, which may outlive it, runs."""
    is_process = request.node.get_closest_marker("process") is not None
    if "make_app" in request.fixturenames and not is_process:
        applications: Applications = request.getfixturevalue("applications")
        with applications.clean_folder():
            yield applications.folder
    else:
        with memory_folder() as folder:
            yield Path(folder)


MakeApp = Callable[..., Flask]


@pytest.fixture
def make_app(
    backend: str,
    instance: Path,
    applications: Applications,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[MakeApp]:
    """Make applications with settings of the test's choice, all on one empty database."""
    monkeypatch.setattr(credentials, "METHOD", QUICK_METHOD)
    overrides: dict[str, object] = {
        "instance_path": str(instance),
        "base_url": "https://testimonials.example.com",
        # Tests fill in forms faster than people.
        "min_form_seconds": 0,
    }
    if backend == "postgresql":
        overrides["database_url"] = request.getfixturevalue("postgres_url")
    else:
        template: Path = request.getfixturevalue("sqlite_template")
        shutil.copy(template, instance / "testimonials.db")
    with applications.lend(overrides) as take:
        yield take


@pytest.fixture
def app(make_app: MakeApp, request: pytest.FixtureRequest) -> Iterator[Flask]:
    """The application with default settings; a test with the mark `recount` leaves counts right."""
    app = make_app()
    yield app
    if request.node.get_closest_marker("recount") is not None:
        with app.app_context():
            assert find_wrong_counts(db.session.connection()) == []
            db.session.rollback()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@dataclass
class Caller:
    client: FlaskClient
    account_id: str
    email: str
    api_key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"x-service-account-id": self.account_id, "x-api-key": self.api_key}

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(path, headers=self.headers, **options)

    def post(self, path: str, body: object = None) -> TestResponse:
        return self.client.post(path, headers=self.headers, json={} if body is None else body)

    def patch(self, path: str, body: object) -> TestResponse:
        return self.client.patch(path, headers=self.headers, json=body)

    def delete(self, path: str) -> TestResponse:
        return self.client.delete(path, headers=self.headers)

    def create_project(self, **body: Any) -> dict[str, Any]:
        """Create a project, without samples unless asked for; return it."""
        answer = self.post("/v1/projects", {"skipDemoTestimonials": True} | body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json["data"])  # type: ignore[index]

    def create_testimonial(self, project_id: str, **body: Any) -> dict[str, Any]:
        values = {"authorName": "Maya Kowalski", "text": "It simply works."} | body
        answer = self.post(f"/v1/projects/{project_id}/testimonials", values)
        assert answer.status_code == 200, answer.text
        return dict(answer.json["data"])  # type: ignore[index]


@cache
def hash_of_password() -> str:
    """Return the hash of `PASSWORD`; making it anew for each account takes most of a test's
    time."""
    return hash_password(PASSWORD)


MakeCaller = Callable[..., Caller]


def start_caller(app: Flask, email: str, *, is_claimed: bool = False) -> Caller:
    """Make an account, claimed or not, past the rate limits."""
    with app.app_context():
        lock_for_writing()
        access = start_account(email)
        assert access is not None
        if is_claimed:
            claim_account(access.account, hash_of_password())
        db.session.commit()
        return Caller(app.test_client(), access.account.id, email, access.api_key)


@pytest.fixture
def make_caller(app: Flask) -> MakeCaller:
    def make(email: str, *, is_claimed: bool = False, on: Flask | None = None) -> Caller:
        return start_caller(on or app, email, is_claimed=is_claimed)

    return make


@pytest.fixture
def agent(make_caller: MakeCaller) -> Caller:
    """An agent with an account that Nobody has claimed the account."""
    return make_caller("agents-owner@example.com")


@pytest.fixture
def owner(make_caller: MakeCaller) -> Caller:
    return make_caller("owner@example.com", is_claimed=True)


@pytest.fixture
def outsider(make_caller: MakeCaller) -> Caller:
    """Somebody else with an account of their own."""
    return make_caller("outsider@example.org", is_claimed=True)


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    """The owner's browser, which is signed in."""
    from tests.auth.browsers import open_browser  # It takes the cast from here.

    return open_browser(app, owner)


class MovableClock:
    """The clock of a test: stands still until it is moved."""

    def __init__(self) -> None:
        self.time = clock.now()

    def __call__(self) -> datetime:
        return self.time

    def move(self, **amount: float) -> None:
        self.time += timedelta(**amount)


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch) -> MovableClock:
    movable = MovableClock()
    monkeypatch.setattr(clock, "now", movable)
    return movable


@pytest.fixture
def smtp() -> Iterator[MailSink]:
    sink = MailSink()
    sink.start()
    yield sink
    sink.stop()


Case = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def case() -> Iterator[Case]:
    """Check one of many cases under its name; in the end every one that failed is named."""
    failed: list[str] = []

    @contextmanager
    def check(*names: object) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            failed.append(f"{' '.join(map(str, names))}: {error}")

    yield check
    assert not failed, "\n".join(["", *failed])


StartService = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartService]:
    """Start `testimonials serve` as a process, on an empty instance folder unless one is given."""
    running: list[Service] = []

    def start_one(*flags: str, instance: Path | None = None, **settings: str) -> Service:
        service = start_service(instance or tmp_path / "service", flags, settings)
        running.append(service)
        return service

    yield start_one
    for service in running:
        service.kill()
