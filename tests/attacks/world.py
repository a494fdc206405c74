"""A service that holds one of everything, everybody who comes to it, and every door it has.

Doors are read from the URL map, so a new one is attacked without being named here. What it can't
know by itself is where a new placeholder leads: `build_world` makes the thing, and `World.ids` or
`World.links` names it.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.routing import Rule
from werkzeug.routing.converters import AnyConverter

from testimonials.collection.forms import create_form
from testimonials.collection.models import AbuseReport, MailedRequest
from testimonials.core.extensions import db
from testimonials.projects.projects import lock_project
from testimonials.widget.script import script_digest
from tests.attacks.forms import Field, Form, crawl
from tests.auth.browsers import COOKIE, mailed_path, open_browser, session_ids
from tests.auth.links import ORIGIN, ask_for_link, credentials, init, mails
from tests.auth.tokens import give_token
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import ask
from tests.conftest import PASSWORD, Caller, MakeCaller
from tests.integrations.oauth.asking import ask_to_connect
from tests.projects.proposals.agents import hold_picture, propose
from tests.support.finding import find
from tests.support.pictures import photo, to_bytes
from tests.support.rows import (
    add_member,
    add_passkey,
    add_webhook,
    add_workspace_member,
    change_project,
)
from tests.testimonials.media.recorded import upload

# What only members of the team may see.
SECRET = "Words that only the team may see"
NAME = "Secret business"
SLUG = "secret-slug"
# Who is in the owner's project.
ROLES = ("reader", "moderator", "admin", "admin everywhere")
# A well-formed name of nothing, for each placeholder.
UNKNOWN = {
    "project_id": "0" * 24, "testimonial_id": "1" * 24, "account_id": "2" * 24,
    "owner_id": "d" * 24, "session_id": "3" * 24, "passkey_id": "a1" * 12, "image_id": "4" * 24,
    "proposal_id": "5" * 24, "slug": "no-such-place", "digest": "55555555", "token_id": "6" * 24,
    "request_id": "7" * 24, "webhook_id": "8" * 24, "delivery_id": "9" * 24, "filename": "none.css",
    "tag": "no-such-tag", "form": "no-such-form", "form_name": "no-such-form", "asked_id": "a" * 24,
    "import_id": "c" * 24, "recording_id": "b" * 24, "widget_name": "no-such-widget",
}  # fmt: skip
# Stands in examples of calls for a testimonial.
EXAMPLE_ID = "6a12d3b4c5f6a7b8c9d0e1f2"


@dataclass(frozen=True)
class Door:
    """One method of one rule, with the values its placeholders take."""

    rule: Rule
    method: str
    # One value for each placeholder of fixed words, such as <any(decline,unsubscribe):answer>.
    words: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.method} {self.rule.rule}"

    @property
    def names(self) -> set[str]:
        """The placeholders that stand for something stored."""
        return set(self.rule.arguments) - set(self.words)

    @property
    def first(self) -> str:
        """The first part of the path, which says of a link what it is for."""
        return self.rule.rule.split("/")[1]

    @property
    def is_safe(self) -> bool:
        return self.method in ("GET", "HEAD")


def find_doors(app: Flask) -> list[Door]:
    return [
        Door(rule, method, words)
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"OPTIONS"})
        for words in _find_words(rule)
    ]


def _find_words(rule: Rule) -> Iterator[dict[str, str]]:
    fixed = {
        name: each for name, each in rule._converters.items() if isinstance(each, AnyConverter)
    }
    if not fixed:
        yield {}
    for name, converter in fixed.items():
        for word in sorted(converter.items):
            yield {name: word}


@dataclass
class World:
    """What `build_world` made: plain values, which outlast the application they were made with."""

    # The owner's things by placeholder, and the outsider's own.
    ids: dict[str, str]
    own: dict[str, str]
    deleted: dict[str, str]
    # The tokens of links in mails, by the first part of their path.
    links: dict[str, str]
    # What some addresses are opened with.
    queries: dict[str, str]
    cookies: dict[str, str] = field(default_factory=dict)
    keys: dict[str, dict[str, str]] = field(default_factory=dict)
    # Access tokens of the same accounts, with every scope.
    tokens: dict[str, dict[str, str]] = field(default_factory=dict)
    forms: list[Form] = field(default_factory=list)

    def open(self, app: Flask, visitor: str) -> FlaskClient:
        """Return the browser of somebody; of one without a session where there is none."""
        browser = app.test_client()
        if visitor in self.cookies:
            browser.set_cookie(COOKIE, self.cookies[visitor], path="/")
        return browser

    def path(self, door: Door, ids: Mapping[str, str] | None = None, token: str = "") -> str:
        """Return the address of a door; of the owner's things unless told."""
        values = {"token": token or self.links.get(door.first, "")} | self.ids | dict(ids or {})
        missing = {name for name in door.names if not values.get(name)}
        assert not missing, (
            f"{door} has the placeholder {missing}, which these tests know nothing for. Make "
            "one in build_world (tests/attacks/world.py) and name it in `ids`, or mail its link."
        )
        adapter = door.rule.map
        assert adapter is not None
        path = adapter.bind("localhost").build(
            door.rule.endpoint, {name: values[name] for name in door.names} | dict(door.words)
        )
        return path + (self.queries.get(path, "") if door.is_safe else "")

    def call(self, app: Flask, door: Door) -> dict[str, Any]:
        """Return what an agent sends to a door of the API: its example, or a picture."""
        operation = getattr(app.view_functions[door.rule.endpoint], "operation", None)
        if getattr(operation, "upload", None):
            return {"data": to_bytes(photo(8, 8), "PNG"), "content_type": "image/png"}
        example = json.dumps(getattr(operation, "example", None) or {})
        return {"json": json.loads(example.replace(EXAMPLE_ID, self.ids["testimonial_id"]))}

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """Return what the forms of the owner's pages send to a path, and at least one body."""
        found = [form.fill(_type) for form in self.forms if form.path == path]
        return found or [{"email": "next@example.com", "password": PASSWORD}]


def _report(app: Flask) -> str:
    form = {"reason": "other", "words": "", "page": "wall"}
    assert app.test_client().post(f"/{SLUG}/report", data=form).status_code == 200
    with app.app_context():
        return db.session.scalars(select(AbuseReport.id)).one()


def build_world(app: Flask, make_caller: MakeCaller) -> World:
    """Let everybody come and make one of everything, through the doors."""
    people = {
        name: make_caller(f"{name.replace(' ', '-')}@example.com", is_claimed=True)
        for name in ("owner", "outsider", *ROLES, "removed", "gone", "host")
    }
    browsers = {name: open_browser(app, caller) for name, caller in people.items()}
    owner, browser = people["owner"], browsers["owner"]
    project = owner.create_project(slug=SLUG, businessName=NAME)["_id"]
    deleted = owner.create_project(slug="deleted-slug", businessName=NAME)["_id"]
    for name in ("admin", "moderator", "removed"):
        role = "moderator" if name == "removed" else name
        add_member(app, project, people[name], role)
    # These two in all of the owner's projects.
    add_workspace_member(app, owner, people["reader"], "reader")
    add_workspace_member(app, owner, people["admin everywhere"], "admin")
    add_workspace_member(app, people["host"], owner, "reader")
    base = f"/dashboard/projects/{project}"
    testimonial = owner.create_testimonial(project, text=SECRET)["_id"]
    form = {"email": "moved@example.com"}
    expect(browsers["removed"].post("/dashboard/account/email", data=form))
    expect(browsers["removed"].post(mailed_path(app, "email-change")))
    image = _fill(app, browser, owner, project)
    proposal = propose(owner, project, "logo", {"imageId": hold_picture(app)}, reason=SECRET)["_id"]
    propose(owner, project, "testimonial.add", {"authorName": NAME, "text": SECRET})
    expect(
        browser.post(
            f"/dashboard/projects/{deleted}/settings/delete", data={"confirm": "deleted-slug"}
        )
    )
    expect(browser.post(f"{base}/people/{people['removed'].account_id}/remove"))
    expect(browsers["gone"].post("/dashboard/account/delete", data={"confirm": "gone@example.com"}))
    other = people["outsider"].create_project(slug="theirs")["_id"]
    webhook = add_webhook(app, project)
    with app.app_context():
        create_form(lock_project(project), {"title": NAME, "name": "after-class"})
        db.session.commit()
    world = World(
        ids={
            "project_id": project, "slug": SLUG, "testimonial_id": testimonial,
            "account_id": people["moderator"].account_id, "owner_id": people["host"].account_id,
            "passkey_id": add_passkey(app, owner.account_id),
            "session_id": session_ids(app, owner.account_id)[0], "image_id": image,
            "proposal_id": proposal, "webhook_id": webhook, "digest": script_digest(),
            "token_id": _make_token(browser, project),
            "delivery_id": _send_test(browser, project, webhook), "filename": "img/mark.svg",
            "report_id": _report(app), "tag": "secret-tag", "form_name": "after-class",
            "widget_name": "secret-widget",
            "form": "after-class", "asked_id": _find_asked(app),
            "import_id": _choose_file(browser, base),
            "recording_id": upload(app.test_client(), slug=SLUG),
        },
        own={
            "project_id": other,
            "slug": "theirs",
            "testimonial_id": people["outsider"].create_testimonial(other)["_id"],
        },
        deleted={"project_id": deleted, "slug": "deleted-slug"},
        links=_find_links(app),
        queries={"/oauth/authorize": f"?{urlencode(ask_to_connect(app.test_client()))}"},
        keys={name: caller.headers for name, caller in people.items()},
        tokens={
            name: give_token(app, caller).headers
            for name, caller in people.items()
            if name != "gone"
        },
    )  # fmt: skip
    for name, each in browsers.items():
        cookie = each.get_cookie(COOKIE)
        world.cookies[name] = cookie.value if cookie else "ended"
    starts = [f"/{first}/{token}" for first, token in world.links.items() if first != "requests"]
    starts.append(f"/requests/{world.links['requests']}/decline")
    starts += ["/login", "/claim", f"/{SLUG}"]
    pages = ["/dashboard/projects", "".join(*world.queries.items())]
    world.forms = crawl(browser, pages) + crawl(app.test_client(), starts)
    return world


def _type(each: Field) -> str:
    """Return what somebody types who means it."""
    words = {"confirm": SLUG, "author_name": "Maya", "text": "Changed", "name": "another-name"}
    return words.get(each.name, "")


def _fill(app: Flask, browser: FlaskClient, owner: Caller, project: str) -> str:
    """Bring visitors, people asked and invited, and let every kind of link be mailed."""
    client, base = app.test_client(), f"/dashboard/projects/{project}"
    names = ("role", "company", "avatar", "rating", "email")
    change_project(app, project, page_config={"collectFields": dict.fromkeys(names, True)})
    change_project(app, project, page_design={"video": True, "voice": True})
    logo = (io.BytesIO(to_bytes(photo(80, 60), "PNG")), "logo.png")
    expect(browser.post(f"{base}/settings/brand/logo", data={"logo": logo}))
    form = {"mode": "at_once", "decides_by_mail": "1"}
    expect(browser.post(f"{base}/settings/mail", data=form))
    Visitor(client, project, SLUG).write(text=SECRET)
    ask(browser, project, "Asked <asked@example.com>")
    form = {"email": "next@example.com", "role": "moderator"}
    expect(browser.post(f"{base}/people", data=form))
    form = {"author_name": "Third", "text": SECRET, "submitted_on": "2024-01-01"}
    form["tags"] = "secret-tag"
    expect(browser.post(f"{base}/testimonials/new", data=form))
    expect(browser.post(f"{base}/widget/new", data={"look": "wall"}))
    expect(browser.post(f"{base}/widgets/wall", data={"name": "secret-widget"}))
    expect(browser.post(f"{base}/settings/domain", data={"host": "secret.example.com"}))
    form = {"email": "invited@example.com", "role": "moderator", "reach": "all"}
    expect(browser.post("/dashboard/account/people", data=form))
    form = {"email": "new@example.com"}
    assert browser.post("/dashboard/account/email", data=form).status_code == 303
    assert ask_for_link(client, "/forgot", owner.email).status_code == 200
    begun = credentials(init(client, "unclaimed@example.com"))
    assert client.post("/v1/projects", json={}, headers=begun).status_code == 200
    # There is something now, so the mail about another key has a link that revokes it.
    assert init(client, "unclaimed@example.com").status_code == 200
    return find(r"/media/(\w+)\.webp", browser.get(f"{base}/settings/brand").text)


def _send_test(browser: FlaskClient, project: str, webhook: str) -> str:
    path = f"/dashboard/projects/{project}/settings/developers/webhooks/{webhook}/test"
    answer = browser.post(path)
    expect(answer)
    return str(answer.headers["Location"])[-24:]


def _make_token(browser: FlaskClient, project: str) -> str:
    base = f"/dashboard/projects/{project}/settings/developers"
    form = {"name": "Secret token", "scopes": "read", "project": project}
    expect(browser.post(f"{base}/tokens/new", data=form), 200)
    return find(r"/tokens/(\w{24})/revoke", browser.get(f"{base}/tokens").text)


def _choose_file(browser: FlaskClient, base: str) -> str:
    file = (io.BytesIO(f"Name,Review\n{NAME},{SECRET}\n".encode()), "secret.csv")
    answer = browser.post(f"{base}/import", data={"file": file})
    expect(answer)
    return str(answer.headers["Location"])[-24:]


def _find_asked(app: Flask) -> str:
    with app.app_context():
        return str(db.session.scalar(select(MailedRequest.id)))


def expect(answer: Any, status: int = 303) -> None:
    assert answer.status_code == status, answer.text


def _find_links(app: Flask) -> dict[str, str]:
    texts = [f"{mail.text} {mail.list_unsubscribe or ''}" for mail in mails(app)]
    return dict(re.findall(rf"{ORIGIN}/([\w-]+)/([\w.-]{{40,}})", " ".join(texts)))
