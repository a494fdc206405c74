"""MCP: what each revision wants of a message, the tools that a credential sees, and the command."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result
from flask import Flask

from testimonials.auth.tokens import Scope, list_tokens
from testimonials.cli.main import main
from testimonials.integrations.mcp.messages import CAPABILITIES_KEY, CURRENT, OLDER, VERSION_KEY
from testimonials.integrations.mcp.server import MAX_BODY_BYTES
from testimonials.integrations.mcp.tools import TOOLS
from tests.conftest import Caller
from tests.integrations.mcp.talking import META, Agent, connect
from tests.support.rows import add_testimonial
from tests.support.servers import free_port


@pytest.fixture
def reader(app: Flask, owner: Caller) -> Agent:
    owner.create_project(slug="kiln")
    return connect(app, owner.account_id, Scope.READ)


def test_discover_says_what_there_is(reader):
    result = reader.ask("server/discover")
    assert result["supportedVersions"] == [CURRENT, *OLDER]
    assert result["capabilities"].keys() == {"tools", "resources", "prompts"}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "testimonials"
    for method, scope in (("tools/list", "private"), ("prompts/list", "public")):
        result = reader.ask(method)
        assert (result["resultType"], result["cacheScope"]) == ("complete", scope)
        assert result["ttlMs"] > 0


def test_headers_repeat_the_body(reader):
    of_prompts = {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "prompts/get"}
    for headers in (
        {}, {"MCP-Protocol-Version": CURRENT},
        {"MCP-Protocol-Version": CURRENT, "Mcp-Method": "tools/call"},
        of_prompts | {"Mcp-Name": "set_up"}, of_prompts | {"Mcp-Name": "=?base64?broken?="},
    ):  # fmt: skip
        answer = reader.send("prompts/get", headers, name="triage_inbox")
        assert (answer.status_code, answer.json["error"]["code"]) == (400, -32020), headers
        assert answer.json["id"] == 7
    encoded = of_prompts | {"Mcp-Name": "=?base64?dHJpYWdlX2luYm94?="}
    assert reader.send("prompts/get", encoded, name="triage_inbox").status_code == 200


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({}, -32602), ("x", -32602), ({VERSION_KEY: CURRENT}, -32602),
        (META | {VERSION_KEY: "2030-01-01"}, -32022), ({CAPABILITIES_KEY: {}}, -32602),
    ],
)  # fmt: skip
def test_each_request_says_its_revision(reader, meta, code):
    version = meta.get(VERSION_KEY, CURRENT) if isinstance(meta, dict) else CURRENT
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}
    answer = reader.send("tools/list", headers, _meta=meta)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, code)
    if code == -32022:
        assert answer.json["error"]["data"]["supported"] == [CURRENT, *OLDER]


def test_each_other_message_has_its_status(reader):
    for method in ("initialize", "ping", "nothing", "tools/delete"):
        answer = reader.send(method)
        assert (answer.status_code, answer.json["error"]["code"]) == (404, -32601), method
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = reader.client.post("/mcp", json=body, headers=reader.headers)
    assert (answer.status_code, answer.data) == (202, b"")
    headers = reader.headers | {"Content-Type": "application/json"}
    answer = reader.client.post("/mcp", data=b" " * (MAX_BODY_BYTES + 1), headers=headers)
    assert answer.status_code == 413
    # There is no stream to listen to.
    for method in ("GET", "DELETE"):
        answer = reader.client.open("/mcp", method=method, headers=reader.headers)
        assert (answer.status_code, "POST" in answer.headers["Allow"]) == (405, True)


@pytest.mark.parametrize(
    ("asked", "agreed"), [*((each, each) for each in OLDER), ("2024-11-05", OLDER[0])]
)
def test_older_clients_begin_with_initialize(reader, asked, agreed):
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


def test_a_broken_message_is_refused(reader):
    headers = reader.headers | {"Content-Type": "application/json"}
    for body in (
        b"", b"{", b"[]", b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        b'{"id": 1, "method": "ping"}', b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b"[" * 9999 + b"]" * 9999,
    ):  # fmt: skip
        answer = reader.client.post("/mcp", data=body, headers=headers)
        assert answer.status_code == 400, body[:80]
        assert answer.json is not None
        assert answer.json["error"]["code"] in (-32700, -32600), body[:80]


@pytest.mark.parametrize(
    "origin", ["https://elsewhere.example", "http://localhost", "http://testimonials.example.com"]
)
def test_no_page_elsewhere_may_send_a_message(reader, origin):
    headers = reader.headers | {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    # As if its name led here for a moment.
    host = origin.partition("//")[2]
    answer = reader.client.post("/mcp", json=body, headers=headers | {"Host": host})
    assert answer.status_code == 403
    own = headers | {"Origin": "https://testimonials.example.com"}
    assert reader.client.post("/mcp", json=body, headers=own).status_code == 200


def test_without_credentials_it_says_where_they_come_from(client):
    for headers in ({}, {"Authorization": "Bearer tst_tok_wrong"}):
        answer = client.post("/mcp", json={}, headers=headers)
        assert answer.status_code == 401
        where = "https://testimonials.example.com/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in answer.headers["WWW-Authenticate"]
        assert client.get("/.well-known/oauth-protected-resource/mcp").status_code == 200


@pytest.fixture
def keyed(agent: Caller) -> Agent:
    return Agent(agent.client, agent.headers)


def test_at_most_22_tools_that_a_model_can_tell_apart(app, owner):
    tools = connect(app, owner.account_id, *Scope).ask("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in TOOLS]
    assert len(tools) <= 22
    # What every conversation pays: about a token for four bytes.
    assert len(json.dumps(tools)) < 42_000
    for tool in tools:
        assert len(tool["description"]) > 40
        assert "$ref" not in json.dumps(tool["inputSchema"])
        assert tool["annotations"]["readOnlyHint"] is tool["name"].startswith(
            ("list", "get", "who")
        )


def test_how_a_project_stands_and_what_is_read_of_it_are_tools(app, owner):
    project = owner.create_project(slug="kiln")["_id"]
    owner.create_testimonial(project, rating=5)
    reading = connect(app, owner.account_id, Scope.READ)
    summary = reading.call("get_summary")
    assert (summary["ratingCount"], summary["testimonials"]["approved"]) == (1, 1)
    insights = reading.call("get_insights", projectId=project, days=7)
    assert len(insights["days"]) == 7
    drafting = connect(app, owner.account_id, Scope.DRAFT)
    assert not {"get_summary", "get_insights"} & drafting.tools()
    assert "read" in drafting.fail("get_insights", projectId=project)


def test_a_token_sees_what_it_may_do_or_propose(app, owner):
    owner.create_project(slug="kiln")
    reading = connect(app, owner.account_id, Scope.READ).tools()
    assert {"list_projects", "list_testimonials", "get_embed_snippet"} <= reading
    assert "change_widget" not in reading
    drafting = connect(app, owner.account_id, Scope.READ, Scope.DRAFT)
    assert "change_widget" in drafting.tools()
    result = drafting.ask("tools/call", name="change_widget", arguments={"theme": "dark"})
    assert result["structuredContent"]["message"] == "Waits for the owner"
    assert drafting.call("list_projects")[0]["widgetConfig"]["theme"] == "light"
    # Seen or not: what is called is decided by the operation.
    refused = connect(app, owner.account_id, Scope.READ).fail("change_widget", theme="dark")
    assert "scope configure" in refused


def test_a_tool_does_what_its_operation_does(app, owner):
    owner.create_project(slug="kiln")
    agent = connect(app, owner.account_id, Scope.READ, Scope.CONFIGURE)
    (project,) = agent.call("list_projects")
    changed = agent.call("change_widget", projectId=project["_id"], theme="dark")
    assert (changed["widgetConfig"]["theme"], agent.call("list_projects")) == ("dark", [changed])
    result = agent.ask("tools/call", name="list_projects", arguments={})
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_an_inbox_is_gone_through(app, owner):
    project = owner.create_project(slug="kiln")["_id"]
    first, second = (add_testimonial(app, project, status="pending") for _ in range(2))
    agent = connect(app, owner.account_id, Scope.READ, Scope.PUBLISH)
    assert {each["_id"] for each in agent.call("list_waiting")["items"]} == {first, second}
    assert agent.call("decide", decision="approve", ids=[first], dryRun=True)
    assert agent.call("list_testimonials")["items"] == []
    agent.call("decide", decision="approve", ids=[first])
    agent.call("edit_testimonial", testimonialId=first, reply="Thank you!")
    assert [each["_id"] for each in agent.call("list_testimonials")["items"]] == [first]
    # The same by somebody who may only propose it.
    drafting = connect(app, owner.account_id, Scope.READ, Scope.DRAFT)
    proposal = drafting.call("decide", decision="approve", ids=[second])
    assert proposal["kind"] == "testimonial.decide"
    reason = "It names the dish."
    values = {"decision": "pin", "ids": [first]}
    drafting.call("propose_change", kind="testimonial.decide", values=values, reason=reason)
    assert [each["reason"] for each in drafting.call("list_proposals")["items"]] == [reason, ""]
    assert len(agent.call("list_testimonials")["items"]) == 1


def test_sent_again_with_its_key_a_call_is_done_once(keyed, agent):
    agent.create_project(slug="kiln")
    sent = {"testimonials": [{"authorName": "Maya", "text": "Good"}], "idempotencyKey": "maya-1"}
    assert keyed.call("add_testimonials", **sent) == keyed.call("add_testimonials", **sent)
    assert len(keyed.call("list_testimonials")["items"]) == 1


def test_what_a_token_was_last_used_for_names_the_operation(app, owner):
    owner.create_project(slug="kiln")
    connect(app, owner.account_id, Scope.READ).call("list_projects")
    with app.app_context():
        (listed,) = list_tokens(owner.account_id)
    assert listed.last_use is not None
    assert (listed.last_use.operation, listed.last_use.by) == ("list_projects", "mcp")


def test_a_mistake_is_a_result_that_says_how_to_mend_it(keyed, agent):
    assert "projectId. Projects: none yet." in keyed.fail("get_embed_snippet")
    first, second = (agent.create_project(slug=slug)["_id"] for slug in ("kiln", "oven"))
    said = keyed.fail("get_embed_snippet")
    assert f"{first} (kiln)" in said
    assert f"{second} (oven)" in said
    assert "Must be one of: light, dark" in keyed.fail(
        "change_widget", projectId=first, theme="red"
    )
    assert "Unknown: colour" in keyed.fail("change_widget", projectId=first, colour="red")
    assert "list_projects" in keyed.fail("get_embed_snippet", projectId="x/../y")
    for wrong in ([first], {"a": 1}, 5, True):
        assert "not found" in keyed.fail("get_embed_snippet", projectId=wrong)
    assert keyed.call("get_embed_snippet", projectId=first)["projectId"] == first


def test_no_argument_breaks_out_of_its_place(keyed, agent):
    agent.create_project(slug="kiln")
    assert "testimonialId" in keyed.fail("edit_testimonial", text="x")
    words = {"testimonials": [{"authorName": "Maya", "text": "Good"}]}
    for key in ("a\r\nx-api-key: b", "\x00", "é😀", "", "k" * 9999, {"a": [1]}, 5, None):
        assert keyed.fail("add_testimonials", idempotencyKey=key, **words)
    for name in ("../../me", "a?b=c#d", "%2e%2e", "\x00", "", "/"):
        said = keyed.fail("edit_testimonial", testimonialId=name, text="x")
        assert re.search("not found|no such|does not exist|Give testimonialId", said), name
    for limit in ("5&offset=1", [5], {"a": 1}, True, -1):
        assert "limit" in keyed.fail("list_testimonials", limit=limit), limit
    assert keyed.call("list_testimonials")["items"] == []


def test_an_unknown_tool_is_an_error_of_the_protocol(keyed):
    for params in ({"name": "nothing"}, {}, {"name": "list_projects", "arguments": [1]}):
        answer = keyed.send("tools/call", **params)
        assert (answer.status_code, answer.json["error"]["code"]) == (400, -32602)


def test_a_token_for_one_project_reaches_no_other(app, owner):
    kiln, oven = (owner.create_project(slug=slug)["_id"] for slug in ("kiln", "oven"))
    agent = connect(app, owner.account_id, Scope.READ, project_id=kiln)
    assert agent.call("get_embed_snippet", projectId=kiln)
    assert "not found" in agent.fail("get_embed_snippet", projectId=oven)
    uri = f"testimonials://projects/{oven}"
    assert agent.send("resources/read", uri=uri).status_code == 400
    uris = [each["uri"] for each in agent.ask("resources/list")["resources"]]
    assert not any(oven in each for each in uris)


def test_resources_are_the_guide_the_project_and_its_wall(keyed, agent):
    project = agent.create_project(slug="kiln")["_id"]
    agent.create_testimonial(project, text="It never cracks.")
    found = {each["name"]: each["uri"] for each in keyed.ask("resources/list")["resources"]}
    read = {
        name: keyed.ask("resources/read", uri=uri)["contents"][0] for name, uri in found.items()
    }
    assert read["guide"]["text"].startswith("# Testimonials")
    assert json.loads(read["project-kiln"]["text"])["data"]["_id"] == project
    (published,) = json.loads(read["wall-kiln"]["text"])["items"]
    assert published["content_text"] == "It never cracks."
    assert read["wall-kiln"]["mimeType"] == "application/feed+json"
    for uri in ("testimonials://nothing", f"{found['guide']}x", "", 5):
        assert keyed.send("resources/read", uri=uri).status_code == 400


def test_prompts_take_what_a_person_gives_as_it_is(keyed):
    prompts = keyed.ask("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["set_up", "triage_inbox", "write_case_study"]
    arguments = {"business": "{website} & Söhne"}
    (message,) = keyed.ask("prompts/get", name="set_up", arguments=arguments)["messages"]
    assert "the business {website} & Söhne. Its website: (not given)" in message["content"]["text"]
    for params in (
        {"name": "set_up"},
        {"name": "x"},
        {"name": "set_up", "arguments": {"business": 1}},
    ):
        assert keyed.send("prompts/get", **params).status_code == 400


def run(*lines: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, ["mcp"], input="\n".join(lines))


def test_each_line_that_asks_gets_an_error_and_the_next_is_read():
    url = f"http://127.0.0.1:{free_port()}/"
    lines = (
        '{"jsonrpc": "2.0", "id": 5, "method": "ping"}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}', "", "nonsense", "[]",
        '{"jsonrpc": "2.0", "id": "é", "method": "tools/call", "params": {"_meta": []}}',
    )  # fmt: skip
    done = run(*lines, TESTIMONIALS_URL=url, TESTIMONIALS_TOKEN="tst_tok_x")
    assert done.exit_code == 0, done.output
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [5, None, None, "é"]
    assert [answer["error"]["code"] for answer in answers] == [-32000, -32700, -32600, -32000]
    assert f"{url}mcp can't be reached" in answers[0]["error"]["message"]
    assert "tst_tok_x" not in done.output


def test_it_needs_a_url_and_a_token():
    assert "--url" in run().stderr
    assert "--token" in run(TESTIMONIALS_URL="https://reviews.example.com").stderr
    for url in ("file:///etc", "reviews.example.com"):
        refused = run('{"id": 1}', TESTIMONIALS_URL=url, TESTIMONIALS_TOKEN="x")
        assert "can't be reached" in refused.stdout
