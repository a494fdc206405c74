"""What every write of the API offers: Idempotency-Key, If-Match, and dryRun."""

from collections import Counter
from typing import Any

import pytest
from werkzeug.test import TestResponse

from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import IdempotencyKey
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.http.resource import Blueprint
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial as Row
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.racing import at_once
from tests.support.rows import count_rows
from tests.support.shapes import data_of, error_of

BODY = {"authorName": "Maya", "text": "It simply works."}
MANY = 20


def send(
    caller: Caller, path: str, body: Any = None, method: str = "POST", **headers: str
) -> TestResponse:
    """Send a write, with headers whose names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return caller.client.open(path, method=method, json=body, headers=caller.headers | named)


@pytest.fixture
def path(owner: Caller) -> str:
    return f"/v1/projects/{owner.create_project()['_id']}/testimonials"


@pytest.mark.postgres
def test_many_at_once_with_one_key_make_one_row(make_app, make_caller):
    app = make_app(threads=MANY)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    path = f"/v1/projects/{owner.create_project()['_id']}/testimonials"
    headers = owner.headers | {"Idempotency-Key": "a b"}
    answers = at_once(MANY, lambda _: app.test_client().post(path, json=BODY, headers=headers))
    assert Counter(answer.status_code for answer in answers) == {200: MANY}
    assert len({(answer.data, answer.headers["ETag"]) for answer in answers}) == 1
    replayed = [answer.headers.get("Idempotent-Replayed") for answer in answers]
    assert Counter(replayed) == {"true": MANY - 1, None: 1}
    assert count_rows(app, Row) == 1


@pytest.mark.postgres
def test_a_key_is_good_for_one_call_for_a_day(app, owner, path, moved_clock):
    first = send(owner, path, BODY, Idempotency_Key='"a \\" \\\\ b"')
    # Bare or quoted, and however the JSON is written.
    again = send(owner, path, dict(reversed(BODY.items())), Idempotency_Key='a " \\ b')
    assert (again.headers["Idempotent-Replayed"], again.data) == ("true", first.data)
    for other, method, body in (
        (path, "POST", BODY | {"rating": 5}),
        (f"{path}/demo", "DELETE", None),
        ("/v1/projects", "POST", BODY),
    ):
        answer = send(owner, other, body, method, Idempotency_Key='a " \\ b')
        if method == "POST" and other != path:
            error_of(answer, 400, "VALIDATION_FAILED", *BODY)
        else:
            error_of(answer, 422, "IDEMPOTENCY_KEY_REUSED")
    moved_clock.move(hours=24)
    later = send(owner, path, BODY | {"rating": 5}, Idempotency_Key='a " \\ b')
    assert "Idempotent-Replayed" not in later.headers
    assert count_rows(app, Row) == 2


def test_errors_are_not_kept(app, owner):
    taken = owner.create_project(slug="wanted")
    error_of(send(owner, "/v1/projects", {"slug": "wanted"}, Idempotency_Key="k"), 400,
             "SLUG_TAKEN", "slug")  # fmt: skip
    assert count_rows(app, IdempotencyKey) == 0
    with app.app_context():
        db.session.delete(db.session.get_one(Project, taken["_id"]))
        db.session.commit()
    assert data_of(send(owner, "/v1/projects", {"slug": "wanted"}, Idempotency_Key="k"))


@pytest.mark.parametrize("key", ["", '""', "x" * 256, "café", '"', '"a"b"'])
def test_a_key_that_is_none_is_refused(app, owner, path, key):
    answer = send(owner, path, BODY, Idempotency_Key=key)
    error_of(answer, 400, "VALIDATION_FAILED", "Idempotency-Key")
    assert count_rows(app, Row) == 0


@pytest.mark.postgres
def test_nobody_gets_the_answer_that_another_got(app, owner, outsider, path):
    answers = [send(each, "/v1/projects", {}, Idempotency_Key="m") for each in (owner, outsider)]
    assert data_of(answers[0])["_id"] != data_of(answers[1])["_id"]
    project = path.split("/")[3]
    key = {"Idempotency_Key": "k"}
    first = data_of(send(owner, path, BODY, **key))
    one, other = (give_token(app, owner, project_id=each) for each in (project, None))
    again = [data_of(send(each, path, BODY, **key)) for each in (one, one, other)]
    assert first["_id"] != again[0]["_id"] == again[1]["_id"] != again[2]["_id"]
    # Nor what lies outside of its project.
    elsewhere = f"/v1/projects/{owner.create_project()['_id']}/testimonials"
    data_of(send(other, elsewhere, BODY, Idempotency_Key="l"))
    error_of(send(one, elsewhere, BODY, Idempotency_Key="l"), 404, "NOT_FOUND")


def test_an_answer_with_a_secret_is_not_kept(make_app, make_caller):
    app, blueprint = make_app(is_own=True), Blueprint("secrets", __name__)

    @blueprint.resource("POST /v1/secrets", by_key=True, is_secret=True, done="Made")
    def make_secret() -> dict[str, str]:
        db.session.add(RateLimitCounter(key=new_identifier(), hits=1, expires_at=2e9))
        return {"name": "n", "secret": "s3cret"}

    app.register_blueprint(blueprint)
    view = blueprint.views["make_secret"]
    app.add_url_rule("/v1/secrets", "secrets.make_secret", view, methods=["POST"])
    caller = make_caller("owner@example.com", on=app)
    dry = send(caller, "/v1/secrets?dryRun=true", Idempotency_Key="k")
    assert data_of(dry) == {"name": "n"}
    assert data_of(send(caller, "/v1/secrets", Idempotency_Key="k"))["secret"] == "s3cret"
    error_of(send(caller, "/v1/secrets", Idempotency_Key="k"), 409, "ANSWER_NOT_KEPT")
    assert count_rows(app, RateLimitCounter) == 1
    with app.app_context():
        assert b"s3cret" not in db.session.query(IdempotencyKey).one().body


def test_signing_up_again_with_a_key_gives_a_new_secret(client, app):
    headers = {"Idempotency-Key": "k"}
    answers = [
        client.post("/v1/auth/agent-init", json={"email": "new@example.com"}, headers=headers)
        for _ in range(2)
    ]
    first, second = (data_of(answer) for answer in answers)
    assert first["accountId"] == second["accountId"]
    assert first["apiKey"] != second["apiKey"]
    assert count_rows(app, IdempotencyKey) == 0
    assert "ETag" not in answers[0].headers


@pytest.mark.postgres
def test_if_match_lets_one_change_through(app, owner):
    project = f"/v1/projects/{owner.create_project()['_id']}"
    path, change = f"{project}/widget-config", {"theme": "dark"}
    etag = owner.get(project).headers["ETag"]
    changed = send(owner, path, change, "PATCH", If_Match=f"W/{etag}")
    assert data_of(changed)["widgetConfig"]["theme"] == "dark"
    # A write answers with the ETag that the next GET has.
    assert changed.headers["ETag"] == owner.get(project).headers["ETag"] != etag
    refused = send(owner, path, {"theme": "light"}, "PATCH", If_Match=f'"x", {etag}')
    body = error_of(refused, 412, "PRECONDITION_FAILED")
    assert refused.headers["ETag"] == changed.headers["ETag"]
    assert refused.headers["ETag"] in body["message"]
    assert data_of(owner.get(project))["widgetConfig"]["theme"] == "dark"
    for header in ("", " ", "*"):
        data_of(send(owner, path, change, "PATCH", If_Match=header))
    # It is never passed over.
    refused = send(owner, f"{project}/testimonials", BODY, If_Match='"x"')
    error_of(refused, 412, "PRECONDITION_FAILED")
    assert count_rows(app, Row) == 0


def test_who_has_the_answer_gets_304(owner, path):
    owner.post(path, BODY)
    project = path.removesuffix("/testimonials")
    paths = ["/v1/me", "/v1/projects", project, path, f"{project}/widgets",
             f"{project}/embed-snippet", "/v1/openapi.json"]  # fmt: skip
    for each in paths:
        etag = owner.get(each).headers["ETag"]
        weak = etag if etag.startswith("W/") else f"W/{etag}"
        for header in (etag, weak, f'"x", {etag}', "*"):
            answer = owner.client.get(each, headers=owner.headers | {"If-None-Match": header})
            assert (answer.status_code, answer.data) == (304, b""), (each, header)
            assert answer.headers["ETag"] == etag
        answer = owner.client.get(each, headers=owner.headers | {"If-None-Match": '"x"'})
        assert answer.status_code == 200
    etag = owner.get(path).headers["ETag"]
    owner.post(path, BODY)
    answer = owner.client.get(path, headers=owner.headers | {"If-None-Match": etag})
    assert answer.status_code == 200


@pytest.mark.postgres
def test_a_dry_run_is_refused_what_would_be_refused(app, owner, path):
    data_of(send(owner, f"{path}?dryRun=true", BODY))
    error_of(send(owner, f"{path}?dryRun=true", {}), 400, "VALIDATION_FAILED", *BODY)
    error_of(send(owner, f"{path}?dryRun=yes", BODY), 400, "VALIDATION_FAILED", "dryRun")
    error_of(owner.get(f"{path}?dryRun=true"), 400, "VALIDATION_FAILED", "dryRun")
    assert "X-Dry-Run" not in send(owner, f"{path}?dryRun=false", BODY).headers
    assert count_rows(app, Row) == 1
