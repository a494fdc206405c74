"""The OpenAPI document: valid, whole, and what the service answers is what it says."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import schemathesis
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.openapi import operations
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.commands import COMMANDS
from tests.support.pictures import photo, to_bytes
from tests.support.rows import add_testimonial, everything

Document = dict[str, Any]
Call = Callable[..., Any]

# Codes that no call of the API answers.
ONLY_ON_PAGES = {
    "NOT_POSSIBLE", "ARCHIVES_BUSY", "ARCHIVE_REFUSED", "AUTHOR_LINK_INVALID", "AUTHOR_REFUSED",
    "BROKEN_REQUEST", "CANNOT_RECEIVE", "CODE_REFUSED", "CROSS_SITE_REQUEST",
    "COMPANY_SIGN_IN_AWAY", "COMPANY_SIGN_IN_REFUSED",
    "DECISION_LINK_INVALID", "DECISION_REFUSED", "EMAIL_TAKEN",
    "EVENT_REFUSED", "FILE_REFUSED", "FORMAT_NOT_IMPLEMENTED", "HIGHLIGHT_REFUSED",
    "INVITATION_INVALID", "IN_ALL_PROJECTS", "KEY_GONE", "LAST_WAY_IN",
    "LINK_INVALID",
    "MAPPING_WRONG", "NOTHING_LEFT", "NO_ROOM", "OFFSET_WRONG",
    "ORDER_FULL", "OWNER_STAYS", "PASSKEY_REFUSED", "PLAN_UNKNOWN",
    "RECORDING_GONE", "RECORDING_REFUSED", "RECORDING_TOO_LARGE", "ROLE_TOO_LOW", "PASSWORDS_OFF",
    "SIGNED_OUT", "SIGN_IN_REFUSED", "STEP_OVER", "STRONG_NEEDED",
    "STRONG_SIGN_IN_NEEDED", "TABLE_UNREADABLE", "WIDGET_LIMIT_REACHED",
}  # fmt: skip
# The document does not list itself: it describes what takes an account's calls.
UNLISTED = {("/v1/openapi.json", "get")}
BODY = {"authorName": "Maya Kowalski", "text": "It simply works."}


def listed(document: Document) -> set[tuple[str, str]]:
    return {(path, method) for path, methods in document["paths"].items() for method in methods}


def validate(document: Document, answer: TestResponse, path: str, method: str) -> None:
    """Check an answer against what is documented for its status; unknown fields are an error."""
    response = document["paths"][path][method]["responses"][str(answer.status_code)]
    ((content_type, content),) = response["content"].items()
    assert answer.mimetype == content_type
    if content_type != "application/json":
        return
    schema = content["schema"]
    components = {"components": _closed(document["components"])}
    jsonschema_rs.Draft202012Validator(_closed(schema) | components).validate(answer.json)


def _closed(schema: Any) -> Any:
    """Return a copy in which no object may have other fields than the documented ones."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(value) for name, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed


def test_is_valid_openapi_whose_references_lead_somewhere(document):
    assert document["openapi"].startswith("3.1")
    # Raises an error that says where the document breaks the standard.
    schemathesis.openapi.from_dict(copy.deepcopy(document)).validate()
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)
    names = {
        f"#/components/{kind}/{name}"
        for kind, parts in document["components"].items()
        for name in parts
        if kind != "securitySchemes"
    }
    used = set(_references(document))
    assert used <= names
    assert names - used == set()


def test_every_operation_can_be_called_by_name(document):
    operations = [item for methods in document["paths"].values() for item in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    for operation in operations:
        assert operation["summary"], operation
        assert "\n" not in operation["summary"]
        assert "``" not in operation["summary"] + operation["description"]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            in_path = {item["name"] for item in operation["parameters"] if item.get("in") == "path"}
            assert in_path == set(re.findall(r"{(\w+)}", path))


def test_calls_say_who_may_and_what_they_offer(described_app, document):
    for rule, operation in operations(described_app):
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        described = document["paths"][path][operation.method.lower()]
        offered = {each.get("$ref", "").rpartition("/")[2] for each in described["parameters"]}
        if operation.method == "GET":
            assert "ifNoneMatch" in offered
        elif not operation.is_public:
            called = set(operation.view.__code__.co_names)
            assert not called & {"commit", "lock_for_writing", "write"}, path
            assert offered >= {"idempotencyKey", "dryRun"}
        if not operation.is_public:
            assert described["x-scope"] is None or described["x-scope"] in described["description"]
        for status, response in described["responses"].items():
            schema = response.get("content", {}).get("application/json", {}).get("schema", {})
            assert status >= "400" or re.search("Answer$", schema.get("$ref", "Answer")), path


def test_every_error_code_of_the_api_is_explained(document):
    """A code with a meaning is one of the API's; a page's own has none."""
    # Which modules the commands load beside those of the pages.
    assert COMMANDS
    listed = set(document["x-error-codes"])
    raised = {each.code for each in subclasses(ServiceError)}
    assert not ONLY_ON_PAGES - raised, "these are gone"
    assert raised - listed == ONLY_ON_PAGES, "say what it means, or that only pages raise it"
    for each in document["x-error-codes"].values():
        assert each["meaning"].endswith(".")
        assert each["remedy"].endswith(".")
        assert 400 <= each["status"] < 600


def test_lists_every_route_of_the_api_alone(described_app, document):
    served = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in described_app.url_map.iter_rules()
        if rule.rule.startswith("/v1")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert served - UNLISTED == listed(document)


def test_every_field_of_a_body_is_described(document):
    bodies = [
        content
        for methods in document["paths"].values()
        for operation in methods.values()
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
        if kind == "application/json"
    ]
    for body in bodies:
        for reference in _references(body["schema"]):
            schema = document["components"]["schemas"][reference.rpartition("/")[2]]
            assert schema["additionalProperties"] is False
            rules = schema["properties"].items()
            assert [name for name, rule in rules if not rule.keys() & {"type", "$ref"}] == []
        whole = body["schema"] | {"components": document["components"]}
        jsonschema_rs.Draft202012Validator(whole).validate(body["example"])


def test_answers_may_grow_and_bodies_may_not(document):
    schemas = document["components"]["schemas"]
    closed = {name for name, schema in schemas.items() if "additionalProperties" in schema}
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    bodies = {name for each in operations for name in _names(document, each.get("requestBody"))}
    assert closed == bodies > {"AgentInit", "ProjectCreate", "WidgetConfigUpdate"}
    # A shape that is both would have to be open and closed.
    answers = {name for each in operations for name in _names(document, each["responses"])}
    assert not bodies & answers
    # A project has all its fields.
    for name in ("Project", "PublicPageConfig", "WidgetConfig", "CollectFields"):
        schema = document["components"]["schemas"][name]
        assert set(schema["required"]) == set(schema["properties"]), name


def test_answers_are_as_documented_and_dry_runs_leave_nothing(document, app, make_caller):
    agent = make_caller("somebody-else@example.com")
    claimed = {"email": "claimed@example.com"}
    owner = make_caller(claimed["email"], is_claimed=True)
    seen, drafters = set(), list[Caller]()

    def call(path: str, method: str, body: object = None, **values: str) -> Any:
        is_file = isinstance(body, bytes)
        sent = {"data": body, "content_type": "image/png"} if is_file else {"json": body}
        sent |= {"path": path.format(**values), "method": method, "buffered": True}
        # Of a claimed account nothing is changed, dry or not.
        if method != "get" and body != claimed:
            check_dry_runs(app, agent, drafters, sent)
        answer = agent.client.open(headers=agent.headers, **sent)
        validate(document, answer, path, method)
        assert answer.status_code == 200, answer.text
        seen.add((path, method))
        return answer.json["data"] if answer.json else None

    call("/v1/auth/agent-init", "post", claimed)
    data = call("/v1/auth/agent-init", "post", {"email": "new@example.com"})
    agent.account_id, agent.api_key = data["accountId"], data["apiKey"]
    visit_specified(call, "Fern & Fable")
    agent, drafters = give_token(app, owner), [give_token(app, owner, Scope.READ, Scope.DRAFT)]
    project = visit_specified(call, "Kiln & Clay")
    for visit in (
        visit_inbox, visit_proposals, visit_webhooks, visit_testimonial, visit_page, visit_requests,
    ):  # fmt: skip
        visit(call, app, project)
    assert seen == listed(document)


def check_dry_runs(app: Flask, agent: Caller, drafters: list[Caller], sent: dict[str, Any]) -> None:
    """Try a call as who may do it, and as who may propose it: it is answered, and nothing stays."""
    before = everything(app)
    for caller in (agent, *drafters):
        # The same key each time, since none is kept.
        headers = caller.headers | {"Idempotency-Key": "k"}
        answer = caller.client.open(
            **sent | {"path": f"{sent['path']}?dryRun=true"}, headers=headers
        )
        # Deciding is tried with an id of nothing, which a proposal can't be about.
        refused = (403, 404) if sent["path"].endswith("/decisions") else (403, 409)
        if caller is agent or answer.status_code not in refused:
            assert answer.status_code in (200, 202), answer.text
            assert answer.headers["X-Dry-Run"] == "true"
            assert '"message":"Dry run, nothing was changed: ' in answer.text
            assert "tst_" not in answer.text
    assert everything(app) == before, sent


def visit_specified(call: Call, name: str) -> str:
    """Make the calls that every agent begins with; return the project."""
    call("/v1/me", "get")
    project = str(call("/v1/projects", "post", {"businessName": name})["_id"])
    call("/v1/projects", "get")
    call("/v1/projects/{project_id}", "get", project_id=project)
    settings = {"layout": "carousel", "initialCount": 3, "showStars": False}
    call("/v1/projects/{project_id}/widget-config", "patch", settings, project_id=project)
    call("/v1/projects/{project_id}/embed-snippet", "get", project_id=project)
    call("/v1/projects/{project_id}/widgets", "get", project_id=project)
    testimonials = "/v1/projects/{project_id}/testimonials"
    call(testimonials, "post", BODY, project_id=project)
    whole = {
        "rating": 4.5, "authorRole": "Owner", "authorCompany": "Kiln & Clay",
        "authorAvatar": "https://example.com/maya.webp?size=80",
    }  # fmt: skip
    row = call(testimonials, "post", BODY | whole, project_id=project)["_id"]
    picture = testimonials + "/{testimonial_id}/picture"
    call(picture, "get", project_id=project, testimonial_id=row)
    assert len(call(testimonials, "get", project_id=project)["items"]) == 8
    call(testimonials + "/demo", "delete", project_id=project)
    new = {"externalId": "y", "authorName": "Maya", "text": "Warm bread."}
    setup = {"externalId": "kiln", "design": {"font": "serif"}, "testimonials": [new]}
    call("/v1/setup", "put", setup)
    return project


def visit_proposals(call: Call, _app: Flask, project: str) -> None:
    proposals = "/v1/projects/{project_id}/proposals"
    change = {"kind": "page", "values": {"headline": "How was it?"}, "reason": "Shorter"}
    made = call(proposals, "post", change, project_id=project)["_id"]
    call(proposals, "get", project_id=project)
    call(proposals + "/{proposal_id}", "get", project_id=project, proposal_id=made)
    call(proposals + "/{proposal_id}", "delete", project_id=project, proposal_id=made)


def visit_webhooks(call: Call, app: Flask, project: str) -> None:
    assert call("/v1/events", "get")["items"]
    here, url = {"project_id": project}, {"url": "https://example.com/hook"}
    hooks = "/v1/projects/{project_id}/webhooks"
    here["webhook_id"] = call(hooks, "post", url, **here)["_id"]
    call(hooks, "get", **here)
    hook = f"{hooks}/{{webhook_id}}"
    call(hook, "get", **here)
    call(hook, "patch", {"events": ["project.updated"]}, **here)
    call(f"{hook}/test", "post", **here)
    call(f"{hook}/rotate", "post", **here)
    assert call(f"{hook}/deliveries", "get", **here)["items"]
    call(f"{hook}/redeliver", "post", {"since": "2026-01-01T00:00:00Z"}, **here)
    call(hook, "delete", **here)
    domain = "/v1/projects/{project_id}/domain"
    call(domain, "put", {"host": "reviews.example.com"}, project_id=project)
    call(f"{domain}/check", "post", project_id=project)
    call(domain, "get", project_id=project)
    call(domain, "delete", project_id=project)


def visit_testimonial(call: Call, app: Flask, project: str) -> None:
    row = add_testimonial(app, project, status="pending")
    here, ids = "/v1/projects/{project_id}", {"project_id": project, "testimonial_id": row}
    bulk = {"testimonials": [BODY | {"externalId": "a"}, BODY | {"externalId": "a"}, {}]}
    call(f"{here}/testimonials/bulk", "post", bulk, project_id=project)
    body = {"decision": "approve", "ids": [row, "0" * 24]}
    call(f"{here}/submissions/decisions", "post", body, project_id=project)
    one = f"{here}/testimonials/{{testimonial_id}}"
    call(f"{one}/avatar", "put", to_bytes(photo(8, 8), "PNG"), **ids)
    body = {"text": "Good.", "reply": "Thanks", "tags": ["a"], "highlights": [[0, 4]]}
    call(one, "patch", body | {"pinned": True, "authorEmail": "maya@example.com"}, **ids)
    call(one, "get", **ids)
    call(f"{one}/avatar", "delete", **ids)
    call(one, "delete", **ids)
    call(one, "get", **ids)
    call(f"{one}/restore", "post", **ids)


def visit_requests(call: Call, _app: Flask, project: str) -> None:
    requests, here = "/v1/projects/{project_id}/requests", {"project_id": project}
    people = [{"email": "maya@example.com"}, {"email": "maya@example.com", "company": "Kiln"}]
    assert call(requests, "post", {"people": people}, **here)["leftOut"]
    (asked,) = call(requests, "get", **here)["items"]
    ids = here | {"asked_id": asked["_id"]}
    call(f"{requests}/{{asked_id}}", "get", **ids)
    call(f"{requests}/{{asked_id}}", "delete", **ids)
    call("/v1/projects/{project_id}/purchase-links", "post", {"order": "A-1042"}, **here)
    call("/v1/projects/{project_id}/summary", "get", **here)
    call("/v1/projects/{project_id}/insights", "get", **here)


def visit_page(call: Call, _app: Flask, project: str) -> None:
    here = "/v1/projects/{project_id}"
    brand = "/v1/projects/{project_id}/brand"
    call(brand, "get", project_id=project)
    call(brand, "patch", {"color": "#C2410C", "trade": None}, project_id=project)
    call(f"{here}/logo", "put", to_bytes(photo(8, 8), "PNG"), project_id=project)
    body = {"theme": "dark", "collectFields": {"email": False}}
    call(f"{here}/page-config", "patch", body, project_id=project)
    call(f"{here}/page-config", "get", project_id=project)
    call(f"{here}/logo", "delete", project_id=project)
    design = {
        "questions": [{"kind": "choice", "text": "What?", "choices": ["Bread", "Buns"]}],
        "steps": [{"kind": "code", "title": "A bun", "code": "BUN-7"}],
        "translations": {"de": {"headline": "Wie war es?"}},
    }
    for each in ("cover", "portrait"):
        call(f"{here}/{each}", "put", to_bytes(photo(8, 8), "PNG"), project_id=project)
        call(f"{here}/{each}", "delete", project_id=project)
    call(f"{here}/page-design", "patch", design, project_id=project)
    call(f"{here}/page-design", "get", project_id=project)
    form = {"title": "After class", "questions": design["questions"], "tag": "class"}
    name = call(f"{here}/forms", "post", form, project_id=project)["name"]
    at = {"project_id": project, "form": name}
    call(f"{here}/forms", "get", project_id=project)
    call(f"{here}/forms/{{form}}", "get", **at)
    call(f"{here}/forms/{{form}}", "patch", {"isOpen": False}, **at)
    call(f"{here}/forms/{{form}}", "delete", **at)
    call(f"{here}/widget-design", "patch", {"labels": {"showMore": "More"}}, project_id=project)


def visit_inbox(call: Call, app: Flask, project: str) -> None:
    for status in ("pending", "spam"):
        answer = {"id": "whatfor1", "question": "What?", "kind": "choice", "answer": ["Bread"]}
        said = {"answers": [answer | {"isPublic": True}], "form_name": "after-class"}
        add_testimonial(app, project, status=status, tags=["press"], held_for="links", **said)
    here = "/v1/projects/{project_id}"
    assert call(f"{here}/submissions", "get", project_id=project)["items"]
    call(f"{here}/tags", "get", project_id=project)
    tag = {"project_id": project, "tag": "press"}
    call(f"{here}/tags/{{tag}}", "patch", {"name": "Press"}, **tag)
    undo = call(f"{here}/tags/{{tag}}", "delete", **tag)["undo"]
    call(f"{here}/undo", "post", {"undo": undo}, project_id=project)
    arguments = ["testimonials", "import", project, "-"]
    app.test_cli_runner().invoke(args=arguments, input="Name,Text\nA,B\n")
    (made,) = call(f"{here}/imports", "get", project_id=project)
    call(f"{here}/case-file", "get", project_id=project)
    ids = {"project_id": project, "import_id": made["_id"]}
    assert call(f"{here}/imports/{{import_id}}/undo", "post", {}, **ids)["removedCount"] == 1


def test_limits_are_as_documented(document, agent):
    for _ in range(5):
        agent.post("/v1/auth/agent-init", {"email": "nobody"})
    answer = agent.post("/v1/auth/agent-init", {"email": "nobody"})
    assert (answer.status_code, answer.headers["RateLimit-Limit"]) == (429, "5")
    assert 0 < int(answer.headers["Retry-After"]) <= 3600
    validate(document, answer, "/v1/auth/agent-init", "post")
    codes = set()
    for _ in range(11):
        answer = agent.post("/v1/projects", {})
        validate(document, answer, "/v1/projects", "post")
        codes.add(answer.status_code)
    assert codes == {200, 402}


def test_without_credentials_it_is_401_as_documented(document, agent):
    for path, method in sorted(listed(document)):
        if document["paths"][path][method]["security"]:
            answer = agent.client.open(re.sub(r"{\w+}", "x", path), method=method)
            assert answer.status_code == 401
            validate(document, answer, path, method)


def subclasses(error: type[ServiceError]) -> set[type[ServiceError]]:
    found = set(error.__subclasses__())
    return found.union(*map(subclasses, found))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _references(item)


def _names(document: Document, value: Any) -> set[str]:
    """Name the schemas that something refers to, and those that these refer to."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        names = re.findall(r"#/components/schemas/(\w+)", str(waiting.pop()))
        fresh = set(names) - found
        found |= fresh
        waiting += [document["components"]["schemas"][name] for name in fresh]
    return found
