"""MCP's tools, which are operations of the API, and its resources and prompts."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask, Response, current_app

from testimonials.auth.api_auth import may_pass
from testimonials.auth.tokens import Caller
from testimonials.core.http.answers import dump_json
from testimonials.core.http.openapi import describe_api, operations
from testimonials.core.http.resource import Operation
from testimonials.integrations.mcp.messages import (
    INVALID_PARAMS,
    MessageRefused,
    call_view,
    list_projects,
)

Schema = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool, and the `operationId` of the operation that it runs, which documents its arguments.

    There are at most 22 tools, since each costs every conversation a few hundred words.
    """

    name: str
    operation: str
    title: str
    description: str
    # It may delete or overwrite something.
    is_destructive: bool = False
    # It reaches beyond this service, such as by email.
    is_outbound: bool = False


def _load(name: str) -> Any:
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


TOOLS = tuple(Tool(**values) for values in _load("tools.json"))

PROJECT = "projectId"
IN_PATH = "path:project_id"
KEY = "idempotencyKey"
PROJECT_SCHEMA = {
    "type": "string",
    "description": "Required if there are several projects.",
}
# Parameters of many operations, in fewer words than in the reference, since many tools repeat them.
SHARED: dict[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
    "dryRun": {"type": "boolean", "description": "Only show what would be done."},
    KEY: {
        "type": "string",
        "description": "A unique text: a call repeated with it is carried out only once.",
    },
}
# `after` is the better way to page.
LEFT_OUT = "offset"
# Advice to add to the message of an error.
ADVICE = {
    "MISSING_SCOPE": "The owner can connect you again with more scopes, or create a new token.",
    "NOT_FOUND": "The ids are in the answers of the list tools, such as list_projects.",
}


@dataclass(frozen=True)
class PreparedTool:
    """A tool with its operation; `places` says where each argument is sent."""

    tool: Tool
    endpoint: str
    operation: Operation
    input_schema: Schema
    places: Mapping[str, str]

    def describe(self) -> dict[str, Any]:
        method = self.operation.method
        is_read = method == "GET"
        return {
            "name": self.tool.name,
            "title": self.tool.title,
            "description": self.tool.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "title": self.tool.title,
                "readOnlyHint": is_read,
                "destructiveHint": self.tool.is_destructive,
                "idempotentHint": is_read or method != "POST",
                "openWorldHint": self.tool.is_outbound,
            },
        }


def list_tools(caller: Caller) -> list[dict[str, Any]]:
    """Return the tools whose operation the caller may run or propose."""
    return [tool.describe() for tool in _tools().values() if may_pass(caller, tool.operation)]


def call_tool(_: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool, and return its result or error; raise `MessageRefused` for an unknown tool."""
    tool = _tools().get(str(params.get("name")))
    arguments = params.get("arguments") or {}
    if tool is None or not isinstance(arguments, dict):
        raise MessageRefused(INVALID_PARAMS, "There is no such tool, or its arguments are invalid.")
    if tool.places.get(PROJECT) == IN_PATH and PROJECT not in arguments:
        projects = list_projects()
        if len(projects) != 1:
            names = ", ".join(f"{key} ({slug})" for key, slug in projects.items()) or "none yet"
            return _refuse(f"Name the project with projectId. Projects: {names}.")
        arguments = arguments | {PROJECT: next(iter(projects))}
    if fault := _find_fault(tool, arguments):
        return _refuse(fault)
    return _read_result(_run(tool, arguments))


def _find_fault(tool: PreparedTool, arguments: Mapping[str, Any]) -> str:
    """Return what prevents passing the arguments to the operation, or an empty string."""
    if unknown := sorted(arguments.keys() - tool.places.keys()):
        known = ", ".join(tool.places) or "none"
        return f"Unknown: {', '.join(unknown)}. The arguments of this tool are: {known}."
    in_path = [name for name, place in tool.places.items() if place.startswith("path")]
    if missing := [name for name in in_path if not arguments.get(name)]:
        return f"Give {' and '.join(missing)}."
    key = arguments.get(KEY, "x")
    if not (isinstance(key, str) and key.isascii() and key.isprintable() and key):
        return f"{KEY}: A text of ASCII characters without line breaks."
    return ""


def _run(tool: PreparedTool, arguments: Mapping[str, Any]) -> Response:
    sent: dict[str, dict[str, Any]] = {"query": {}, "body": {}, "header": {}, "path": {}}
    for name, value in arguments.items():
        place, _, placed_as = tool.places[name].partition(":")
        sent[place][placed_as or name] = value if place == "body" else _write_plain(value)
    return call_view(
        tool.endpoint,
        tool.operation.method,
        values=sent["path"],
        query=sent["query"],
        body=sent["body"] if "body" in tool.places.values() else None,
        headers=sent["header"],
    )


def _write_plain(value: object) -> str:
    """Return a value as text for a query or a path; the operation checks it."""
    return value if isinstance(value, str) else dump_json(value).decode()


def _read_result(response: Response) -> dict[str, Any]:
    body = response.get_json()
    if response.status_code < 400:
        text = dump_json(body).decode()
        return {"content": [{"type": "text", "text": text}], "structuredContent": body}
    advice = ADVICE.get(body["code"], "")
    if wait := response.headers.get("Retry-After"):
        advice = f"Try again in {wait} seconds."
    return _refuse(f"{body['message']} {advice}".strip(), body)


def _refuse(message: str, body: object = None) -> dict[str, Any]:
    content = [{"type": "text", "text": message}]
    details = {} if body is None else {"structuredContent": body}
    return {"content": content, "isError": True} | details


def _tools() -> dict[str, PreparedTool]:
    return _prepare_tools(current_app._get_current_object())  # type: ignore[attr-defined]


@cache
def _prepare_tools(app: Flask) -> dict[str, PreparedTool]:
    document = describe_api(app)
    schemas = document["components"]["schemas"]
    described = {
        operation["operationId"]: operation
        for methods in document["paths"].values()
        for operation in methods.values()
    }
    routes = {operation.name: (rule.endpoint, operation) for rule, operation in operations(app)}
    return {
        tool.name: _prepare(tool, *routes[tool.operation], described[tool.operation], schemas)
        for tool in TOOLS
    }


def _prepare(
    tool: Tool, endpoint: str, operation: Operation, described: Schema, schemas: Schema
) -> PreparedTool:
    properties, places, required = {}, {}, []
    for parameter in described["parameters"]:
        # Those without a name are references to headers, and to what is in `SHARED`.
        if parameter.get("name", LEFT_OUT) == LEFT_OUT:
            continue
        name = re.sub(r"_(\w)", lambda match: match[1].upper(), parameter["name"])
        about = {"description": parameter["description"]} if "description" in parameter else {}
        properties[name] = SHARED.get(name) or _resolve(parameter["schema"], schemas) | about
        places[name] = f"{parameter['in']}:{parameter['name']}"
        required += [name] if parameter.get("required") else []
    if places.get(PROJECT) == IN_PATH:
        properties[PROJECT] = PROJECT_SCHEMA
        required.remove(PROJECT)
    if (body := described.get("requestBody")) is not None:
        resolved = _merge(_resolve(body["content"]["application/json"]["schema"], schemas))
        properties |= resolved["properties"]
        places |= dict.fromkeys(resolved["properties"], "body")
        required += resolved.get("required", [])
    shared = {} if operation.method == "GET" else {"dryRun": "query"}
    shared |= {KEY: "header:Idempotency-Key"} if operation.method == "POST" else {}
    properties |= {name: SHARED[name] for name in shared}
    places |= shared
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    schema |= {"required": required} if required else {}
    return PreparedTool(tool, endpoint, operation, schema, places)


def _resolve(schema: Any, schemas: Schema) -> Any:
    """Return a schema with its references replaced by what they refer to."""
    if isinstance(schema, list):
        return [_resolve(value, schemas) for value in schema]
    if not isinstance(schema, dict):
        return schema
    # Rules in words are shorter than patterns and examples, and the operation checks them anyway. A
    # property can have such a name.
    words = {"pattern": str, "examples": list}
    left_out = {"$ref"} | {name for name in words if isinstance(schema.get(name), words[name])}
    resolved = {
        name: _resolve(value, schemas) for name, value in schema.items() if name not in left_out
    }
    if "$ref" in schema:
        resolved = _resolve(schemas[schema["$ref"].rpartition("/")[2]], schemas) | resolved
    return resolved


def _merge(schema: Schema) -> Schema:
    """Return the schema without a `oneOf` at the top, which many clients don't support.

    A description names the fields of each kind instead.
    """
    choices = [choice["properties"] for choice in schema.get("oneOf", ())]
    if not choices:
        return schema
    fields = {
        choice["kind"]["enum"][0]: ", ".join(choice["values"]["properties"]) for choice in choices
    }
    known = "; ".join(f"{kind}: {names}" for kind, names in fields.items())
    merged = {name: value for choice in choices for name, value in choice.items()}
    merged["kind"] = {"type": "string", "enum": list(fields)}
    merged["values"] = {"type": "object", "description": f"By kind: {known}."}
    return {"properties": merged, "required": ["kind", "values"]}


# Resources, which assistants read without a tool.

GUIDE = "testimonials://guide"
ADDRESS = "testimonials://projects/"
_PROJECT = re.compile(rf"{re.escape(ADDRESS)}([0-9a-f]{{24}})(/wall)?")

TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": ADDRESS + "{projectId}",
        "name": "project",
        "title": "Settings of a project",
        "description": "Its settings, page and widget, as JSON.",
        "mimeType": "application/json",
    },
    {
        "uriTemplate": ADDRESS + "{projectId}/wall",
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
    return [guide] + [
        {
            "uri": template["uriTemplate"].replace("{projectId}", project_id),
            "name": f"{template['name']}-{slug}",
            "title": f"{slug}: {template['title']}",
            "description": template["description"],
            "mimeType": template["mimeType"],
        }
        for project_id, slug in list_projects().items()
        for template in TEMPLATES
    ]


def read_resource(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the contents of a resource; raise `MessageRefused`."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise MessageRefused(INVALID_PARAMS, "resources/read needs a uri.")
    if uri == GUIDE:
        answer = call_view("site.get_guide_for_agents")
    elif match := _PROJECT.fullmatch(uri):
        endpoint = "widget.get_json_feed" if match[2] else "projects.get_project"
        answer = call_view(endpoint, values={"project_id": match[1]})
    else:
        raise MessageRefused(INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    if answer.status_code != 200:
        message = answer.get_json()["message"]
        raise MessageRefused(INVALID_PARAMS, message, {"uri": uri})
    return [{"uri": uri, "mimeType": answer.mimetype, "text": answer.get_data(as_text=True)}]


# Prompts, which people pick in their assistant. The steps have the names of arguments in braces.

PROMPTS = {prompt["name"]: prompt for prompt in _load("prompts.json")}


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
        raise MessageRefused(INVALID_PARAMS, f"There is no such prompt. The prompts are: {known}.")
    values = params.get("arguments") or {}
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise MessageRefused(INVALID_PARAMS, "The arguments must be strings by name.")
    required = [argument["name"] for argument in prompt["arguments"] if argument["required"]]
    if missing := [name for name in required if not values.get(name)]:
        raise MessageRefused(INVALID_PARAMS, f"Give {' and '.join(missing)}.")
    # All in one pass, since values may contain braces.
    steps = "\n".join(prompt["steps"])
    text = re.sub(r"{(\w+)}", lambda match: values.get(match[1]) or "(not given)", steps)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": prompt["description"], "messages": [message]}
