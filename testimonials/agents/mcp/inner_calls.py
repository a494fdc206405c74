"""Calls of the service by itself: a tool runs the very view that its operation has under `/v1`.

The caller's credentials, network and limits are those of the request that asked for it.
"""

from collections.abc import Mapping
from typing import Any

from flask import Response, current_app, request
from werkzeug.test import EnvironBuilder

from testimonials.access.guards import CALLED_BY
from testimonials.core.urls import base_url
from testimonials.extensions import db

MCP = "mcp"

# The headers that the inner request takes over.
PASSED_ON = ("Authorization", "x-service-account-id", "x-api-key")


def call_view(
    endpoint: str,
    method: str = "GET",
    values: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return what the view of `endpoint` answers; `values` are those of its placeholders."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    passed = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    builder = EnvironBuilder(
        path=app.url_map.bind("").build(endpoint, dict(values or {})),
        base_url=base_url(),
        method=method,
        query_string=dict(query or {}),
        json=body,
        headers=list((passed | dict(headers or {})).items()),
        environ_base={"REMOTE_ADDR": request.remote_addr, CALLED_BY: MCP},
    )
    # One connection for each thread: this request waits for the other one.
    db.session.remove()
    # A context of its own, so that neither sees the other's session and actor.
    with app.app_context(), app.request_context(builder.get_environ()):
        response: Response = app.full_dispatch_request()
        response.get_data()
    return response


def list_projects() -> dict[str, str]:
    """Return the caller's projects: slugs by id; none if the caller may not read."""
    found = call_view("projects.list_projects").get_json().get("data", [])
    return {project["_id"]: project["publicPageConfig"]["slug"] for project in found}
