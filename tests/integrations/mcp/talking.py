"""A client of MCP, as far as its messages go."""

from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope, make_token
from testimonials.core.extensions import db, lock_for_writing
from testimonials.integrations.mcp.messages import CAPABILITIES_KEY, CURRENT, NAMED_BY, VERSION_KEY

META = {VERSION_KEY: CURRENT, CAPABILITIES_KEY: {}}


@dataclass
class Agent:
    client: FlaskClient
    headers: dict[str, str]

    def send(self, method: str, headers: dict[str, str] | None = None, **params: Any) -> Any:
        """Send a request; return the answer of HTTP. `headers` replaces those of the revision."""
        params = {"_meta": META} | params
        said = {"MCP-Protocol-Version": CURRENT, "Mcp-Method": method}
        if method in NAMED_BY:
            said["Mcp-Name"] = str(params.get(NAMED_BY[method]))
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        sent = self.headers | (said if headers is None else headers)
        return self.client.post("/mcp", json=body, headers=sent)

    def ask(self, method: str, **params: Any) -> Any:
        answer: TestResponse = self.send(method, **params)
        assert answer.status_code == 200, answer.text
        return answer.json["result"]  # type: ignore[index]

    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.ask("tools/list")["tools"]}

    def call(self, name: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", name=name, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]["data"]

    def fail(self, name: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=name, arguments=arguments)
        assert result["isError"], result
        return str(result["content"][0]["text"])


def give_token(
    app: Flask, account_id: str, *scopes: Scope, project_id: str | None = None, name: str = "Helper"
) -> str:
    with app.test_request_context():
        lock_for_writing()
        _, plain = make_token(account_id, project_id, name, scopes, 90, account_id)
        db.session.commit()
    return plain


def connect(app: Flask, account_id: str, *scopes: Scope, project_id: str | None = None) -> Agent:
    token = give_token(app, account_id, *scopes, project_id=project_id)
    return Agent(app.test_client(), {"Authorization": f"Bearer {token}"})
