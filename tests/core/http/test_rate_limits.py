"""Rate limits, in the database and in Redis (decisions, "Accounts": they survive a restart)."""

import socket
import time
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.rate_limits import Limit, RateLimitCounter, client_key
from testimonials.operations.expiry import sweep
from tests.collection.authors.authors import Visitor
from tests.conftest import MakeApp
from tests.support.racing import at_once
from tests.support.servers import RedisServer, free_port

pytestmark = pytest.mark.postgres


def is_let_in(app: Flask, limit: Limit, key: str = "key") -> bool:
    with app.app_context():
        try:
            limiter.count(limit, key)
        except RateLimited:
            return False
        return True


@pytest.fixture(params=["database", pytest.param("redis", marks=pytest.mark.thorough)])
def make_counting_app(request: pytest.FixtureRequest, make_app: MakeApp) -> MakeApp:
    """Make applications that count in the one storage or the other."""
    if request.param == "database":
        return make_app
    url = request.getfixturevalue("redis_url")

    def make(**settings: object) -> Flask:
        return make_app(ratelimit_storage_url=url, **settings)

    return make


@pytest.fixture
def limit(request: pytest.FixtureRequest) -> Limit:
    """A limit of a scope of its own, since one Redis serves all tests."""
    return Limit(f"test-{time.time_ns()}", 20, "in this test")


def test_so_many_are_let_in_and_no_more(make_counting_app, limit):
    app = make_counting_app()
    assert [is_let_in(app, limit) for _ in range(22)] == [True] * 20 + [False] * 2
    # Keys and scopes count apart.
    assert is_let_in(app, limit, "another key")
    assert is_let_in(app, Limit(f"{limit.scope}-other", 1, ""))


def test_counts_are_exact_over_threads_and_apps(make_counting_app, limit):
    apps = [make_counting_app(), make_counting_app()]

    def count(number: int) -> int:
        return sum(is_let_in(apps[number % 2], limit) for _ in range(5))

    assert sum(at_once(8, count)) == 20


def test_a_new_hour_starts_from_nothing_also_after_a_clock_is_put_back(app, limit):
    def change_windows(expires_at: Any) -> None:
        with app.app_context(), write():
            db.session.execute(update(RateLimitCounter).values(expires_at=expires_at))

    assert [is_let_in(app, limit) for _ in range(21)][-1] is False
    change_windows(time.time() - 1)
    assert [is_let_in(app, limit) for _ in range(21)] == [True] * 20 + [False]
    # A clock that is put back keeps nobody out.
    change_windows(RateLimitCounter.expires_at + 1e8)
    assert [is_let_in(app, limit) for _ in range(21)] == [True] * 20 + [False]
    change_windows(RateLimitCounter.expires_at + 1e8)
    with app.app_context():
        assert sweep()["rateLimits"] == 1


def test_requests_refused_do_not_lengthen_the_hour(app):
    limit = Limit("short", 1, "")
    waits = []
    with app.app_context():
        limiter.count(limit, "key")
        for _ in range(3):
            with pytest.raises(RateLimited) as caught:
                limiter.count(limit, "key")
            waits.append(int(caught.value.headers["Retry-After"]))
    assert waits == sorted(waits, reverse=True)
    assert 3590 <= waits[-1] <= waits[0] <= 3600


@pytest.mark.parametrize(
    "kind", ["away", "unix", pytest.param("silent", marks=pytest.mark.thorough)]
)
def test_without_redis_nobody_signs_up_or_in_and_is_told_why(make_app, kind, tmp_path, caplog):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if kind == "silent" else free_port()
        url = f"redis://:s3cret@127.0.0.1:{port}/0?socket_timeout=0.05"
        app = make_app(ratelimit_storage_url=f"unix://{tmp_path}/no" if kind == "unix" else url)
        client = app.test_client()
        answer = client.post("/v1/auth/agent-init", json={"email": "me@example.com"})
        assert (answer.status_code, answer.get_json()["code"]) == (503, "COUNTING_FAILED")
        assert answer.headers["Retry-After"] == "1"
        assert "Redis" in answer.get_json()["message"]
        for path in ("/login", "/signup", "/forgot"):
            page = client.post(path, data={"email": "me@example.com", "password": "three"})
            assert (page.status_code, "Redis" in page.text) == (503, True)
        with app.app_context():
            assert not limiter.can_count()
    told = [each.message for each in caplog.records if "(COUNTING_FAILED): " in each.message]
    assert len(told) == 5
    assert "s3cret" not in str(told)


def test_without_redis_visitors_still_write(make_app, make_caller):
    app = make_app(ratelimit_storage_url=f"redis://127.0.0.1:{free_port()}/0")
    with app.app_context():
        options = limiter.storage.storage.connection_pool.connection_kwargs
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (2, 2)
    project = make_caller("owner@example.com", is_claimed=True, on=app).create_project(slug="kiln")
    visitor = Visitor(app.test_client(), project["_id"], "kiln")
    link = visitor.write()
    visitor.post(f"{link}/correct", name="Noor", text="Other words")
    assert visitor.row().text == "Other words"
    assert visitor.mailed() == []


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["CONFIG SET maxmemory 1", "REPLICAOF 127.0.0.1 1"])
def test_a_redis_that_does_not_count_is_told(make_app, redis_url, fault):
    assert redis_url
    server = RedisServer()
    try:
        app = make_app(ratelimit_storage_url=server.url)
        with app.app_context():
            assert limiter.can_count()
            limiter.storage.storage.execute_command(*fault.split())
        warnings = app.test_client().get("/readyz").get_json()["warnings"]
        assert warnings["redis"] == "can't count: it is unreachable, full or read-only"
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("fe80::1%eth0", "fe80::/64"),
        ("192.0.2.1:5061", "192.0.2.1"), ("[2001:db8:1:2::7]:5061", "2001:db8:1:2::/64"),
        ("::1", "::/64"), ("unix socket", "unix socket"), ("x" * 100, "x" * 64), ("", "unknown"),
    ],
)  # fmt: skip
def test_a_client_is_an_address_or_a_network_of_ipv6(address, key):
    with Flask(__name__).test_request_context(environ_base={"REMOTE_ADDR": address}):
        assert client_key() == key
