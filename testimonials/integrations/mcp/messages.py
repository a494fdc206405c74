"""MCP messages, and the API calls that they become."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, current_app, request
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder

from testimonials import __version__
from testimonials.auth.api_auth import CALLED_BY
from testimonials.core.extensions import db
from testimonials.core.http.urls import base_url

# Revision 2026-07-28 has no sessions: each request names its revision, and repeats its method in a
# header, for proxies. Older clients begin with `initialize`, of which nothing is stored.

CURRENT = "2026-07-28"
# Newest first. Requests without a header follow one of these.
OLDER = ("2025-11-25", "2025-06-18")

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER = {"name": "testimonials", "title": "Testimonials", "version": __version__}
SERVER_META = {"io.modelcontextprotocol/serverInfo": SERVER}

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

# The parameter that the header Mcp-Name repeats.
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class MessageRefused(Exception):
    """A JSON-RPC error; `status` is its HTTP status in the current revision."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})

    @property
    def status(self) -> int:
        return 404 if self.error["code"] == METHOD_NOT_FOUND else 400


@dataclass(frozen=True)
class Call:
    """A request; `id` is None for a notification, which gets no response."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    is_current: bool

    def answer(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the response in the format of the call's revision."""
        if self.is_current:
            result = {"resultType": "complete"} | result | {"_meta": SERVER_META}
        return {"jsonrpc": "2.0", "id": self.id, "result": result}


def answer_error(call_id: object, error: MessageRefused) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id if _is_id(call_id) else None, "error": error.error}


def read_call(message: Mapping[str, Any], headers: Headers) -> Call:
    """Return the request or notification in `message`; raise `MessageRefused`."""
    method, params = message.get("method"), message.get("params", {})
    is_notification = "id" not in message
    is_sound = message.get("jsonrpc") == "2.0" and isinstance(params, dict)
    if not is_sound or not isinstance(method, str):
        raise MessageRefused(INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.")
    if not is_notification and not _is_id(message["id"]):
        raise MessageRefused(INVALID_REQUEST, "The id must be a string or a number.")
    is_current = _is_current(params, headers)
    if is_current and not is_notification:
        _check_envelope(method, params, headers)
    return Call(message.get("id"), method, params, is_current)


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_current(params: Mapping[str, Any], headers: Headers) -> bool:
    sent = headers.get("MCP-Protocol-Version")
    meta = params.get("_meta")
    is_enveloped = isinstance(meta, dict) and VERSION_KEY in meta
    if sent is None:
        return is_enveloped
    if is_enveloped or sent == CURRENT:
        return True
    if sent not in OLDER:
        raise _unsupported(sent)
    return False


def _check_envelope(method: str, params: Mapping[str, Any], headers: Headers) -> None:
    """Check the metadata of a request of the current revision, and the headers that repeat it."""
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]:
        raise MessageRefused(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    expected = {"MCP-Protocol-Version": meta[VERSION_KEY], "Mcp-Method": method}
    if (name := NAMED_BY.get(method)) and params.get(name) is not None:
        expected["Mcp-Name"] = params[name]
    for header, value in expected.items():
        sent = headers.get(header)
        if sent is None or decode_header(sent.strip()) != value:
            raise MessageRefused(HEADER_MISMATCH, f"The header {header} doesn't match the body.")
    if meta[VERSION_KEY] != CURRENT:
        raise _unsupported(meta[VERSION_KEY])


def _unsupported(version: object) -> MessageRefused:
    data = {"supported": [CURRENT, *OLDER], "requested": version}
    return MessageRefused(UNSUPPORTED_VERSION, "This revision of MCP is not supported.", data)


def decode_header(text: str) -> str | None:
    """Return a header's decoded value; None if its encoding is invalid."""
    if (match := _ENCODED.fullmatch(text)) is None:
        return text
    try:
        return base64.b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def encode_header(text: str) -> str:
    is_plain = text.isascii() and text.isprintable() and text == text.strip()
    if is_plain and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


# Internal requests: a tool runs the view of its operation under `/v1`, with the credentials,
# network and limits of the caller.

MCP = "mcp"
PASSED_ON = ("Authorization", "x-service-account-id", "x-api-key")


def call_view(
    endpoint: str,
    method: str = "GET",
    values: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response of the view `endpoint`; `values` are the parts of its URL."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    credentials = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    builder = EnvironBuilder(
        path=app.url_map.bind("").build(endpoint, dict(values or {})),
        base_url=base_url(),
        method=method,
        query_string=dict(query or {}),
        json=body,
        headers=list((credentials | dict(headers or {})).items()),
        environ_base={"REMOTE_ADDR": request.remote_addr, CALLED_BY: MCP},
    )
    # A thread has one connection, which the inner request needs.
    db.session.remove()
    # It has a context of its own, so that neither request sees the other's session and actor.
    with app.app_context(), app.request_context(builder.get_environ()):
        response: Response = app.full_dispatch_request()
        response.get_data()
    return response


def list_projects() -> dict[str, str]:
    """Return the slugs of the caller's projects by id; none if the caller may not read them."""
    projects = call_view("projects.list_projects").get_json().get("data", [])
    return {project["_id"]: project["publicPageConfig"]["slug"] for project in projects}
