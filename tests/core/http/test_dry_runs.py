"""`dryRun` on each call that writes: it is answered, and nothing stays."""

from typing import Any

from flask import Flask
from sqlalchemy import select

from testimonials.auth.tokens import Scope
from testimonials.core.db.engine import Base
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.testimonials import models
from testimonials.transfer.models import TableImport
from tests.auth.tokens import give_token
from tests.support.applications import change_settings
from tests.support.pictures import photo, to_bytes

# Counting calls is no effect of theirs.
COUNTED = RateLimitCounter.__table__
AGENT_INIT = "/v1/auth/agent-init"


def read_all(app: Flask) -> dict[str, list[str]]:
    with app.app_context():
        return {
            name: sorted(repr(row) for row in db.session.execute(select(table)))
            for name, table in Base.metadata.tables.items()
            if table is not COUNTED
        }


def add_import(app: Flask, project: str, row: str) -> str:
    """Let a testimonial be what an import added; return the import's id."""
    with app.app_context():
        lock_for_writing()
        found = TableImport(
            project_id=project,
            actor="owner@example.com",
            file_name="a.csv",
            state="done",
            options={},
        )
        db.session.add(found)
        db.session.flush()
        db.session.get_one(models.Testimonial, row).import_id = found.id
        db.session.commit()
        return found.id


def list_writes(app: Flask) -> set[tuple[str, str]]:
    """Return each call of the API that writes, as its method and its path."""
    return {
        (method, rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1/")
        for method in rule.methods or ()
        if method in ("POST", "PUT", "PATCH", "DELETE")
    }


def test_a_dry_run_of_each_call_leaves_nothing(app, owner):
    change_settings(app, webhook_addresses="any")
    project = owner.create_project(slug="fern")["_id"]
    row = owner.create_testimonial(project)["_id"]
    all_scopes = give_token(app, owner)
    base = f"/v1/projects/{project}"

    def make(path: str, body: Any, method: str = "POST") -> Any:
        answer = all_scopes.client.open(
            f"{base}/{path}", method=method, json=body, headers=all_scopes.headers
        )
        assert answer.status_code == 200, answer.text
        return answer.json["data"]  # type: ignore[index]

    make(f"testimonials/{row}", {"tags": ["rye"]}, "PATCH")
    hook = make("webhooks", {"url": "http://127.0.0.1:9/"})["_id"]
    waiting = make("proposals", {"kind": "page", "values": {"headline": "Why?"}})["_id"]
    make("requests", {"people": [{"email": "noor@example.com"}]})
    asked = all_scopes.get(f"{base}/requests").json["data"]["items"][0]["_id"]  # type: ignore[index]
    make("forms", {"title": "After class"})
    make("domain", {"host": "words.example.com"}, "PUT")
    undo = make("submissions/decisions", {"decision": "pin", "ids": [row]})["undo"]
    there = {
        "project_id": project, "testimonial_id": row, "webhook_id": hook, "proposal_id": waiting,
        "asked_id": asked, "path:tag": "rye", "form": "after-class",
        "import_id": add_import(app, project, row),
    }  # fmt: skip
    added = {"authorName": "Maya", "text": "Warm bread."}
    picture = {"data": to_bytes(photo(), "PNG"), "content_type": "image/png"}
    bodies: dict[tuple[str, str], dict[str, Any]] = {
        ("PUT", "setup"): {"externalId": "x", "testimonials": [{"externalId": "y"} | added]},
        ("POST", "agent-init"): {"email": "new@example.com"},
        ("POST", "projects"): {"slug": "tried"},
        ("PATCH", "brand"): {"color": "#C2410C"},
        ("PATCH", "page-config"): {"headline": "How was it?"},
        ("PATCH", "page-design"): {"questions": [{"kind": "text", "text": "What did you bake?"}]},
        ("POST", "forms"): {"title": "At the door"}, ("PATCH", "<form>"): {"tag": "class"},
        ("PATCH", "widget-design"): {"minRating": 4}, ("PATCH", "widget-config"): {"theme": "dark"},
        ("POST", "testimonials"): added, ("POST", "bulk"): {"testimonials": [added]},
        ("PATCH", "<testimonial_id>"): {"text": "It works."},
        ("POST", "decisions"): {"decision": "reject", "ids": [row]},
        ("POST", "undo"): {"undo": undo}, ("PUT", "domain"): {"host": "reviews.example.com"},
        ("POST", "purchase-links"): {"order": "A-1042"},
        ("POST", "<import_id>/undo"): {"alsoChanged": True},
        ("PATCH", "<path:tag>"): {"name": "spelt"},
        ("POST", "requests"): {"people": [{"email": "maya@example.com"}]},
        ("POST", "proposals"): {"kind": "widget", "values": {"theme": "dark"}},
        ("POST", "webhooks"): {"url": "http://127.0.0.1:9/other"},
        ("PATCH", "<webhook_id>"): {"active": False},
        ("POST", "redeliver"): {"since": "2020-01-01T00:00:00Z"},
    }  # fmt: skip
    drafter = give_token(app, owner, Scope.READ, Scope.DRAFT)
    for caller, refused in ((all_scopes, ()), (drafter, (403, 409))):
        before = read_all(app)
        for method, path in sorted(list_writes(app)):
            url = path
            for name, value in there.items():
                url = url.replace(f"<{name}>", value)
            last = path.rpartition("/")[2]
            last = "<import_id>/undo" if "imports" in path else last
            body = {"json": bodies[method, last]} if (method, last) in bodies else {}
            is_picture = method == "PUT" and last in ("logo", "cover", "portrait", "avatar")
            sent = picture if is_picture else body
            headers = {"Idempotency-Key": "k"} | ({} if path == AGENT_INIT else caller.headers)
            answer = caller.client.open(
                f"{url}?dryRun=true", method=method, headers=headers, **sent
            )
            assert answer.status_code in (200, 202, *refused), (method, url, answer.text)
            if answer.status_code not in refused:
                assert answer.headers["X-Dry-Run"] == "true"
                assert '"message":"Dry run, nothing was changed: ' in answer.text
                assert "tst_" not in answer.text
            assert read_all(app) == before, (method, path)
