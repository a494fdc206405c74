"""What acts for somebody, after each event that takes the right to: the table in docs/security.md.

The table is read from there, so the two can't differ. Everything in it is made through its door by
one person, then the event happens, and each is tried at its door.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from testimonials.collection.models import MailedRequest
from testimonials.collection.request_mail import has_due_mails
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.mail.outbox import OutboxMail
from testimonials.integrations.webhooks.delivery import Dispatcher
from testimonials.projects.models import NotificationChoice
from testimonials.projects.projects import lock_project
from testimonials.testimonials.notifications import find_waiting
from testimonials.widget.events import WIDGET_CHANGED
from tests.auth.browsers import mailed_path, open_browser
from tests.auth.links import ORIGIN, ask_for_link, mails
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import ask
from tests.collection.requests.test_purchases import NOTE, claims, sign
from tests.conftest import PASSWORD, Caller
from tests.dashboard.inbox.inbox import Inbox
from tests.dashboard.transfer import imports
from tests.integrations.oauth.asking import ask_to_connect, consent, exchange, read_code
from tests.integrations.webhooks.receiver import Receiver, receiving
from tests.support.applications import change_settings
from tests.support.commands import run_well
from tests.support.finding import find
from tests.support.rows import (
    add_member,
    add_testimonial,
    change_project,
    deliver_mail,
    read_testimonials,
)
from tests.testimonials.media.recorded import VIDEO, Upload

DOCUMENT = Path(__file__).parents[2] / "docs/security.md"
ACCOUNT = "/dashboard/account"
SLUG = "larkspur"


@dataclass
class Scene:
    """A project with an owner and an admin; one of the two is the `person` it is about."""

    app: Flask
    project: str
    owner: Caller
    admin: Caller
    person: Caller
    browser: FlaskClient
    receiver: Receiver
    # The page of an author, by their link.
    yours: str = ""
    # With which the person's webhook signs.
    secret: str = ""

    @property
    def base(self) -> str:
        return f"/dashboard/projects/{self.project}"

    def press(self, path: str, by: Caller | None = None, **form: Any) -> str:
        """Press a button in a browser of the person, or of somebody else; return the page."""
        browser = self.browser if by is None else open_browser(self.app, by)
        answer = browser.post(path, data=form)
        assert answer.status_code in (200, 303), answer.text
        return answer.text

    def opens(self, path: str, **headers: str) -> bool:
        return self.app.test_client().get(path, headers=headers).status_code == 200

    def submissions_mail(self) -> OutboxMail:
        """Return the notification to the person."""
        (mail,) = (
            mail
            for mail in mails(self.app)
            if (mail.purpose, mail.recipient) == ("submissions", self.person.email)
        )
        return mail


@dataclass(frozen=True)
class Thing:
    """Something that acts for the person: `make` makes it, and `works` tries it."""

    make: Callable[[Scene], Any]
    works: Callable[[Scene, Any], bool]
    # There is none that acts in a project of somebody else.
    is_owners: bool = False


def make_token(scene: Scene) -> str:
    form = {"name": "Helper", "scopes": "read", "project": scene.project}
    page = scene.press(f"{scene.base}/settings/developers/tokens/new", **form)
    return find(r"(tst_tok_\w+)", page)


def make_code(scene: Scene) -> tuple[dict[str, str], str]:
    asked = ask_to_connect(scene.app.test_client())
    return asked, read_code(consent(scene.browser, asked, project=scene.project))


def make_grant(scene: Scene) -> str:
    answer = exchange(scene.app.test_client(), *make_code(scene))
    assert answer.json is not None
    return str(answer.json["access_token"])


def make_decision_link(scene: Scene) -> str:
    return find(rf"{ORIGIN}(/decide/\S+)", scene.submissions_mail().text)


def make_unsubscribe_link(scene: Scene) -> str:
    return str(scene.submissions_mail().list_unsubscribe).removeprefix(ORIGIN)


def make_reset_link(scene: Scene) -> str:
    assert ask_for_link(scene.app.test_client(), "/forgot", scene.person.email).status_code == 200
    return mailed_path(scene.app, "reset")


def make_invitation(scene: Scene) -> str:
    scene.press(f"{scene.base}/people", email="noor@example.com", role="reader")
    return mailed_path(scene.app, "invitation")


def make_purchase_link(scene: Scene) -> str:
    page = scene.press(f"{scene.base}/settings/developers/purchases/secret", last_four="")
    secret = find(r"(tst_sign_\w{30,})", page)
    in_a_month = {"exp": int(clock.now().timestamp()) + 30 * 86_400}
    return f"/{SLUG}?purchase={sign(secret, claims(**in_a_month))}"


def make_webhook(scene: Scene) -> None:
    """Add a webhook; something happens that it has not been told of yet."""
    path = f"{scene.base}/settings/developers/webhooks/new"
    form = {"url": scene.receiver.url, "events": ["testimonial.approved", "project.updated"]}
    scene.secret = find(r"(whsec_[\w+/=-]{30,})", scene.press(path, **form))
    scene.owner.create_testimonial(scene.project)


def is_called(scene: Scene) -> bool:
    with scene.app.app_context():
        lock_for_writing()
        record(WIDGET_CHANGED, lock_project(scene.project))
        db.session.commit()
        Dispatcher().run()
    return bool(scene.receiver.bodies)


def make_request(scene: Scene) -> None:
    ask(scene.browser, scene.project, "Asked <asked@example.com>")


def make_import(scene: Scene) -> str:
    inbox = Inbox(scene.app, scene.person, scene.browser, scene.project)
    imports.start(inbox, imports.upload(inbox, "Name,Review\nImported,Kind words\n"))
    return "Imported"


def finish_import(scene: Scene, name: str) -> bool:
    imports.work(scene.app)
    return name in {row.author_name for row in read_testimonials(scene.app, scene.project)}


def is_asked_again(scene: Scene) -> bool:
    with scene.app.app_context():
        lock_for_writing()
        db.session.execute(update(MailedRequest).values(next_mail_at=clock.now()))
        db.session.commit()
        return has_due_mails()


def is_told_of_more(scene: Scene) -> bool:
    add_testimonial(scene.app, scene.project, status="pending")
    with scene.app.app_context():
        lock_for_writing()
        # Nobody is told of another within minutes, nor who has just tried the link that ends it.
        values = {"last_sent_at": None, "mode": "at_once"}
        db.session.execute(update(NotificationChoice).values(values))
        db.session.commit()
        return (scene.project, scene.person.account_id) in find_waiting()


def leaves(scene: Scene, mail: OutboxMail) -> bool:
    """Tell whether a mail that waited is sent, which here means printed."""
    deliver_mail(scene.app)
    return mail.id in {each.id for each in mails(scene.app)}


def decides(scene: Scene, link: str) -> bool:
    form = {"action": "approve"}
    return scene.app.test_client().post(link, data=form).status_code == 200


def sets_a_password(scene: Scene, link: str) -> bool:
    form = {"password": "four yellow umbrellas"}
    return scene.app.test_client().post(link, data=form).status_code == 303


def lets_in(scene: Scene, link: str) -> bool:
    return scene.app.test_client().post(link, data={"password": PASSWORD}).status_code == 303


# In the order in which they are tried: the last change what others need.
THINGS = {
    "session": Thing(
        lambda scene: open_browser(scene.app, scene.person),
        lambda scene, browser: browser.get(f"{scene.base}/inbox").status_code == 200,
    ),
    "the account’s key": Thing(
        lambda scene: scene.person.headers,
        lambda scene, headers: scene.opens(f"/v1/projects/{scene.project}", **headers),
        is_owners=True,
    ),
    "access token": Thing(
        make_token,
        lambda scene, token: scene.opens(
            f"/v1/projects/{scene.project}", Authorization=f"Bearer {token}"
        ),
    ),
    "code of OAuth": Thing(
        make_code,
        lambda scene, made: exchange(scene.app.test_client(), *made).status_code == 200,
        is_owners=True,
    ),
    "what a program was allowed by OAuth": Thing(
        make_grant,
        lambda scene, token: scene.opens(
            f"/v1/projects/{scene.project}", Authorization=f"Bearer {token}"
        ),
        is_owners=True,
    ),
    "invitation that they sent": Thing(make_invitation, lets_in),
    "notification that waits in the outbox": Thing(Scene.submissions_mail, leaves),
    "notifications to come": Thing(lambda _scene: None, lambda scene, _: is_told_of_more(scene)),
    "webhook": Thing(make_webhook, lambda scene, _: is_called(scene)),
    "webhook’s secret": Thing(
        lambda _scene: None, lambda scene, _: bool(scene.receiver.verify(scene.secret))
    ),
    "secret of links that prove a purchase": Thing(
        make_purchase_link,
        lambda scene, link: NOTE in unescape(scene.app.test_client().get(link).text),
    ),
    "request to a customer, and its reminder": Thing(
        make_request, lambda scene, _: is_asked_again(scene)
    ),
    "upload of a visitor’s recording": Thing(
        lambda scene: Upload(scene.app.test_client(), VIDEO, slug=SLUG),
        lambda _scene, upload: upload.finish().status_code == 204,
    ),
    "import that runs": Thing(make_import, finish_import),
    "author’s link": Thing(lambda scene: scene.yours, lambda scene, link: scene.opens(link)),
    "link that decides": Thing(make_decision_link, decides),
    "link for a new password": Thing(make_reset_link, sets_a_password),
    "link that ends notifications": Thing(
        make_unsubscribe_link,
        lambda scene, link: scene.app.test_client().post(link).status_code == 200,
    ),
}


def run_command(scene: Scene, *arguments: str) -> None:
    run_well(scene.app, "accounts", *arguments)


def suspend(scene: Scene) -> None:
    run_command(scene, "suspend", scene.person.email, "--reason", "Invented praise.")


def hand_over(scene: Scene) -> None:
    scene.press(f"{scene.base}/people/hand-over", receiver=scene.admin.account_id)
    scene.press(f"{scene.base}/people/offer/accept", by=scene.admin)


def change_member(scene: Scene, action: str, **form: str) -> None:
    path = f"{scene.base}/people/{scene.person.account_id}/{action}"
    scene.press(path, by=scene.owner, **form)


def change_password(scene: Scene) -> None:
    path = f"{ACCOUNT}/security/password"
    scene.press(path, current=PASSWORD, password="seven green lanterns")


# The columns of the table; with True what happens to an owner.
EVENTS: dict[str, tuple[bool, Callable[[Scene], object]]] = {
    "owner suspended": (True, suspend),
    "colleague suspended": (False, suspend),
    "colleague removed": (False, lambda scene: change_member(scene, "remove", is_sure="true")),
    "colleague made reader": (False, lambda scene: change_member(scene, "role", role="reader")),
    "handed over": (True, hand_over),
    "signed out everywhere": (True, lambda scene: scene.press(f"{ACCOUNT}/security/sessions/end")),
    "new password": (True, change_password),
}


def read_table() -> dict[str, dict[str, str]]:
    """Return what happens to each thing at each event."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = re.search(r"\n\| what acts for somebody \|.*?\n\n", text, re.S)
    assert table
    first, _, *rows = (line.strip("| ").split(" | ") for line in table[0].strip().splitlines())
    return {name: dict(zip(first[1:-1], cells[:-1], strict=True)) for name, *cells in rows}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


MakeScene = Callable[[bool], Scene]


@pytest.fixture
def make_scene(app: Flask, owner: Caller, outsider: Caller, receiver: Receiver) -> MakeScene:
    def make(is_owner: bool) -> Scene:
        change_settings(app, webhook_addresses="any")
        project = owner.create_project(slug=SLUG, businessName="Larkspur")["_id"]
        change_project(app, project, page_design={"video": True})
        add_member(app, project, outsider, "admin")
        person = owner if is_owner else outsider
        browser = open_browser(app, person)
        scene = Scene(app, project, owner, outsider, person, browser, receiver)
        scene.press(f"{scene.base}/settings/mail", mode="at_once", decides_by_mail="1")
        scene.yours = Visitor(app.test_client(), project, SLUG).write()
        return scene

    return make


@pytest.mark.parametrize("is_owner", [True, False])
def test_all_of_it_works_before_anything_happens(make_scene, is_owner):
    scene = make_scene(is_owner)
    things = {name: each for name, each in THINGS.items() if is_owner or not each.is_owners}
    made = {name: each.make(scene) for name, each in things.items()}
    assert [name for name, each in things.items() if not each.works(scene, made[name])] == []


@pytest.mark.postgres
@pytest.mark.parametrize("event", EVENTS)
def test_whoever_may_no_longer_can_not(make_scene, monkeypatch, event):
    table = read_table()
    assert list(next(iter(table.values()))) == list(EVENTS)
    assert table.keys() == THINGS.keys()
    is_owner, happen = EVENTS[event]
    said = {name: cells[event] for name, cells in table.items()}
    assert {name for name, words in said.items() if words == "—"} == {
        name for name, thing in THINGS.items() if thing.is_owners and not is_owner
    }
    scene = make_scene(is_owner)
    made = {name: THINGS[name].make(scene) for name in THINGS if said[name] != "—"}

    def find_working(names: Iterable[str]) -> set[str]:
        return {name for name in names if THINGS[name].works(scene, made[name])}

    happen(scene)
    assert find_working(made) == {name for name in made if said[name].startswith("stays")}
    if "suspended" in event:
        run_command(scene, "restore", scene.person.email)
        waited = [name for name in made if said[name] != "stays"]
        assert find_working(waited) == {name for name in waited if said[name] == "waits"}
    for name, words in said.items():
        if found := re.fullmatch(r"stays (\d+) days", words):
            later = clock.now() + timedelta(days=int(found[1]), seconds=1)
            monkeypatch.setattr(clock, "now", lambda later=later: later)
            assert find_working([name]) == set()
