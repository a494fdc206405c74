"""Asking the owner for a token by the API, from the request to the token."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.access.requests import MOST_WAITING, decline, find_access_request, grant
from testimonials.access.scopes import Scope
from testimonials.access.tokens import list_tokens
from testimonials.extensions import begin_write, db
from tests.access.tokens import TokenCaller, give_token
from tests.activity.events import read_events, read_types
from tests.auth.links import mails
from tests.conftest import Caller, MovableClock
from tests.support.shapes import data_of, error_of

HERE = "/v1/access-requests"
BODY = {"name": "Till", "scopes": ["publish", "read"], "reason": "To approve what you told me to."}


def ask(agent: Caller, **more: object) -> str:
    """Ask for access; return the request's id."""
    return str(data_of(agent.post(HERE, BODY | more))["_id"])


def decide(
    app: Flask, owner: Caller, request_id: str, *scopes: Scope, project: str | None = None
) -> None:
    """Grant these scopes, or decline, as the owner does on the page."""
    with app.app_context():
        begin_write()
        asked = find_access_request(owner.account_id, request_id)
        if scopes:
            grant(asked, scopes, project, 90, owner.account_id)
        else:
            decline(asked)
        db.session.commit()


def test_an_agent_asks_the_owner_grants_and_the_token_comes_once(app: Flask, owner: Caller) -> None:
    asked = data_of(owner.post(HERE, BODY))
    link = f"https://testimonials.example.com/dashboard/access-requests/{asked['_id']}"
    assert (asked["status"], asked["url"]) == ("waiting", link)
    (mail,) = mails(app)
    assert mail.recipient == owner.email
    for words in (link, "Till", BODY["reason"], Scope.PUBLISH.sentence):
        assert str(words) in " ".join(mail.text.split())
    path = f"{HERE}/{asked['_id']}"
    assert data_of(owner.get(path))["status"] == "waiting"
    decide(app, owner, asked["_id"], Scope.READ)
    # Looking is not fetching.
    owner.client.head(path, headers=owner.headers)
    answer = owner.get(path)
    granted = data_of(answer)
    assert answer.headers["Cache-Control"] == "no-store"
    assert (granted["status"], granted["scopes"]) == ("granted", ["read", "publish"])
    assert granted["grantedScopes"] == ["read"]
    holder = TokenCaller(owner.client, owner.account_id, owner.email, granted["token"])
    me = data_of(holder.get("/v1/me"))
    assert (me["name"], me["scopes"]) == ("Till", ["read"])
    again = owner.get(path)
    assert "token" not in data_of(again)
    assert "fetched before" in again.json["message"]  # type: ignore[index]
    with app.app_context():
        (listed,) = list_tokens(owner.account_id)
        assert (listed.token.client, listed.made_by) == ("request", owner.email)
    assert read_types(app, owner.account_id) == ["access.requested", "token.created"]
    assert granted["token"] not in str([event.details for event in read_events(app)])


def test_only_whoever_asked_fetches(app: Flask, owner: Caller, outsider: Caller) -> None:
    project = owner.create_project()["_id"]
    helper = give_token(app, owner, Scope.DRAFT, project_id=project)
    other = give_token(app, owner)
    # A token for one project asks for no more than that.
    error_of(helper.post(HERE, BODY), 403, "ONE_PROJECT_ONLY")
    request_id = ask(helper, projectId=project)
    decide(app, owner, request_id, Scope.READ, project=project)
    unknown = outsider.get(f"{HERE}/{'1' * 24}")
    for stranger in (outsider, owner, other):
        answer = stranger.get(f"{HERE}/{request_id}")
        assert (answer.status_code, answer.text) == (404, unknown.text)
    assert data_of(helper.get(f"{HERE}/{request_id}"))["token"]
    foreign = outsider.create_project()["_id"]
    for project_id in (foreign, "1" * 24, "x"):
        assert owner.post(HERE, BODY | {"projectId": project_id}).status_code == 404


def test_a_request_that_is_over_gives_nothing(
    app: Flask, owner: Caller, moved_clock: MovableClock
) -> None:
    declined, late, unfetched = (ask(owner, name=f"Till {number}") for number in range(3))
    decide(app, owner, declined)
    assert data_of(owner.get(f"{HERE}/{declined}"))["status"] == "declined"
    moved_clock.move(days=2)
    decide(app, owner, unfetched, Scope.READ)
    moved_clock.move(days=2)
    assert data_of(owner.get(f"{HERE}/{late}"))["status"] == "expired"
    with pytest.raises(Exception, match="expired"):
        decide(app, owner, late, Scope.READ)
    with pytest.raises(Exception, match="decided already"):
        decide(app, owner, declined, Scope.READ)
    moved_clock.move(days=1)
    found = data_of(owner.get(f"{HERE}/{unfetched}"))
    assert found["status"] == "expired"
    assert "token" not in found


def test_an_agent_can_not_flood_the_owner(app: Flask, owner: Caller, agent: Caller) -> None:
    ids = [ask(owner, name=f"Till {number}") for number in range(MOST_WAITING)]
    error_of(owner.post(HERE, BODY), 409, "TOO_MANY_WAITING")
    # The same one again is the one that waits, without another mail.
    assert ask(owner, name="Till 0") == ids[0]
    decide(app, owner, ids[0])
    ask(owner)
    for _ in range(2):
        owner.post(HERE, BODY)
    assert owner.post(HERE, BODY).status_code == 429
    assert len(mails(app)) == MOST_WAITING + 1
    # The address of an unclaimed account may be a stranger's.
    ask(agent)
    assert len(mails(app)) == MOST_WAITING + 1


@pytest.mark.postgres
def test_at_once_there_are_five_places_and_one_token(app: Flask, owner: Caller) -> None:
    def call(path: str, body: dict[str, object] | None = None) -> TestResponse:
        method = "GET" if body is None else "POST"
        return app.test_client().open(path, method=method, headers=owner.headers, json=body)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: call(HERE, BODY | {"name": str(number)}), range(8)))
        codes = Counter(answer.status_code for answer in answers)
        assert codes == {200: MOST_WAITING, 409: 8 - MOST_WAITING}
        request_id = next(data_of(each)["_id"] for each in answers if each.status_code == 200)
        decide(app, owner, request_id, Scope.READ)
        fetched = [data_of(each) for each in pool.map(call, [f"{HERE}/{request_id}"] * 8)]
    assert {each["status"] for each in fetched} == {"granted"}
    assert sum("token" in each for each in fetched) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read", "everything"]}, "scopes"),
        ({"scopes": "read"}, "scopes"),
        ({"scopes": [["read"]]}, "scopes"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"reason": "x" * 501}, "reason"),
    ],
)
def test_what_is_wrong_is_named(owner: Caller, body: dict[str, object], field: str) -> None:
    error_of(owner.post(HERE, BODY | body), 400, "VALIDATION_FAILED", field)
