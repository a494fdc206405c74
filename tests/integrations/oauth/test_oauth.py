"""Connecting by OAuth: a person's consent, the code, the token, and who tries to get round them."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.tokens import Scope
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.integrations.mcp.talking import Agent
from tests.integrations.oauth.asking import (
    ISSUER,
    REDIRECT_URI,
    ask_to_connect,
    consent,
    exchange,
    read_code,
    register,
)
from tests.support.racing import at_once


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    owner.create_project(slug="kiln")
    return open_browser(app, owner)


def test_it_ends_as_a_usual_access_token(app, browser, owner):
    client = app.test_client()
    asked = ask_to_connect(client)
    answer = exchange(client, asked, read_code(consent(browser, asked)))
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    token = answer.json
    assert token is not None
    assert (token["token_type"], token["scope"]) == ("Bearer", "read draft")
    assert token["expires_in"] == 90 * 24 * 3600
    agent = Agent(client, {"Authorization": f"Bearer {token['access_token']}"})
    assert agent.call("list_projects")[0]["publicPageConfig"]["slug"] == "kiln"
    (project,) = owner.get("/v1/projects").json["data"]  # type: ignore[index]
    integrations = browser.get(f"/dashboard/projects/{project['_id']}/settings/developers").text
    assert "Shop assistant" in integrations
    assert token["access_token"] not in integrations
    assert (
        "created the access token Shop assistant" in browser.get("/dashboard/account/activity").text
    )
    # Whoever holds it can end it.
    for _ in range(2):
        form = {"token": token["access_token"]}
        assert client.post("/oauth/revoke", data=form).status_code == 200
    assert agent.send("tools/list").status_code == 401


def test_the_person_decides_what_is_given(app, browser, owner):
    client, kiln = app.test_client(), owner.get("/v1/projects").json["data"][0]["_id"]  # type: ignore[index]
    oven = owner.create_project(slug="oven")["_id"]
    asked = ask_to_connect(client, scope="read draft publish unheard-of")
    page = browser.get(f"/oauth/authorize?{urlencode(asked)}").text
    assert "Shop assistant" in page
    assert "agent.example" in page
    for scope in (Scope.READ, Scope.DRAFT, Scope.PUBLISH):
        assert scope.sentence in page
    assert Scope.CONFIGURE.sentence not in page
    choice = {"scopes": ["publish", "configure"], "project": kiln, "days": "30"}
    code = read_code(consent(browser, asked, **choice))
    token = exchange(client, asked, code).json
    assert token is not None
    # Never more than it asked for.
    assert (token["scope"], token["expires_in"]) == ("publish", 30 * 24 * 3600)
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    body = {"authorName": "Maya", "text": "Good"}
    for project, status in ((kiln, 200), (oven, 404)):
        path = f"/v1/projects/{project}/testimonials"
        assert client.post(path, json=body, headers=headers).status_code == status


def test_no_choice_is_asked_for_again(app, browser, outsider):
    asked = ask_to_connect(app.test_client())
    choices: list[tuple[dict[str, Any], str]] = [
        ({"scopes": []}, "Choose at least one"), ({"scopes": ["configure"]}, "Choose at least one"),
        ({"project": ""}, "Choose one of the options"),
        ({"project": outsider.create_project()["_id"]}, "Choose one of the options"),
        ({"project": "0" * 24}, "Choose one of the options"),
        ({"days": "36500"}, (
            "Choose one of the options"
        )), ({"days": ""}, "Choose one of the options"),
    ]  # fmt: skip
    for choice, words in choices:
        answer = consent(browser, asked, **choice)
        assert answer.status_code == 422, choice
        assert words in answer.text, choice


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"), ({"code_verifier": ""}, "invalid_grant"),
        ({"code_verifier": "é" * 43}, "invalid_grant"),
        ({"redirect_uri": f"{REDIRECT_URI}/"}, "invalid_grant"),
        ({"redirect_uri": "https://elsewhere.example/callback"}, "invalid_grant"),
        ({"client_id": "another"}, "invalid_grant"), ({"client_id": "made-up"}, "invalid_client"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"grant_type": "refresh_token"}, "unsupported_grant_type"),
        ({"code": "guessed"}, "invalid_grant"),
    ],
)  # fmt: skip
def test_a_stolen_code_is_worth_nothing(app, browser, changes, error):
    client = app.test_client()
    asked = ask_to_connect(client)
    code = read_code(consent(browser, asked))
    if changes.get("client_id") == "another":
        changes = {"client_id": register(client, REDIRECT_URI, name="Thief")}
    answer = exchange(client, asked, code, changes)
    assert (answer.status_code, answer.json["error"]) == (400, error)  # type: ignore[index]
    assert answer.headers["Cache-Control"] == "no-store"
    # Whoever has shown a code has used it up.
    if error == "invalid_grant" and "code" not in changes:
        assert exchange(client, asked, code).status_code == 400


def test_a_code_works_once_in_a_minute(app, browser, owner, moved_clock):
    client = app.test_client()
    asked = ask_to_connect(client)
    code = read_code(consent(browser, asked))
    moved_clock.move(seconds=59)
    given = exchange(client, asked, code)
    assert given.status_code == 200
    agent = Agent(client, {"Authorization": f"Bearer {given.json['access_token']}"})  # type: ignore[index]
    assert agent.send("tools/list").status_code == 200
    # Long after too, and whoever shows it: one of the two has stolen it.
    moved_clock.move(days=1)
    consent(open_browser(app, owner), ask_to_connect(client))
    assert exchange(client, asked, code, {"code_verifier": "w" * 43}).status_code == 400
    assert agent.send("tools/list").status_code == 401
    late = read_code(consent(open_browser(app, owner), asked))
    moved_clock.move(seconds=60)
    assert exchange(client, asked, late).status_code == 400


@pytest.mark.postgres
def test_of_many_who_show_a_code_at_once_one_gets_a_token(app, browser):
    asked = ask_to_connect(app.test_client())
    code = read_code(consent(browser, asked))
    answers = at_once(6, lambda _: exchange(app.test_client(), asked, code))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5


def test_nobody_is_sent_away_for_a_broken_request(app, browser):
    for changes in (
        {"client_id": "made-up"}, {"redirect_uri": "https://elsewhere.example/callback"},
        {"redirect_uri": f"{REDIRECT_URI}/more"}, {"redirect_uri": f"{REDIRECT_URI}?x=1"},
        {"redirect_uri": "https://agent.example:8443/callback"}, {"response_type": "token"},
        {"code_challenge": ""}, {"code_challenge": "short"}, {"code_challenge_method": "plain"},
        {"resource": "https://elsewhere.example/mcp"},
    ):  # fmt: skip
        asked = ask_to_connect(app.test_client(), **changes)
        answer = browser.get(f"/oauth/authorize?{urlencode(asked)}")
        assert answer.status_code == 400, changes
        assert "This program can’t connect" in answer.text, changes
        form = asked | {"scopes": "read", "project": "all", "days": "90"}
        assert browser.post("/oauth/authorize", data=form).status_code == 400, changes


def test_a_program_on_the_same_machine_has_any_port(app, browser):
    client = app.test_client()
    client_id = register(client, "http://127.0.0.1:3000/callback?app=1")
    for uri, status in (
        ("http://127.0.0.1:49152/callback?app=1", 200), ("http://127.0.0.1/callback?app=1", 200),
        ("http://localhost:3000/callback?app=1", 400), ("http://127.0.0.1:3000/other", 400),
        ("http://127.0.0.1:3000@elsewhere.example/callback?app=1", 400),
        ("https://127.0.0.1:3000/callback?app=1", 400),
    ):  # fmt: skip
        asked = ask_to_connect(client, client_id=client_id, redirect_uri=uri)
        page = browser.get(f"/oauth/authorize?{urlencode(asked)}")
        assert page.status_code == status, uri
    asked["redirect_uri"] = "http://127.0.0.1:49152/callback?app=1"
    where = consent(browser, asked).headers["Location"]
    assert where.startswith("http://127.0.0.1:49152/callback?app=1&code=")


def test_other_addresses_are_not_registered(client):
    for uri in (
        "http://elsewhere.example/callback", "javascript:alert(1)", "cursor://callback", "https://",
        "https://a.example/#x", "https://me@a.example/", "https://a.example\\@b.example/",
        "https://a.example/ x", "https://a.example/\n", "https://ä.example/",
        "https://a.example/" + "x" * 500, "//a.example/", "", 5, None,
        "https://a.example:８４４３/", "http://127.0.0.1:٦٢٧٤/", "https://a.example:99999/",
    ):  # fmt: skip
        answer = client.post("/oauth/register", json={"redirect_uris": [uri]})
        error = answer.json["error"]  # type: ignore[index]
        assert (answer.status_code, error) == (400, "invalid_redirect_uri"), uri


def test_registering_takes_what_is_sent_and_keeps_nothing(app, client):
    body = {
        "client_name": "Shop\n\u202e assistant" + "x" * 200,
        "redirect_uris": ["http://localhost:5/", "https://a.example/cb"],
        "token_endpoint_auth_method": "client_secret_post",
        "grant_types": ["authorization_code", "refresh_token"],
        "logo_uri": "https://a.example/logo.svg",
    }
    answer = client.post("/oauth/register", json=body)
    made = answer.json
    assert (answer.status_code, made is not None) == (201, True)
    assert made is not None
    assert made["token_endpoint_auth_method"] == "none"
    assert made["client_name"].startswith("Shop assistantx")
    assert len(made["client_name"]) == 80
    for wrong in ({}, {"redirect_uris": []}, {"redirect_uris": ["https://a.example/"] * 6}):
        assert client.post("/oauth/register", json=wrong).status_code == 400
    assert client.post("/oauth/register", data=b"{").json["error"] == "invalid_client_metadata"  # type: ignore[index]


def test_metadata_names_one_issuer(client):
    for path in ("", "/mcp"):
        resource = client.get(f"/.well-known/oauth-protected-resource{path}").json
        assert resource is not None
        assert resource["resource"] == f"{ISSUER}/mcp"
        assert resource["authorization_servers"] == [ISSUER]
    server = client.get("/.well-known/oauth-authorization-server").json
    assert server is not None
    assert (server["issuer"], server["code_challenge_methods_supported"]) == (ISSUER, ["S256"])
    assert server["authorization_response_iss_parameter_supported"] is True


def test_saying_no_is_a_link_and_nobody_frames_the_page(app, browser):
    asked = ask_to_connect(app.test_client())
    page = browser.get(f"/oauth/authorize?{urlencode(asked)}")
    refusal = f"{REDIRECT_URI}?error=access_denied&amp;state=a+state&amp;iss=https%3A%2F%2Ftest"
    assert f'href="{refusal}' in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://agent.example;" in policy
    assert (
        "form-action 'self';"
        in browser.get("/dashboard/projects").headers["Content-Security-Policy"]
    )


def test_an_old_sign_in_is_not_enough(app, browser, moved_clock):
    asked = ask_to_connect(app.test_client())
    moved_clock.move(minutes=11)
    answer = consent(browser, asked)
    assert answer.status_code == 401
    assert "Confirm it’s you for “Connect an agent”." in answer.text


def test_the_link_chooses_neither_projects_nor_days(browser):
    asked = ask_to_connect(browser)
    plain = browser.get(f"/oauth/authorize?{urlencode(asked)}").text
    pushed = asked | {"project": "all", "days": "365"}
    chosen = re.findall(r'<option value="\w+" selected', plain)
    assert chosen == ['<option value="90" selected']
    page = browser.get(f"/oauth/authorize?{urlencode(pushed)}").text
    assert re.findall(r'<option value="\w+" selected', page) == chosen
