"""Documentation: the help, the guide for agents, and the API reference."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeVar

from flask import Response, current_app, jsonify, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.cookies import THEME, read_cookie, read_session_cookie
from testimonials.auth.sessions import SignedIn, find_session
from testimonials.core.http.blueprints import site
from testimonials.core.http.i18n import use_language
from testimonials.core.http.openapi import describe_api
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import app_url, base_url
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.shell import THEMES, list_switched
from testimonials.projects.access import Access, Right, StrongSignInNeeded, find_access
from testimonials.testimonials.samples import find_face, write_samples

Document = dict[str, Any]


@site.get("/v1/openapi.json")
def get_openapi() -> Response:
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
    """Return the guide for agents, with the URLs and limits of this service."""
    claim_days = f"{current_settings().claim_days:g}"
    return render_template(
        "docs/llms.txt", base_url=base_url(), app_url=app_url(), claim_days=claim_days
    )


def render_full_guide() -> str:
    """Return the guide for agents with the details of each step and the API reference."""
    return render_template(
        "docs/llms-full.txt",
        guide=render_agent_guide(),
        reference=render_reference(_document(), base_url()),
        base_url=base_url(),
        app_url=app_url(),
    )


def render_reference(document: Document, base_url: str) -> str:
    """Return the API reference as Markdown, for agents and `scripts/docs`."""
    return render_template("docs/reference.txt", **describe_reference(document, base_url))


def _document() -> dict[str, Any]:
    return describe_api(current_app._get_current_object())  # type: ignore[attr-defined]


def describe_reference(document: Document, base_url: str) -> dict[str, Any]:
    operations = [
        _describe_operation(document, base_url, path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    counts = Counter(answer for operation in operations for answer in operation["answers"])
    return {
        "api": document,
        "operations": operations,
        # Answers of more than two operations are explained once.
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
        if schema.get("properties") and not re.fullmatch(".+Answer", name)
    ]


def describe_shared(document: Document) -> list[dict[str, Any]]:
    """Return the parameters and response headers that many operations share."""
    components = document["components"]
    parameters = [(each["name"], "call", each) for each in components["parameters"].values()]
    headers = [(name, "answer", each) for name, each in components["headers"].items()]
    return [
        {"name": name, "sent": sent, "description": each["description"]}
        for name, sent, each in (*parameters, *headers)
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
    """Return the rules for a field's values in words."""
    rules = []
    if "enum" in field:
        values = ('""' if value == "" else value for value in field["enum"])
        rules.append("one of " + ", ".join(f"`{value}`" for value in values))
    if "minimum" in field and "maximum" in field:
        rules.append(f"{field['minimum']} to {field['maximum']}")
    elif "minimum" in field:
        rules.append(f"{field['minimum']} or more")
    for limit, unit in (("maxLength", "characters"), ("maxItems", "items")):
        if limit in field:
            rules.append(f"at most {field[limit]} {unit}")
    rules += [f"such as `{example}`" for example in field.get("examples", [])]
    if field.get("default"):
        rules.append(f"default `{field['default']}`")
    return "; ".join(rules)


def _describe_operation(
    document: Document, base_url: str, path: str, method: str, operation: Document
) -> dict[str, Any]:
    """Return what the template shows of an operation: fields, answers, and a call to copy."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = json.dumps(content["example"], ensure_ascii=False, indent=2) if content else None
    return {
        "method": method.upper(),
        "path": path,
        "operation_id": operation["operationId"],
        "summary": operation["summary"],
        "description": operation["description"],
        # Shared parameters, which are references, have a table of their own.
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
        "data": _name_data(document, operation),
        "curl": _write_curl(base_url, path, method.upper(), operation, example),
    }


def _name_data(document: Document, operation: Document) -> tuple[str, str] | None:
    """Return where an answer has what was asked for, and its type; None for a picture."""
    content = operation["responses"]["200"]["content"].get("application/json")
    if content is None:
        return None
    data = _resolve(document, content["schema"])["properties"]["data"]
    items = data.get("properties", {}).get("items")
    return ("data.items", _name_type(items)) if items else ("data", _name_type(data))


def _write_curl(
    base_url: str, path: str, method: str, operation: Document, example: str | None
) -> str:
    path = re.sub(r"{(\w+)}", lambda name: f"<{name[1].upper()}>", path)
    lines = [f"curl -sS -X {method} '{base_url}{path}'"]
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
    resolved: Document = document["components"]["schemas"][reference.rpartition("/")[2]]
    return resolved


def _merge(schemas: list[Document]) -> Document:
    """Merge schemas of objects into one, whose fields allow what any of them allows."""
    merged: Document = {}
    for name in dict.fromkeys(name for each in schemas for name in each["properties"]):
        fields = [each["properties"][name] for each in schemas if name in each["properties"]]
        values = [value for field in fields for value in field.get("enum", [])]
        merged[name] = fields[0] | ({"enum": values} if values else {})
        if "$ref" in fields[0]:
            merged[name] = {"anyOf": fields}
    required = set.intersection(*(set(each.get("required", [])) for each in schemas))
    return {"properties": merged, "required": list(required)}


def _name_type(field: Document) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_name_type, field["anyOf"])))
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("type") == "array":
        return f"list of {_name_type(field['items'])}"
    kind = field.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


# The help.

Item = TypeVar("Item")

BUSINESS = "Oat & Ember"


@site.get("/help")
def show_help() -> Response:
    """Show the ten pages of help, or the pages and rows of Settings that match ``?q=``."""
    access = _enter()
    q = request.args.get("q", "").replace("\0", "").strip()[:200]
    words = read_words()
    rows = [(label, _url(endpoint, access)) for label, endpoint in words.rows]
    return _render(
        "help/index.html",
        q=q,
        topics=words.topics,
        pictured=6,
        found=_rank(q, map(_list_words, words.topics.items())),
        rows=_rank(q, ((row, row[0], row[0]) for row in rows if row[1])),
    )


@site.get("/help/<any(brand, ask, card, decide, site, media, order, people, domain, agent):topic>")
def show_help_page(topic: str) -> Response:
    access = _enter()
    words = read_words().topics[topic]
    return _render("help/topic.html", name=topic, topic=words, url=_url(words["endpoint"], access))


def read_words() -> Any:
    """Return the texts of the help in the page's language: `topics`, and `rows` of Settings."""
    return current_app.jinja_env.get_template("help/_topics.html").make_module()


def _list_words(topic: tuple[str, dict[str, Any]]) -> tuple[str, str, str]:
    name, words = topic
    return name, words["title"], " ".join([words["title"], words["summary"], *words["steps"]])


def _enter() -> Access | None:
    """Use the reader's language; return their access to the project that they last opened."""
    owner: SignedIn | None = find_session(read_session_cookie())
    use_language(owner.language if owner else None)
    projects = list_switched(owner, None) if owner else []
    if owner is None or not projects:
        return None
    try:
        return find_access(owner, projects[0].id, Right.LOOK)
    except StrongSignInNeeded:
        return None


def _url(endpoint: str, access: Access | None) -> str | None:
    """Return the URL of a page if the reader may open it; those who aren't admins get the inbox."""
    if access is None or not (access.is_admin or endpoint == "dashboard.inbox.show_inbox"):
        return None
    return url_for(endpoint, project_id=access.project.id)


def _render(template: str, **values: Any) -> Response:
    theme = read_cookie(THEME)
    page = render_template(
        template,
        page_theme=theme if theme in THEMES else "system",
        brand={"name": BUSINESS, "logo_url": None},
        samples=[
            {
                "name": each["author_name"],
                "face": find_face(each["author_name"], each["author_role"]),
                "rating": each["rating"],
                "text": each["text"].replace(f"{BUSINESS} Bakery", BUSINESS),
            }
            for each in write_samples(f"{BUSINESS} Bakery")
        ],
        **values,
    )
    return answer_privately(page)


def _rank(q: str, items: Iterator[tuple[Item, str, str]]) -> list[Item]:
    """Return the items that match `q`, best first; words in the title weigh more."""
    words = [word for word in _split(q) if len(word) >= 3]
    scored = [(3 * _count(words, title) + _count(words, text), item) for item, title, text in items]
    scored.sort(key=lambda each: -each[0])
    return [item for score, item in scored if score]


def _count(words: list[str], text: str) -> int:
    others = _split(text)
    return sum(any(each.startswith(word[:6]) for each in others) for word in words)


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
