"""GET /v1/projects/:id/testimonials (spec, "GET /v1/projects/:id/testimonials")."""

import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.extensions import db, lock_for_writing
from testimonials.testimonials.testimonials import list_visible
from testimonials.widget.versions import EXTENSION, PushedVersions
from tests.conftest import Caller
from tests.support.plans import count_statements, explain_statements
from tests.support.rows import add_testimonial, change_testimonial
from tests.support.shapes import error_of

pytestmark = pytest.mark.postgres


def _list(caller: Caller, project_id: str, query: str = "") -> dict[str, Any]:
    answer = caller.get(f"/v1/projects/{project_id}/testimonials{query}")
    assert answer.status_code == 200, answer.text
    assert set(answer.json) == {"message", "data"}
    assert set(answer.json["data"]) == {"items", "limit", "offset"}
    return dict(answer.json["data"])


def _fill(caller: Caller, project_id: str, count: int) -> list[str]:
    """Add testimonials; return their ids, newest first."""
    ids = [caller.create_testimonial(project_id, text=f"No. {n}")["_id"] for n in range(count)]
    return ids[::-1]


def _ids(page: dict[str, Any]) -> list[str]:
    return [item["_id"] for item in page["items"]]


def test_a_later_project_starts_with_an_empty_list(owner, project_id):
    assert _list(owner, project_id) == {"items": [], "limit": 50, "offset": 0}
    answer = owner.get(f"/v1/projects/{project_id}/testimonials")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    ids = _fill(owner, project_id, 7)
    pages = [_list(owner, project_id, f"?limit=3&offset={offset}") for offset in (0, 3, 6)]
    assert [identifier for page in pages for identifier in _ids(page)] == ids
    assert [(page["limit"], page["offset"]) for page in pages] == [(3, 0), (3, 3), (3, 6)]


def test_the_newest_by_creation_is_first(app, owner, project_id):
    """Neither when it was submitted nor when it was reviewed counts."""
    old, time = clock.now() - timedelta(days=900), clock.now()
    first = add_testimonial(app, project_id)
    same = [add_testimonial(app, project_id, created_at=time, submitted_at=old) for _ in range(4)]
    last = add_testimonial(app, project_id, created_at=time + clock.MILLISECOND)
    change_testimonial(app, first, reviewed_at=clock.now() + timedelta(days=1), created_at=old)
    assert _ids(_list(owner, project_id)) == [last, *sorted(same, reverse=True), first]


def test_returns_only_approved_and_demo(app, owner, project_id):
    statuses = ("approved", "demo", "pending", "rejected", "spam", "withdrawn")
    ids = [add_testimonial(app, project_id, status=status) for status in statuses]
    assert _ids(_list(owner, project_id)) == [ids[1], ids[0]]


def test_an_import_shows_every_field_set(app, owner, project_id):
    twitter = {
        "id": "42", "handle": "maya", "displayName": "Maya",
        "avatarUrl": "https://example.com/m.jpg", "verified": False,
    }  # fmt: skip
    add_testimonial(
        app, project_id, source="import", author_email="maya@example.com", author_company="Kiln",
        author_avatar="https://example.com/m.jpg", twitter=twitter, rating=5, is_pinned=True,
        reviewed_at=clock.now(),
    )  # fmt: skip
    item = _list(owner, project_id)["items"][0]
    assert (item["twitter"], item["authorEmail"]) == (twitter, "maya@example.com")
    assert item["rating"] == 5
    assert item["pinned"] is True
    assert item["reviewedAt"].endswith("Z")


def test_cursors_walk_through_all_whatever_comes_in_between(owner, project_id):
    ids = _fill(owner, project_id, 7)
    path, found = f"/v1/projects/{project_id}/testimonials?limit=3", []
    while path:
        answer = owner.get(path)
        found += _ids(answer.json["data"])
        _fill(owner, project_id, 1)
        link = answer.headers.get("Link", "")
        assert len(link) > 0 or len(found) == 7
        path = link.removeprefix("<https://testimonials.example.com").removesuffix('>; rel="next"')
        # What is kept in memory has the same header.
        assert owner.get(f"/v1/projects/{project_id}/testimonials?limit=3").headers["Link"]
    assert found == ids
    for bad in ("after=x", "after=1-", "after=", f"after=1-{ids[0]}&offset=0"):
        answer = owner.get(f"/v1/projects/{project_id}/testimonials?{bad}")
        error_of(answer, 400, "VALIDATION_FAILED", "after")


def test_a_page_holds_50_or_up_to_100(app, owner, project_id):
    for _ in range(103):
        add_testimonial(app, project_id)
    assert len(_list(owner, project_id)["items"]) == 50
    for limit in ("100", "101", "999999999999999999999999999999"):
        page = _list(owner, project_id, f"?limit={limit}")
        assert (len(page["items"]), page["limit"]) == (100, 100)
    assert len(_list(owner, project_id, "?limit=100&offset=100")["items"]) == 3


def test_a_negative_or_something_else_than_digits_is_400(owner, project_id):
    for name, value in itertools.product(("limit", "offset"), ("", "-1", "1.0", "%2B5", "٣")):
        answer = owner.get(f"/v1/projects/{project_id}/testimonials?{name}={value}")
        body = error_of(answer, 400, "VALIDATION_FAILED", name)
        assert "whole number" in body["message"]
    path = f"/v1/projects/{project_id}/testimonials?status=pending&limit=5&limit=6"
    body = error_of(owner.get(path), 400, "VALIDATION_FAILED", "status", "limit")
    assert "limit, after, offset." in body["errors"]["status"][0]


def test_an_offset_past_the_end_gives_an_empty_list(owner, project_id):
    for offset in [3, 2**31, 2**62, 2**63, 10**30, 10**400]:
        _fill(owner, project_id, 2)
        page = _list(owner, project_id, f"?offset={offset}")
        assert page == {"items": [], "limit": 50, "offset": offset}
    assert _list(owner, project_id, f"?offset={'9' * 5000}&limit={'9' * 5000}")["items"] == []
    assert len(_list(owner, project_id, f"?offset={'0' * 5000}1")["items"]) == 11


@pytest.fixture
def told(app: Flask) -> Iterator[None]:
    """Let PostgreSQL tell the application of changes, as a worker does."""
    versions: PushedVersions | None = app.extensions.get(EXTENSION)
    if versions is None:
        yield
        return
    with app.app_context():
        versions.begin(db.engine)
    yield
    versions.end()


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("query", ["", "?limit=2", "?offset=1&limit=2"])
def test_an_unchanged_page_is_the_same_from_memory_by_one_statement(
    app, owner, make_caller, project_id, query
):
    path, other = f"/v1/projects/{project_id}/testimonials{query}", make_caller("eve@example.com")
    _fill(owner, project_id, 4)
    with app.app_context():
        engine = db.engine
    # On SQLite it is asked for on a connection of its own.
    from_memory = engine.dialect.name != "sqlite"

    def count(caller: Caller, **headers: str) -> tuple[int, TestResponse]:
        answers: list[TestResponse] = []

        def ask() -> None:
            answers.append(caller.client.get(path, headers=caller.headers | headers))

        return count_statements(engine, ask), answers[0]

    first = count(owner)[1]
    made, kept = count(owner)
    assert (made, kept.status_code, kept.data) == (from_memory, 200, first.data)
    for answer in (first, kept):
        assert answer.headers.pop("X-Request-Id")
        # Proxies' headers are not read, so the settings say whether there is TLS.
        answer.headers.pop("Strict-Transport-Security", None)
    assert dict(kept.headers) == dict(first.headers)
    made, unchanged = count(owner, **{"If-None-Match": first.headers["ETag"]})
    assert (made, unchanged.status_code, unchanged.data) == (from_memory, 304, b"")
    assert count(owner, **{"x-api-key": other.api_key})[1].status_code == 401
    assert count(owner, **{"x-api-key": "tst_live_"})[1].status_code == 401
    assert count(other)[1].status_code == 404
    new = owner.create_testimonial(project_id, text="Newer")["_id"]
    assert count(owner)[1].data != first.data
    assert new in _ids(_list(owner, project_id))
    with app.app_context():
        lock_for_writing()
        account = db.session.get_one(Account, owner.account_id)
        account.suspended_at = clock.now()
        db.session.commit()
    assert count(owner)[1].status_code == 403


def test_is_read_from_an_index_in_order(app, backend, project_id):
    if backend != "sqlite":
        pytest.skip("PostgreSQL chooses plans by the size of the table")
    with app.app_context():
        plans = explain_statements(db.engine, lambda: list_visible(project_id, 50, 100))
    assert plans, "the list made no query"
    for plan in plans:
        assert "USING INDEX ix_testimonial_visible_by_time" in plan
        assert "TEMP B-TREE" not in plan
        assert "SCAN" not in plan
