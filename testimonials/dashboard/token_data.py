"""How pages describe access tokens, and what agents are told to connect with."""

import re
from collections.abc import Iterable
from typing import Any

from flask import render_template

from testimonials.auth.callers import Scope
from testimonials.auth.models import UNUSED
from testimonials.auth.tokens import ListedToken, list_tokens
from testimonials.core import clock
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.http.urls import agent_guide_url, base_url, mcp_url
from testimonials.dashboard.formatting import highlight
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project

# How a token was used last, by the door.
DOORS = {"api": gettext_noop("by the API"), "mcp": gettext_noop("by MCP")}
CLIENTS = {
    "json": gettext_noop("MCP, JSON"),
    "line": gettext_noop("MCP, one line"),
    "curl": gettext_noop("Command line"),
    "prompt": gettext_noop("A prompt to paste"),
}


def describe_tokens(access: Access) -> list[dict[str, Any]]:
    """Return the tokens that this person manages here, but for those that were revoked.

    An administrator manages those for this project alone, the owner also those for all.
    """
    project = access.project
    return [
        _describe(each, access)
        for each in list_tokens(project.account_id, project.id)
        if each.token.state != "revoked" and (each.token.project_id or access.role == Role.OWNER)
    ]


def label_scopes(scopes: Iterable[str]) -> list[str]:
    return [_(each.label) for each in Scope if each in set(scopes)]


def describe_connect(project: Project, client: str) -> list[dict[str, Any]]:
    """Return the ways to connect an agent; an unknown `client` opens the first."""
    current = client if client in CLIENTS else next(iter(CLIENTS))
    values = {"base": base_url(), "mcp": mcp_url(), "guide": agent_guide_url(), "project": project}
    return [
        {
            "key": key,
            "name": _(name),
            "code": highlight(
                render_template(f"dashboard/integrations/connect/{key}.txt", **values)
            ),
            "is_current": key == current,
        }
        for key, name in CLIENTS.items()
    ]


def find_newest_use(tokens: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the token that was used last, None if none was."""
    used = [each for each in tokens if each["use"]]
    return max(used, key=lambda each: each["use"].at, default=None)


def _describe(listed: ListedToken, access: Access) -> dict[str, Any]:
    token, use = listed.token, listed.last_use
    is_used = use is not None and use.at > clock.now() - UNUSED
    return {
        "token": token,
        # The stored time of the last use is a minute late.
        "state": "active" if token.state == "unused" and is_used else token.state,
        "made_by": _("you") if token.made_by_id == access.user.account_id else listed.made_by,
        "scopes": label_scopes(token.scopes),
        "use": use,
        "used_for": _describe_use(use.operation, use.by) if use else "",
    }


def _describe_use(operation: str, door: str) -> str:
    """Return an operation in words: `update_widgetConfig` by `mcp` is "update widget config"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", operation).lower()
    return ", ".join(filter(None, (words, translate(DOORS.get(door, "")))))
