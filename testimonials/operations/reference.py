"""Documents: help for people, the guide for agents, the reference made from the API's schemas."""

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
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.shell import THEMES, find_place, list_switched
from testimonials.projects.access import Access, Right, StrongSignInNeeded, find_access
from testimonials.testimonials.samples import find_face, write_samples

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


Found = TypeVar("Found")

MAX_SEARCH = 200
# Shorter words tell nothing of what somebody looks for.
LEAST_LETTERS = 3
PICTURED = 6
BUSINESS = "Oat & Ember"


@site.get("/help")
def show_help() -> Response:
    """Show the ten pages, or of them and the rows of Settings what ``?q=`` finds."""
    access = _enter()
    q = request.args.get("q", "").replace("\0", "").strip()[:MAX_SEARCH]
    words = read_words()
    rows = [(label, _url(endpoint, access)) for label, endpoint in words.rows]
    return _render(
        "help/index.html",
        q=q,
        topics=words.topics,
        pictured=PICTURED,
        found=_rank(q, map(_list_words, words.topics.items())),
        rows=_rank(q, ((row, row[0], row[0]) for row in rows if row[1])),
    )


@site.get("/help/<any(brand, ask, card, decide, site, media, order, people, domain, agent):topic>")
def show_help_page(topic: str) -> Response:
    access = _enter()
    found = read_words().topics[topic]
    return _render("help/topic.html", name=topic, topic=found, url=_url(found["endpoint"], access))


def read_words() -> Any:
    """Return what the help says in the page's language: its `topics`, and `rows` of Settings."""
    return current_app.jinja_env.get_template("help/_topics.html").make_module()


def _list_words(topic: tuple[str, dict[str, Any]]) -> tuple[str, str, str]:
    name, found = topic
    return name, found["title"], " ".join([found["title"], found["summary"], *found["steps"]])


def _enter() -> Access | None:
    """Speak the reader's language; return their access to the project that they opened last."""
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
    """Return where one may go: colleagues who only read or decide see the inbox alone."""
    is_theirs = access is not None and (access.is_admin or endpoint == find_place("inbox"))
    return url_for(endpoint, project_id=access.project.id) if access and is_theirs else None


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


def _rank(q: str, among: Iterator[tuple[Found, str, str]]) -> list[Found]:
    """Return those that have words of `q`, best first: a word in the title counts for more."""
    words = [word for word in _split(q) if len(word) >= LEAST_LETTERS]
    scored = [
        (3 * _count(words, title) + _count(words, everything), found)
        for found, title, everything in among
    ]
    scored.sort(key=lambda each: -each[0])
    return [found for score, found in scored if score]


def _count(words: list[str], text: str) -> int:
    known = _split(text)
    return sum(any(each.startswith(word[:6]) for each in known) for word in words)


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
