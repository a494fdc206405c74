"""MCP's resources and prompts."""

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testimonials.integrations.mcp.messages import (
    INVALID_PARAMS,
    MessageRefused,
    call_view,
    list_projects,
)

# Resources: what an assistant can read without a tool: the guide, each project and its wall.

GUIDE = "testimonials://guide"
PROJECT = "testimonials://projects/"
_PROJECT = re.compile(rf"{re.escape(PROJECT)}([0-9a-f]{{24}})(/wall)?")

TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": PROJECT + "{projectId}",
        "name": "project",
        "title": "Settings of a project",
        "description": "Its settings, page and widget, as JSON.",
        "mimeType": "application/json",
    },
    {
        "uriTemplate": PROJECT + "{projectId}/wall",
        "name": "wall",
        "title": "Wall of a project",
        "description": "The testimonials that are published, as a JSON Feed.",
        "mimeType": "application/feed+json",
    },
]


def list_resources() -> list[dict[str, Any]]:
    """Return the guide and two resources for each project of the caller."""
    guide = {
        "uri": GUIDE,
        "name": "guide",
        "title": "The guide for agents",
        "description": "What the service does, and how.",
        "mimeType": "text/plain",
    }
    resources = [_describe(*one) for one in list_projects().items()]
    return [guide, *itertools.chain.from_iterable(resources)]


def _describe(project_id: str, slug: str) -> list[dict[str, Any]]:
    return [
        {
            "uri": template["uriTemplate"].replace("{projectId}", project_id),
            "name": f"{template['name']}-{slug}",
            "title": f"{slug}: {template['title']}",
            "description": template["description"],
            "mimeType": template["mimeType"],
        }
        for template in TEMPLATES
    ]


def read_resource(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the contents of a resource; raise `MessageRefused`."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise MessageRefused(INVALID_PARAMS, "resources/read needs a uri.")
    found = _PROJECT.fullmatch(uri)
    if uri == GUIDE:
        answer = call_view("site.get_guide_for_agents")
    elif found is not None:
        endpoint = "widget.get_json_feed" if found[2] else "projects.get_project"
        answer = call_view(endpoint, values={"project_id": found[1]})
    else:
        raise MessageRefused(INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    if answer.status_code != 200:
        message = answer.get_json()["message"]
        raise MessageRefused(INVALID_PARAMS, message, {"uri": uri})
    return [{"uri": uri, "mimeType": answer.mimetype, "text": answer.get_data(as_text=True)}]


# Prompts: jobs that a person picks in their assistant, which then has the steps before it.


# In braces, the steps of each name its arguments.
_FILE = Path(__file__).with_name("prompts.json")
PROMPTS = {each["name"]: each for each in json.loads(_FILE.read_text(encoding="utf-8"))}


def list_prompts() -> list[dict[str, Any]]:
    return [
        {name: value for name, value in prompt.items() if name != "steps"}
        for prompt in PROMPTS.values()
    ]


def get_prompt(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages of a prompt; raise `MessageRefused`."""
    prompt = PROMPTS.get(str(params.get("name")))
    if prompt is None:
        known = ", ".join(PROMPTS)
        raise MessageRefused(INVALID_PARAMS, f"There is no such prompt. There are: {known}.")
    given = params.get("arguments") or {}
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise MessageRefused(INVALID_PARAMS, "The arguments must be strings by name.")
    required = [each["name"] for each in prompt["arguments"] if each["required"]]
    if missing := [name for name in required if not given.get(name)]:
        raise MessageRefused(INVALID_PARAMS, f"Give {' and '.join(missing)}.")
    # In one go: what a person gives may hold braces too.
    steps = "\n".join(prompt["steps"])
    text = re.sub(r"{(\w+)}", lambda found: given.get(found[1]) or "(not given)", steps)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt["description"], "messages": [message]}
