"""`testimonials mcp`: MCP over standard input and output, forwarded to a service's `/mcp`.

The service may be on any machine; no instance is needed on this one.
"""

import io
import json
import sys
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

import click

from testimonials.integrations.mcp import messages

UNREACHABLE = -32000
SECONDS = 60


@click.command("mcp")
@click.option(
    "--url", envvar="TESTIMONIALS_URL", required=True, help="Such as https://example.com."
)
@click.option(
    "--token",
    envvar="TESTIMONIALS_TOKEN",
    required=True,
    help="An access token. The variable is safer: other users can see a program's arguments.",
)
def mcp(url: str, token: str) -> None:
    """Speak MCP over standard input and output.

    For clients that start a program; others connect to /mcp at the service itself. The URL and the
    access token may also come from the variables TESTIMONIALS_URL and TESTIMONIALS_TOKEN.
    """
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    for answer in forward(f"{url.rstrip('/')}/mcp", token, lines):
        click.echo(json.dumps(answer))


def forward(url: str, token: str, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the service's answer to each request."""
    # `initialize` negotiates it; newer clients send it with each message.
    version = ""
    for line in filter(str.strip, lines):
        message: dict[str, Any] = {"id": None}
        try:
            message = _read(line)
            answer = _send(url, token, _headers(message, version), line.encode())
        except messages.MessageRefused as error:
            answer = messages.answer_error(message.get("id"), error)
        # A notification gets no answer, not even an error.
        if answer and "id" in message:
            version = answer.get("result", {}).get("protocolVersion", version)
            yield answer


def _read(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise messages.MessageRefused(
            messages.PARSE_ERROR, f"The line is not JSON: {error}."
        ) from None
    if not isinstance(message, dict):
        raise messages.MessageRefused(messages.INVALID_REQUEST, "Send one message per line.")
    return message


def _headers(message: dict[str, Any], version: str) -> dict[str, str]:
    """Return the headers that the message's revision requires."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    current = meta.get(messages.VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(current, str):
        return {"MCP-Protocol-Version": version} if version else {}
    method = str(message.get("method"))
    headers = {"MCP-Protocol-Version": current, "Mcp-Method": method}
    if method in messages.NAMED_BY:
        headers["Mcp-Name"] = str(params.get(messages.NAMED_BY[method]))
    return {name: messages.encode_header(value) for name, value in headers.items()}


def _send(url: str, token: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Return the service's answer, which may be empty; raise `MessageRefused`."""
    from urllib.request import Request, urlopen

    try:
        # S310: whoever runs the command chose the URL.
        request = Request(url, body, headers, method="POST")  # noqa: S310
        request.add_header("Content-Type", "application/json")
        # A redirect must not carry the token to another host.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
        with urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            return _parse(response.read())
    except HTTPError as error:
        answer = _parse(error.read())
        if "jsonrpc" in answer:
            return answer
        message = answer.get("message", f"The service answered {error.code} {error.reason}.")
        raise messages.MessageRefused(UNREACHABLE, f"{url}: {message}") from None
    except (OSError, ValueError, HTTPException) as error:
        raise messages.MessageRefused(UNREACHABLE, f"{url} can't be reached: {error}.") from None


def _parse(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
