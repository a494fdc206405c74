"""Access tokens: what a scope reaches, what refuses them, their last use, and what they wrote."""

import itertools
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testimonials.auth.api_auth import MissingScope, may_pass
from testimonials.auth.models import AccessToken
from testimonials.auth.tokens import Caller as ApiCaller
from testimonials.auth.tokens import Scope, find_token, list_tokens, revoke_token, write_uses
from testimonials.core import clock
from testimonials.core.db.identifiers import TOKEN_PREFIX, new_credential
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.openapi import operations
from tests.auth.browsers import open_browser
from tests.auth.tokens import TokenCaller, give_token
from tests.conftest import PASSWORD, Caller
from tests.support.plans import count_statements
from tests.support.sampling import sample
from tests.support.shapes import data_of, error_of


def revoke(app: Flask, owner: Caller) -> None:
    with app.app_context(), write():
        newest = list_tokens(owner.account_id)[0].token.id
        revoke_token(find_token(owner.account_id, newest))


def refuse(agent: TokenCaller, headers: dict[str, str] | None = None) -> str:
    """Call with credentials that are refused; return why."""
    answer = agent.client.get("/v1/me", headers=agent.headers if headers is None else headers)
    error = error_of(answer, 401, "INVALID_CREDENTIALS")
    assert agent.api_key not in answer.text
    return str(error["message"])


def test_a_token_says_what_it_may_do(app, owner, moved_clock):
    project = owner.create_project()["_id"]
    agent = give_token(app, owner, Scope.PUBLISH, Scope.READ, project_id=project, days=7)
    assert data_of(agent.get("/v1/me")) == {
        "accountId": owner.account_id, "email": owner.email, "credential": "token",
        "name": "Helper", "scopes": ["read", "publish"], "projectId": project,
        "expiresAt": clock.iso(moved_clock.time + timedelta(days=7)),
    }  # fmt: skip
    forever = data_of(give_token(app, owner, days=None).get("/v1/me"))
    assert (forever["projectId"], forever["expiresAt"]) == (None, None)


def test_a_token_is_taken_wherever_it_is_sent(app, owner, outsider):
    agent = give_token(app, owner)
    token, own = agent.api_key, {"x-service-account-id": owner.account_id}
    for headers in (
        {"Authorization": f"bearer {token}"},
        {"Authorization": f"  BEARER    {token}  "},
        own | {"x-api-key": token},
        own | {"x-api-key": token, "Authorization": f"Bearer {token}"},
        # A proxy's own credential is none of our business.
        owner.headers | {"Authorization": "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln"},
        owner.headers | {"Authorization": "Basic dXNlcjpwYXNz"},
    ):
        assert data_of(agent.client.get("/v1/me", headers=headers))["email"] == owner.email
    assert "Two different" in refuse(agent, owner.headers | agent.headers)
    assert "x-service-account-id" in refuse(agent, {"x-api-key": token})
    foreign = {"x-service-account-id": outsider.account_id}
    for headers in (foreign | {"x-api-key": token}, foreign | agent.headers):
        assert "not belong to the account" in refuse(agent, headers)
    assert agent.client.get("/v1/me", query_string={"access_token": token}).status_code == 401
    answer = agent.client.get(f"/v1/me?access_token={token}", headers=agent.headers)
    assert answer.status_code == 400
    assert token not in answer.text


def test_forged_tokens_are_all_refused_alike(app, owner):
    agent = give_token(app, owner)
    token = agent.api_key
    forged = [new_credential(TOKEN_PREFIX), token[:-1], token + "A", token.lower(), "tst_tok_"]
    forged += ["x", "é", token[:20] + ("A" if token[20] != "A" else "B") + token[21:], "a" * 10_000]
    told = {refuse(agent, {"Authorization": f"Bearer {each}"}) for each in forged}
    told.add(refuse(agent, {"Authorization": f"Bearer {owner.api_key}"}))
    assert len(told) == 1
    assert "unknown" in told.pop()
    with app.app_context():
        (row,) = [each.token for each in list_tokens(owner.account_id)]
        columns = [str(getattr(row, column.key)) for column in AccessToken.__table__.columns]
    assert token not in columns
    assert row.token_hash
    assert refuse(agent, {"Authorization": f"Bearer {row.token_hash}"})


def test_a_token_is_told_why_it_ended(app, owner, moved_clock):
    agent = give_token(app, owner, days=1)
    other = give_token(app, owner)
    moved_clock.move(hours=23, minutes=59)
    assert agent.get("/v1/me").status_code == 200
    moved_clock.move(minutes=1)
    assert "expired on" in refuse(agent)
    assert other.get("/v1/me").status_code == 200
    revoke(app, owner)
    assert "was revoked on" in refuse(other)
    answer = other.get("/v1/me")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_a_token_ends_with_the_account(app, owner, make_caller):
    agent, browser = give_token(app, owner), open_browser(app, owner)
    assert browser.post("/dashboard/account/key").status_code == 200
    assert owner.get("/v1/me").status_code == 401
    assert agent.get("/v1/me").status_code == 200
    # A new password with a new key ends it.
    form = {"current": PASSWORD, "password": "four green armchairs", "replace_key": "1"}
    browser.post("/dashboard/account/security/password", data=form)
    assert "revoked" in refuse(agent)
    agent = give_token(app, owner)
    browser.post("/dashboard/account/delete", data={"confirm": owner.email})
    assert "unknown" in refuse(agent)
    # Nobody has claimed this account, so nobody could see its token.
    assert "unknown" in refuse(give_token(app, make_caller("nobody@example.com")))


def test_a_project_in_the_trash_is_out_of_reach_until_it_is_back(app, owner, outsider):
    project, other = owner.create_project(slug="kiln")["_id"], owner.create_project()["_id"]
    agent, path = give_token(app, owner, project_id=project), f"/v1/projects/{project}"
    assert data_of(agent.get("/v1/projects"))[0]["_id"] == project
    unknown = agent.get(f"/v1/projects/{other}")
    assert unknown.status_code == 404
    assert unknown.text == agent.get(f"/v1/projects/{outsider.create_project()['_id']}").text
    browser, base = open_browser(app, owner), f"/dashboard/projects/{project}"
    assert browser.post(f"{base}/settings/delete", data={"confirm": "kiln"}).status_code == 303
    assert agent.get(path).status_code == 404
    assert data_of(agent.get("/v1/projects")) == []
    assert browser.post(f"{base}/take-back").status_code == 303
    assert agent.get(path).status_code == 200
    error_of(agent.post("/v1/projects"), 403, "ONE_PROJECT_ONLY")


def test_the_last_use_is_noted_and_stored_without_a_write_for_each_call(app, owner, moved_clock):
    agent = give_token(app, owner, Scope.READ)

    def look() -> tuple[Any, Any]:
        with app.app_context():
            (listed,) = list_tokens(owner.account_id)
            return listed.last_use, listed.token.last_used_at

    assert look() == (None, None)
    with app.app_context():
        engine = db.engine
    assert count_statements(engine, lambda: agent.get("/v1/me")) == 1
    # A refused call is a use too.
    agent.post("/v1/projects")
    noted, stored = look()
    assert (noted.operation, noted.by, stored) == ("create_project", "api", None)
    moved_clock.move(seconds=60)
    agent.get("/v1/projects")
    with app.app_context():
        write_uses()
        assert count_statements(engine, write_uses) == 0
    noted, stored = look()
    assert (noted.operation, noted.at) == ("list_projects", moved_clock.time)
    assert stored == moved_clock.time
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert agent.client.post("/mcp", json=ping, headers=agent.headers).status_code == 200
    assert look()[0].by == "mcp"


def test_the_operator_makes_and_revokes_tokens(app, owner, agent):
    run = app.test_cli_runner().invoke
    owner.create_project(slug="kiln")
    foreign = agent.create_project(slug="foreign")["_id"]
    make = ["tokens", "create", "--account", owner.email, "--name", "Till"]
    for more, words in (
        (["--scopes", "read,all"], "no scope all"),
        (["--name", " "], "1 to 80 characters"),
        (["--project", foreign], "is not one of owner@example.com"),
        (["--account", agent.email], "Nobody has claimed this account"),
    ):
        result = run(args=make + more)
        assert result.exit_code == 1
        assert words in result.stderr
    found = json.loads(run(args=[*make, "--project", "kiln", "--days", "0", "--json"]).stdout)
    assert (found["scopes"], found["expiresAt"]) == (["read", "draft"], None)
    caller = TokenCaller(owner.client, owner.account_id, owner.email, found["token"])
    assert data_of(caller.get("/v1/me"))["scopes"] == ["read", "draft"]
    (listed,) = json.loads(run(args=["tokens", "list", "--json"]).stdout)
    assert (listed["lastUsedFor"], listed["lastUsedBy"]) == ("get_me", "api")
    assert run(args=["tokens", "revoke", found["tokenId"]]).exit_code == 0
    assert "revoked" in refuse(caller)
    assert "There is no access token" in run(args=["tokens", "revoke", "1" * 24]).stderr


BODY = {"authorName": "Maya Kowalski", "text": "It simply works."}


def test_history_and_activity_name_the_token(app, owner):
    project = owner.create_project(slug="kiln")["_id"]
    agent, path = give_token(app, owner, Scope.READ, Scope.PUBLISH), f"/v1/projects/{project}"
    one = data_of(agent.post(f"{path}/testimonials", BODY))["_id"]
    many = data_of(agent.post(f"{path}/testimonials/bulk", {"testimonials": [BODY, BODY]}))
    by_key = owner.create_testimonial(project)["_id"]
    assert agent.patch(f"{path}/testimonials/{one}", {"text": "It works."}).status_code == 200
    decision = {"decision": "reject", "ids": [one]}
    assert agent.post(f"{path}/submissions/decisions", decision).status_code == 200
    browser, base = open_browser(app, owner), f"/dashboard/projects/{project}"

    def list_actors(testimonial_id: str) -> list[str]:
        page = browser.get(f"{base}/testimonials/{testimonial_id}").text
        return re.findall(r"<bdi>([^<]+)</bdi>", page.partition('<ol class="history">')[2])

    assert list_actors(one) == ["Helper (access token)"] * 3
    history = data_of(agent.get(f"{path}/testimonials/{one}"))["history"]
    assert [each["by"] for each in history] == ["Helper (access token)"] * 3
    for each in many["results"]:
        assert list_actors(each["testimonialId"]) == ["Helper (access token)"]
    assert list_actors(by_key) == ["An agent (API key)"]
    activity = browser.get("/dashboard/account/activity?q=helper").text
    assert "<bdi>Helper (access token)</bdi>" in activity
    assert 'value="token.' in activity


# What the specification gives the account's key; everything else it may only propose.
OF_THE_KEY = {
    "get_me", "list_projects", "create_project", "get_project", "update_widget_config",
    "get_embed_snippet", "list_testimonials", "create_testimonial", "delete_demo_testimonials",
}  # fmt: skip
# What else it reaches, and why.
MORE_OF_THE_KEY = {
    "set_up_project": "What the key may not do there becomes a proposal.",
    "create_testimonials": "It is the call for one, many times.",
    "propose_change": "It proposes.",
    "list_proposals": "It reads what became of its own proposals.",
    "get_proposal": "It reads what became of its own proposals.",
    "withdraw_proposal": "It takes its own proposals back.",
    "list_widgets": "The names of saved widgets are on the pages that show them.",
    "get_page_config": "The project, as specified, holds it too.",
    "get_brand": "The project holds it too.",
    "get_page_design": "The collection page shows it.",
    "list_forms": "Their pages show them.",
    "get_form": "Its page shows it.",
    "get_testimonial": "It shows what the list shows.",
    "get_testimonial_picture": "It shows what is public.",
}
# What no token does, by the words that a path or a view would have for it.
NEVER = re.compile(r"password|session|token(?!s? expire)|team|member|invit|billing|claim|export")
SETS = [each for count in range(len(Scope) + 1) for each in itertools.combinations(Scope, count)]
# The key, each scope alone, and all; with --deep the others too.
CHOSEN = [*SETS[: len(Scope) + 1], *sample(SETS[len(Scope) + 1 : -1], 0), SETS[-1]]


@pytest.mark.parametrize("scopes", CHOSEN, ids="+".join)
def test_scopes_let_pass_or_are_named(app, owner, scopes):
    """Real calls with an unknown project: whoever passes the guard gets another answer than 403."""
    agent = give_token(app, owner, *scopes) if scopes else owner
    key = ApiCaller(owner.account_id, owner.email, "abcd")
    caller = ApiCaller(owner.account_id, owner.email, "T", "1" * 24, scopes) if scopes else key
    seen = set()
    for each, rule in operations(app):
        if rule.is_public:
            continue
        direct = rule.scope is None or rule.scope in scopes if scopes else rule.by_key
        drafts = rule.drafts and (not scopes or Scope.DRAFT in scopes)
        assert may_pass(caller, rule) == (direct or drafts)
        path = re.sub(r"<[^>]+>", "0" * 24, each.rule)
        answer = agent.client.open(path, method=rule.method, headers=agent.headers)
        seen.add(answer.status_code)
        if direct or drafts:
            assert answer.status_code != 401, each
            assert answer.status_code != 403, each
            continue
        assert answer.status_code == 403, each
        error: Any = answer.json
        assert error["code"] == MissingScope.code
        assert f"scope {rule.scope}" in error["message"]
    assert 404 in seen


def test_the_key_reaches_no_more_than_it_should(app):
    reached = {each.name for _, each in operations(app) if each.by_key and not each.is_public}
    assert reached == OF_THE_KEY | MORE_OF_THE_KEY.keys()


def test_no_token_comes_near_what_only_a_person_does(app):
    for rule, operation in operations(app):
        assert not NEVER.search(rule.rule), rule
        assert not NEVER.search(operation.name), rule
        deletes_project = rule.rule.endswith("<project_id>") and operation.method == "DELETE"
        assert not deletes_project
