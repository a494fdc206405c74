"""The documents for agents, and the API's reference, made from the OpenAPI document."""

import json
import re
from collections import Counter
from typing import Any

from flask import Response, current_app, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.core.http.blueprints import site
from testimonials.core.http.openapi import describe_api
from testimonials.core.http.urls import app_url, base_url
from testimonials.core.settings.current import current_settings

Document = dict[str, Any]


@site.get("/v1/openapi.json")
def get_openapi() -> Response:
    """Serve the API's description, made from the schemas that check the requests."""
    response = jsonify(_document())
    response.add_etag()
    response.make_conditional(request)
    return response


@site.get("/docs")
def show_docs() -> ResponseReturnValue:
    return render_template("docs/reference.html", **describe_reference(_document(), base_url()))


@site.get("/llms.txt")
def get_guide_for_agents() -> Response:
    return Response(render_agent_guide(), mimetype="text/plain")


@site.get("/llms-full.txt")
def get_full_guide_for_agents() -> Response:
    return Response(render_full_guide(), mimetype="text/plain")


def render_agent_guide() -> str:
    """Return the guide for agents with this service's own addresses and limits."""
    claim_days = f"{current_settings().claim_days:g}"
    return render_template(
        "docs/llms.txt", base_url=base_url(), app_url=app_url(), claim_days=claim_days
    )


def render_full_guide() -> str:
    """Return the guide for agents, every step by itself, and the reference of every call."""
    return render_template(
        "docs/llms-full.txt",
        guide=render_agent_guide(),
        reference=render_reference(_document(), base_url()),
        base_url=base_url(),
        app_url=app_url(),
    )


def render_reference(document: Document, base_url: str) -> str:
    """Return the API reference as Markdown: for agents, and for `scripts/docs`."""
    return render_template("docs/reference.txt", **describe_reference(document, base_url))


def _document() -> dict[str, Any]:
    return describe_api(current_app._get_current_object())  # type: ignore[attr-defined]


def describe_reference(document: Document, base_url: str) -> dict[str, Any]:
    """Return what the pages of the reference show."""
    operations = [
        _describe_operation(document, base_url, path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    counts = Counter(answer for operation in operations for answer in operation["answers"])
    return {
        "api": document,
        "operations": operations,
        # What more than two of them answer is explained once.
        "common": sorted(answer for answer, count in counts.items() if count > 2),
        "shared": describe_shared(document),
        "schemas": describe_schemas(document),
        "base_url": base_url,
    }


def describe_schemas(document: Document) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "fields": describe_fields(document, schema),
            "is_closed": schema.get("additionalProperties") is False,
        }
        for name, schema in sorted(document["components"]["schemas"].items())
        if schema.get("properties") and not name.endswith("Answer")
    ]


def describe_shared(document: Document) -> list[dict[str, Any]]:
    """Return the headers and parameters that many calls share, those of answers last."""
    components = document["components"]
    sent = [each | {"sent": "call"} for each in components["parameters"].values()]
    headers = components["headers"].items()
    got = [each | {"name": name, "sent": "answer"} for name, each in headers]
    return [
        {"name": each["name"], "sent": each["sent"], "description": each["description"]}
        for each in (*sent, *got)
    ]


def describe_fields(document: Document, schema: Document) -> list[dict[str, Any]]:
    """Return the fields of an object schema: name, type, required, rules, description."""
    schema = _resolve(document, schema)
    if "oneOf" in schema:
        schema = _merge([_resolve(document, each) for each in schema["oneOf"]])
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "type": _name_type(field),
            "required": name in required,
            "rules": describe_rules(field),
            "description": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def describe_rules(field: Document) -> str:
    """Return in words which values a field accepts."""
    rules = []
    if "enum" in field:
        values = ('""' if value == "" else value for value in field["enum"])
        rules.append("one of " + ", ".join(f"`{value}`" for value in values))
    if "minimum" in field and "maximum" in field:
        rules.append(f"{field['minimum']} to {field['maximum']}")
    elif "minimum" in field:
        rules.append(f"{field['minimum']} or more")
    if "maxLength" in field:
        rules.append(f"at most {field['maxLength']} characters")
    return "; ".join(rules)


def _describe_operation(
    document: Document, base_url: str, path: str, method: str, operation: Document
) -> dict[str, Any]:
    """Return an operation as the page shows it: fields, answers, and a call to copy."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = json.dumps(content["example"], ensure_ascii=False, indent=2) if content else None
    return {
        "method": method.upper(),
        "path": path,
        "operation_id": operation["operationId"],
        "summary": operation["summary"],
        "description": operation["description"],
        # Those that many calls share stand in a table of their own.
        "parameters": [
            each | {"rules": describe_rules(each["schema"])}
            for each in operation.get("parameters", [])
            if "name" in each
        ],
        "body": content
        and {
            "name": content["schema"].get("$ref", "").rpartition("/")[2],
            "fields": describe_fields(document, content["schema"]),
            "example": example,
        },
        "answers": [
            (status, response["description"]) for status, response in operation["responses"].items()
        ],
        "curl": _write_curl(base_url, path, method.upper(), operation, example),
    }


def _write_curl(
    base_url: str, path: str, method: str, operation: Document, example: str | None
) -> str:
    filled = re.sub(r"{(\w+)}", lambda name: f"<{name[1].upper()}>", path)
    lines = [f"curl -sS -X {method} '{base_url}{filled}'"]
    if "application/json" not in operation["responses"]["200"]["content"]:
        lines.append("-o answer")
    if operation["security"] == [{"accessToken": []}]:
        lines.append("-H 'Authorization: Bearer <TOKEN>'")
    elif operation["security"]:
        lines += ["-H 'x-service-account-id: <ACCOUNT_ID>'", "-H 'x-api-key: <API_KEY>'"]
    if example is not None:
        body = json.dumps(json.loads(example), ensure_ascii=False)
        lines += ["-H 'Content-Type: application/json'", f"-d '{body}'"]
    for content_type in list(operation.get("requestBody", {}).get("content", {}))[:1]:
        if example is None:
            lines += [f"-H 'Content-Type: {content_type}'", "--data-binary '@<FILE>'"]
    return " \\\n  ".join(lines)


def _resolve(document: Document, schema: Document) -> Document:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Document = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _merge(schemas: list[Document]) -> Document:
    """Return one object schema for several: what a field may be in any of them."""
    merged: Document = {}
    for name in dict.fromkeys(name for each in schemas for name in each["properties"]):
        found = [each["properties"][name] for each in schemas if name in each["properties"]]
        values = [value for field in found for value in field.get("enum", [])]
        merged[name] = found[0] | ({"enum": values} if values else {})
        if "$ref" in found[0]:
            merged[name] = {"anyOf": found}
    required = set.intersection(*(set(each.get("required", [])) for each in schemas))
    return {"properties": merged, "required": list(required)}


def _name_type(field: Document) -> str:
    if "anyOf" in field:
        return " or ".join(map(_name_type, field["anyOf"]))
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("type") == "array":
        return f"list of {_name_type(field['items'])}"
    kind = field.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
