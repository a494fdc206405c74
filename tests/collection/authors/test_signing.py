"""Authors sign along: they confirm their words as shown, or object, and are told of changes."""

import html
import json
import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.chain import read_log
from testimonials.core.extensions import db
from testimonials.core.jobs import Job
from testimonials.testimonials.history import MAIL_CHANGED
from testimonials.testimonials.record import hash_salted
from testimonials.testimonials.record_heads import add_up
from tests.auth.tokens import give_token
from tests.collection.authors.authors import WORDS, Visitor
from tests.conftest import Caller
from tests.support.rows import change_testimonial, do_jobs, read_testimonials
from tests.testimonials.moderation.test_setting_aside import decide

pytestmark = pytest.mark.postgres
SHORTER = "They listened."
MARK = "Shortened by Oat"


@pytest.fixture
def project(owner: Caller) -> str:
    made = owner.create_project(slug="oat", businessName="Oat", skipDemoTestimonials=True)
    return str(made["_id"])


@pytest.fixture
def helper(app: Flask, owner: Caller) -> Caller:
    return give_token(app, owner, *Scope)


@pytest.fixture
def visitor(app: Flask, project: str) -> Visitor:
    return Visitor(app.test_client(), project, "oat")


def edit(helper: Caller, visitor: Visitor, **values: Any) -> None:
    path = f"/v1/projects/{visitor.project}/testimonials/{visitor.row().id}"
    assert helper.patch(path, values).status_code == 200


def sign(visitor: Visitor, path: str, action: str, seen: str = "") -> None:
    seen = seen or read_seen(visitor, path)
    visitor.post(f"{path}/{action}", seen=seen)


def read_seen(visitor: Visitor, path: str) -> str:
    return re.search(r'name="seen" value="(\w+)"', visitor.see(path))[1]


def list_entries(visitor: Visitor) -> list[dict[str, Any]]:
    log = read_log(visitor.client.get(f"/record/{visitor.project}/log").data)
    return [entry | {"numbers": add_up(log)} for entry in log.entries]


def see_cards(visitor: Visitor) -> list[str]:
    one, project = visitor.row().id, visitor.project
    paths = (f"/widget/{project}", f"/widget/{project}/fragment", "/oat/wall", f"/oat/{one}")
    return [visitor.client.get(path).text for path in paths]


def tell(app: Flask) -> None:
    do_jobs(app, MAIL_CHANGED)


def test_confirming_the_words_is_an_entry_once(visitor):
    path = visitor.write()
    assert "changed your words" not in visitor.see(path)
    seen = read_seen(visitor, path)
    sign(visitor, path, "confirm")
    assert "You have confirmed" in visitor.see(path)
    sign(visitor, path, "confirm", seen)
    received, confirmed = list_entries(visitor)
    assert (confirmed["kind"], confirmed["by"]) == ("confirmed", "author")
    assert confirmed["words"] != received["words"]
    assert confirmed["numbers"] == (0, 0)


def test_words_of_the_owner_are_marked_until_their_author_confirms_them(client, helper, visitor):
    path = visitor.write()
    one = visitor.row().id
    decide(helper, visitor.project, one, decision="approve")
    before = read_seen(visitor, path)
    edit(helper, visitor, text=SHORTER)
    assert all(MARK in page for page in see_cards(visitor))
    assert "has changed your words" in visitor.see(path)
    # What was on the page isn't what stands there now.
    sign(visitor, path, "confirm", before)
    assert [each["kind"] for each in list_entries(visitor)] == ["received", "decided", "changed"]
    sign(visitor, path, "confirm")
    assert not any(MARK in page for page in see_cards(visitor))
    assert "Confirmed by its author" in client.get(f"/oat/{one}/record").text
    told = client.get(f"/oat/{one}/record.json").json
    last = told["entries"][-1]
    assert last["entry"]["kind"] == "confirmed"
    assert hash_salted(last["salt"], told["words"]) == last["entry"]["words"]
    # Others than those that were confirmed.
    edit(helper, visitor, text="They did.")
    assert all(MARK in page for page in see_cards(visitor))
    edit(helper, visitor, text=SHORTER)
    assert not any(MARK in page for page in see_cards(visitor))


def test_an_objection_stands_and_the_stars_count(client, helper, visitor):
    path = visitor.write()
    one = visitor.row().id
    decide(helper, visitor.project, one, decision="approve")
    edit(helper, visitor, text=SHORTER)
    sign(visitor, path, "object")
    last = list_entries(visitor)[-1]
    assert (last["kind"], last["stars"], last["numbers"]) == ("objected", 4, (1, 4.0))
    assert all(MARK in page for page in see_cards(visitor))
    assert "Its author objects to these words" in client.get(f"/oat/{one}/record").text
    assert "aren’t my words" not in visitor.see(path)
    answer = helper.get(f"/v1/projects/{visitor.project}/testimonials/{one}").json["data"]
    assert answer["history"][0]["action"] == "object"
    with helper.get(f"/v1/projects/{visitor.project}/case-file") as file:
        (told,) = file.json["data"]["testimonials"]
    assert [each["action"] for each in told["history"]][-2:] == ["edit", "object"]


@pytest.mark.parametrize("is_proven", [True, False])
def test_an_author_is_told_once_of_what_the_owner_changed(app, helper, visitor, is_proven):
    visitor.write(lang="de")
    change_testimonial(app, visitor.row().id, consent_language="de")
    if is_proven:
        change_testimonial(app, visitor.row().id, email_verified_at=clock.now())
    first = len(visitor.mailed())
    # As it is kept while somebody types.
    for text in ("They lis", "They listen", SHORTER):
        edit(helper, visitor, text=text)
    with app.app_context():
        (job,) = db.session.scalars(select(Job).where(Job.kind == MAIL_CHANGED)).all()
        assert job.run_at is not None
        assert job.run_at > clock.now()
    tell(app)
    (mail,) = visitor.mailed()[first:]
    assert "?lang=de" in mail.text
    assert (SHORTER in mail.text, "Noor Haddad" in mail.html) == (is_proven, is_proven)
    assert "They lis\n" not in mail.text
    assert "\n\n\n" not in mail.text
    path = visitor.mailed_path()
    edit(helper, visitor, tags=["a"])
    edit(helper, visitor, text="They")
    edit(helper, visitor, text=SHORTER)
    tell(app)
    assert len(visitor.mailed()) == first + 1
    sign(visitor, path, "confirm")
    edit(helper, visitor, text="Listened.")
    tell(app)
    assert len(visitor.mailed()) == first + 2


def test_nobody_is_told_who_has_no_address_or_wants_no_mail_or_did_it(app, helper, visitor):
    def count() -> int:
        tell(app)
        return len(visitor.mailed())

    path = visitor.write()
    visitor.post(f"{path}/correct", text="They did.", name=WORDS["name"], rating="4")
    first = count()
    edit(helper, visitor, text="They didn’t.")
    edit(helper, visitor, text="They did.")
    assert count() == first
    edit(helper, visitor, text=SHORTER)
    for decision in ("delete", "restore"):
        decide(helper, visitor.project, visitor.row().id, decision=decision)
        assert count() == first
    visitor.post(f"{visitor.mailed_path()}/not-mine")
    assert count() == 0
    other = Visitor(app.test_client(), visitor.project, "oat", "10.3.0.2")
    other.write(text="Another one.", email="")
    for row in read_testimonials(app, visitor.project):
        path = f"/v1/projects/{visitor.project}/testimonials/{row.id}"
        assert helper.patch(path, {"text": "X"}).status_code == 200
    assert count() == 0


def test_no_link_goes_to_an_address_that_the_owner_wrote_in(app, helper, visitor):
    """By it they could take the rating out as its author, or give other stars."""
    visitor.write()
    given, first = visitor.row().author_email, len(visitor.mailed())
    edit(helper, visitor, authorEmail="owner@example.com")
    edit(helper, visitor, text=SHORTER)
    tell(app)
    assert [mail.recipient for mail in visitor.mailed()] == [given] * first
    edit(helper, visitor, authorEmail=given)
    edit(helper, visitor, text="They did.")
    tell(app)
    assert len(visitor.mailed()) == first + 1


def test_earlier_words_are_shown_only_while_their_author_agrees(client, helper, visitor):
    path = visitor.write()
    one = visitor.row().id
    decide(helper, visitor.project, one, decision="approve")
    assert "shows_earlier" not in visitor.see(path)
    edit(helper, visitor, text=SHORTER, authorName="N. H.")
    edit(helper, visitor, text="They did.")

    def read() -> tuple[str, list[dict[str, Any]]]:
        page = html.unescape(client.get(f"/oat/{one}/record").text)
        return page, client.get(f"/oat/{one}/record.json").json["entries"]

    for is_agreed in (False, True, False):
        if is_agreed or "checked" in visitor.see(path):
            visitor.post(f"{path}/earlier", **({"shows_earlier": "yes"} if is_agreed else {}))
        page, entries = read()
        assert ("Twice." in page, "Noor Haddad" in json.dumps(entries)) == (is_agreed, is_agreed)
        earlier = [each for each in entries if "words" in each]
        texts = [each["words"]["text"] for each in earlier]
        assert texts == ([WORDS["text"], SHORTER] if is_agreed else [])
        for each in earlier:
            assert hash_salted(each["salt"], each["words"]) == each["entry"]["words"]
    visitor.post(f"{path}/earlier", shows_earlier="yes")
    visitor.post(f"{path}/withdraw")
    assert client.get(f"/oat/{one}/record.json").status_code == 404


def test_nothing_is_left_of_a_signature_when_its_author_deletes_everything(app, helper, visitor):
    path = visitor.write()
    edit(helper, visitor, text=SHORTER)
    tell(app)
    sign(visitor, path, "confirm")
    visitor.post(f"{path}/delete")
    tell(app)
    assert visitor.mailed() == []
    with app.app_context():
        for event in db.session.scalars(select(Event).where(Event.entry.is_not(None))):
            assert (event.salt, event.before) == (None, None)
            assert SHORTER not in json.dumps(event.entry)
