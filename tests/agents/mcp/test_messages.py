"""What each revision of MCP wants of a message and of its answer, and who may send one."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.access.scopes import Scope
from testimonials.agents.mcp.api import MAX_BODY_BYTES
from testimonials.agents.mcp.messages import CAPABILITIES_KEY, CURRENT, OLDER, VERSION_KEY
from tests.agents.mcp.talking import META, Agent, connect
from tests.conftest import Caller


@pytest.fixture
def reader(app: Flask, owner: Caller) -> Agent:
    """An agent that may read."""
    owner.create_project(slug="kiln")
    return connect(app, owner.account_id, Scope.READ)


def test_discover_says_what_there_is(reader: Agent) -> None:
    result = reader.ask("server/discover")
    assert result["supportedVersions"] == [CURRENT, *OLDER]
    assert result["capabilities"].keys() == {"tools", "resources", "prompts"}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "testimonials"
    for method, scope in (("tools/list", "private"), ("prompts/list", "public")):
        result = reader.ask(method)
        assert (result["resultType"], result["cacheScope"]) == ("complete", scope)
        assert result["ttlMs"] > 0


def test_headers_repeat_the_body(reader: Agent) -> None:
    of_prompts = {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "prompts/get"}
    for headers in (
        {},
        {"MCP-Protocol-Version": CURRENT},
        {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "tools/call"},
        of_prompts | {"Mcp-Name": "set_up"},
        of_prompts | {"Mcp-Name": "=?base64?broken?="},
    ):
        answer = reader.send("prompts/get", headers, name="triage_inbox")
        assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020), headers
        assert answer.json["id"] == 7
    encoded = of_prompts | {"Mcp-Name": "=?base64?dHJpYWdlX2luYm94?="}
    assert reader.send("prompts/get", encoded, name="triage_inbox").status_code == 200


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({}, -32602),
        ("x", -32602),
        ({VERSION_KEY: CURRENT}, -32602),
        (META | {VERSION_KEY: "2030-01-01"}, -32022),
        ({CAPABILITIES_KEY: {}}, -32602),
    ],
)
def test_each_request_says_its_revision(reader: Agent, meta: Any, code: int) -> None:
    version = meta.get(VERSION_KEY, CURRENT) if isinstance(meta, dict) else CURRENT
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}
    answer = reader.send("tools/list", headers, _meta=meta)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, code)
    if code == -32022:
        assert answer.json["error"]["data"]["supported"] == [CURRENT, *OLDER]


@pytest.mark.parametrize("method", ["initialize", "ping", "nothing", "tools/delete"])
def test_an_unknown_method_is_404(reader: Agent, method: str) -> None:
    answer = reader.send(method)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize(
    ("asked", "agreed"), [*((each, each) for each in OLDER), ("2024-11-05", OLDER[0])]
)
def test_older_clients_begin_with_initialize(reader: Agent, asked: str, agreed: str) -> None:
    def post(method: str, version: str = "", **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
        headers = reader.headers | ({"MCP-Protocol-Version": version} if version else {})
        return reader.client.post("/mcp", json=body, headers=headers)

    result = post("initialize", protocolVersion=asked, capabilities={}).json["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (agreed, "testimonials")
    assert post("ping", agreed).json == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert post("tools/list", agreed).json["result"]["tools"]
    # Their transport takes another status for a broken connection.
    unknown = post("nothing", agreed)
    assert (unknown.status_code, unknown.json["error"]["code"]) == (200, -32601)
    assert post("tools/list", "2030-01-01").json["error"]["code"] == -32022


def test_a_notification_gets_no_answer(reader: Agent) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = reader.client.post("/mcp", json=body, headers=reader.headers)
    assert (answer.status_code, answer.data) == (202, b"")


def test_a_broken_message_is_refused(reader: Agent) -> None:
    headers = reader.headers | {"Content-Type": "application/json"}
    for body in (
        b"",
        b"{",
        b"[]",
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        b'{"id": 1, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b"[" * 9999 + b"]" * 9999,
    ):
        answer = reader.client.post("/mcp", data=body, headers=headers)
        assert answer.status_code == 400, body[:80]
        assert answer.json is not None
        assert answer.json["error"]["code"] in (-32700, -32600), body[:80]


def test_a_body_past_the_limit_is_413(reader: Agent) -> None:
    headers = reader.headers | {"Content-Type": "application/json"}
    answer = reader.client.post("/mcp", data=b" " * (MAX_BODY_BYTES + 1), headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "origin", ["https://elsewhere.example", "http://localhost", "http://testimonials.example.com"]
)
def test_no_page_elsewhere_may_send_a_message(reader: Agent, origin: str) -> None:
    headers = reader.headers | {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    # As if its name led here for a moment.
    host = origin.partition("//")[2]
    answer = reader.client.post("/mcp", json=body, headers=headers | {"Host": host})
    assert answer.status_code == 403
    own = headers | {"Origin": "https://testimonials.example.com"}
    assert reader.client.post("/mcp", json=body, headers=own).status_code == 200


def test_without_credentials_it_says_where_they_come_from(client: FlaskClient) -> None:
    for headers in ({}, {"Authorization": "Bearer tst_tok_wrong"}):
        answer = client.post("/mcp", json={}, headers=headers)
        assert answer.status_code == 401
        where = "https://testimonials.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in answer.headers["WWW-Authenticate"]
        assert client.get("/.well-known/oauth-protected-resource/mcp").status_code == 200


def test_there_is_no_stream_to_listen_to(reader: Agent) -> None:
    for method in ("GET", "DELETE"):
        answer = reader.client.open("/mcp", method=method, headers=reader.headers)
        assert answer.status_code == 405
        assert "POST" in answer.headers["Allow"]
