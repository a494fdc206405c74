"""The official clients, in Python and TypeScript, and the protocol's own conformance scenarios."""

import asyncio
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from werkzeug.serving import make_server

from testimonials.auth.tokens import Scope
from testimonials.integrations.mcp.messages import CURRENT, OLDER
from testimonials.integrations.mcp.tools import TOOLS
from tests.conftest import MakeApp, MakeCaller
from tests.integrations.mcp.talking import give_token
from tests.support.process import COMMAND, clean_environment, run_program
from tests.support.servers import PATIENCE, free_port

pytestmark = [pytest.mark.process, pytest.mark.thorough]

CLIENTS = Path(__file__).parents[3] / "packages/mcp-clients"
SCENARIOS = {
    CURRENT: ("server-stateless", "http-header-validation", "caching", "dns-rebinding-protection"),
    OLDER[0]: ("server-initialize", "tools-list"),
}


@dataclass
class Served:
    url: str
    token: str
    # Where a request needs no credentials: the scenarios have none.
    open_url: str


@pytest.fixture
def served(make_app: MakeApp, make_caller: MakeCaller) -> Iterator[Served]:
    port, open_port = free_port(), free_port()
    app = make_app(base_url=f"http://127.0.0.1:{port}", app_url=f"http://127.0.0.1:{open_port}")
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    owner.create_project(slug="kiln")
    token = give_token(app, owner.account_id, *Scope)

    def let_in(environ: dict[str, Any], start_response: Any) -> Any:
        return app(environ | {"HTTP_AUTHORIZATION": f"Bearer {token}"}, start_response)

    servers = [
        make_server("127.0.0.1", port, app, threaded=True),
        make_server("127.0.0.1", open_port, let_in, threaded=True),
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Served(f"http://127.0.0.1:{port}/mcp", token, f"http://127.0.0.1:{open_port}/mcp")
    for server in servers:
        server.shutdown()
        server.server_close()


def test_python_over_http_and_stdio(served, tmp_path):
    environment = clean_environment(tmp_path, {}) | {
        "TESTIMONIALS_URL": served.url.removesuffix("/mcp"),
        "TESTIMONIALS_TOKEN": served.token,
    }
    command = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=environment)

    async def use_http(mode: str) -> str:
        headers = {"Authorization": f"Bearer {served.token}"}
        async with create_mcp_http_client(headers=headers) as http:
            return await _use(streamable_http_client(served.url, http_client=http), mode)

    async def use_all() -> list[str]:
        ways = [
            use_http("auto"), use_http("legacy"), _use(command, "auto"), _use(command, "legacy"),
        ]  # fmt: skip
        return await asyncio.gather(*ways)

    # A browser's test may have left its loop in this thread.
    with ThreadPoolExecutor(1) as pool:
        used = pool.submit(asyncio.run, use_all()).result()
    assert used == [CURRENT, OLDER[0]] * 2


async def _use(server: Any, mode: Any) -> str:
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
        called = await client.call_tool("list_projects", {})
        assert called.structured_content["data"][0]["publicPageConfig"]["slug"] == "kiln"
        refused = await client.call_tool("change_widget", {"theme": "réd"})
        assert refused.is_error
        assert "Must be one of" in refused.content[0].text
        found = (await client.list_resources()).resources
        read = await client.read_resource(found[0].uri)
        assert read.contents[0].text.startswith("# Testimonials")
        prompt = await client.get_prompt("set_up", {"business": "Kiln & Söhne"})
        assert "Kiln & Söhne" in prompt.messages[0].content.text
        return str(client.protocol_version)


def test_typescript_of_both_generations(served):
    seen = json.loads(_node("connect.mjs", served.url, served.token))
    assert [each["version"] for each in seen] == [CURRENT, OLDER[0]]
    for each in seen:
        assert each["tools"] == [tool.name for tool in TOOLS]
        assert each["projects"] == ["kiln"]
        assert each["refused"].startswith("limit:")
        assert (each["guide"], each["prompts"], each["prompt"]) == ("# Testimonials", 3, "text")


def test_conformance_scenarios(served, tmp_path):
    program = CLIENTS / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    # It imports a function that Node.js 20 lacks, and uses it for other things than servers.
    text, count = re.subn(r",globSync as (\w+),", ",", program.read_text("utf-8"), count=1)
    assert count == 1
    patched = program.with_name("patched.js")
    patched.write_text(text.replace("\n", "\nconst a=()=>[];", 1), "utf-8")
    command = ["node", patched, "server", "--url", served.open_url, "--scenario"]
    running = [
        subprocess.Popen(
            [*command, scenario, "--spec-version", version, "--output-dir", tmp_path / version],
            stdout=subprocess.DEVNULL,
        )
        for version, scenarios in SCENARIOS.items()
        for scenario in scenarios
    ]
    for process in running:
        process.wait(PATIENCE)
    found = [json.loads(path.read_text()) for path in tmp_path.rglob("checks.json")]
    assert len(found) == len(running)
    checks = [check for each in found for check in each]
    assert sum(check["status"] == "SUCCESS" for check in checks) > 40
    # Some want a tool made for them, such as one that asks the client back.
    failed = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    assert [c for c in failed if not c["errorMessage"].startswith("Not testable: ")] == []


def _node(script: str, *arguments: str) -> str:
    done = run_program(["node", CLIENTS / script, *arguments])
    assert done.returncode == 0, done.stderr
    return done.stdout
