"""Tools: those that a credential sees, and that they are the API's own operations."""

import json
import re

import pytest
from flask import Flask

from testimonials.access.scopes import Scope
from testimonials.access.tokens import list_tokens
from testimonials.agents.mcp.tool_table import TOOLS
from tests.agents.mcp.talking import Agent, connect
from tests.conftest import Caller
from tests.support.rows import add_testimonial


@pytest.fixture
def keyed(agent: Caller) -> Agent:
    """An agent with the account's key."""
    return Agent(agent.client, agent.headers)


def test_at_most_20_tools_that_a_model_can_tell_apart(app: Flask, owner: Caller) -> None:
    tools = connect(app, owner.account_id, *Scope).ask("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in TOOLS]
    assert len(tools) <= 20
    # What every conversation pays: about a token for four bytes.
    assert len(json.dumps(tools)) < 40_000
    for tool in tools:
        assert len(tool["description"]) > 40
        assert "$ref" not in json.dumps(tool["inputSchema"])
        assert tool["annotations"]["readOnlyHint"] is tool["name"].startswith(
            ("list", "get", "who")
        )


def test_a_token_sees_what_it_may_do_or_propose(app: Flask, owner: Caller) -> None:
    owner.create_project(slug="kiln")
    reading = connect(app, owner.account_id, Scope.READ).tools()
    assert {"list_projects", "list_testimonials", "get_embed_snippet"} <= reading
    assert "change_widget" not in reading
    drafting = connect(app, owner.account_id, Scope.READ, Scope.DRAFT)
    assert "change_widget" in drafting.tools()
    # Seen or not: what is called is decided by the operation.
    refused = connect(app, owner.account_id, Scope.READ).fail("change_widget", theme="dark")
    assert "scope configure" in refused


def test_a_tool_does_what_its_operation_does(app: Flask, owner: Caller) -> None:
    owner.create_project(slug="kiln")
    agent = connect(app, owner.account_id, Scope.READ, Scope.CONFIGURE)
    (project,) = agent.call("list_projects")
    changed = agent.call("change_widget", projectId=project["_id"], theme="dark")
    assert changed["widgetConfig"]["theme"] == "dark"
    assert agent.call("list_projects") == [changed]
    result = agent.ask("tools/call", name="list_projects", arguments={})
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_what_must_wait_for_the_owner_says_so(app: Flask, owner: Caller) -> None:
    owner.create_project(slug="kiln")
    agent = connect(app, owner.account_id, Scope.READ, Scope.DRAFT)
    result = agent.ask("tools/call", name="change_widget", arguments={"theme": "dark"})
    assert result["structuredContent"]["message"] == "Waits for the owner"
    assert agent.call("list_projects")[0]["widgetConfig"]["theme"] == "light"


def test_an_inbox_is_gone_through(app: Flask, owner: Caller) -> None:
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


def test_sent_again_with_its_key_a_call_is_done_once(keyed: Agent, agent: Caller) -> None:
    agent.create_project(slug="kiln")
    sent = {"testimonials": [{"authorName": "Maya", "text": "Good"}], "idempotencyKey": "maya-1"}
    assert keyed.call("add_testimonials", **sent) == keyed.call("add_testimonials", **sent)
    assert len(keyed.call("list_testimonials")["items"]) == 1


def test_what_a_token_was_last_used_for_names_the_operation(app: Flask, owner: Caller) -> None:
    owner.create_project(slug="kiln")
    connect(app, owner.account_id, Scope.READ).call("list_projects")
    with app.app_context():
        (listed,) = list_tokens(owner.account_id)
    assert listed.last_use is not None
    assert (listed.last_use.operation, listed.last_use.by) == ("list_projects", "mcp")


def test_a_mistake_is_a_result_that_says_how_to_mend_it(keyed: Agent, agent: Caller) -> None:
    assert "projectId. There are: none yet." in keyed.fail("get_embed_snippet")
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


def test_no_argument_breaks_out_of_its_place(keyed: Agent, agent: Caller) -> None:
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


def test_an_unknown_tool_is_an_error_of_the_protocol(keyed: Agent) -> None:
    for params in ({"name": "nothing"}, {}, {"name": "list_projects", "arguments": [1]}):
        answer = keyed.send("tools/call", **params)
        assert (answer.status_code, answer.json["error"]["code"]) == (400, -32602)


def test_a_token_for_one_project_reaches_no_other(app: Flask, owner: Caller) -> None:
    kiln, oven = (owner.create_project(slug=slug)["_id"] for slug in ("kiln", "oven"))
    agent = connect(app, owner.account_id, Scope.READ, project_id=kiln)
    assert agent.call("get_embed_snippet", projectId=kiln)
    assert "not found" in agent.fail("get_embed_snippet", projectId=oven)
    uri = f"testimonials://projects/{oven}"
    assert agent.send("resources/read", uri=uri).status_code == 400
    uris = [each["uri"] for each in agent.ask("resources/list")["resources"]]
    assert not any(oven in each for each in uris)


def test_resources_are_the_guide_the_project_and_its_wall(keyed: Agent, agent: Caller) -> None:
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


def test_prompts_take_what_a_person_gives_as_it_is(keyed: Agent) -> None:
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
