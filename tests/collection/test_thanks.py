"""The collection page's look, and the thanks: the card, the next steps, the link by mail."""

import html
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core import clock
from tests.collection.authors.authors import Visitor
from tests.conftest import Caller
from tests.support.rows import change_project, read_testimonials

STEP = {"text": "", "url": "", "copies": False, "code": "", "until": None}
LINK = {**STEP, "id": "aaaaaaaa", "kind": "link", "title": "Say it on Kettlemap too"} | {
    "url": "https://www.kettlemap.example/oat",
    "copies": True,
}
CODE = {**STEP, "id": "bbbbbbbb", "kind": "code", "title": "A bun", "code": "BUN-7K2F"}
SIGNATURE = "Mira, who bakes it"


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    made = owner.create_project(businessName="Oat & Ember", slug="oat", website="oat.example")
    design = {"signature": SIGNATURE, "prompts": ["What changed?"], "steps": [LINK, CODE]}
    change_project(app, made["_id"], page_design=design)
    return str(made["_id"])


@pytest.fixture
def visitor(client: FlaskClient, project: str) -> Visitor:
    return Visitor(client, project, "oat")


def send(visitor: Visitor, **values: str) -> str:
    answer = visitor.client.post("/oat", data=visitor.make_form(**values))
    assert answer.status_code == 303
    return str(answer.headers["Location"])


def read(visitor: Visitor, path: str) -> str:
    answer = visitor.client.get(path)
    assert answer.status_code == 200
    return html.unescape(answer.text)


def steps_of(page: str) -> str:
    found = re.search('<ul class="card steps">.*?</ul>', page, re.DOTALL)
    return found[0] if found else ""


def test_the_thanks_are_the_same_for_every_rating_and_word(visitor):
    bad = read(visitor, send(visitor, name="Theo Brandt", rating="1", text="Dry. Never again."))
    good = read(visitor, send(visitor, name="Theo Brandt", rating="5", text="Best rye in town."))
    for page, words in ((bad, "Dry. Never again."), (good, "Best rye in town.")):
        assert "Thank you, <bdi>Theo</bdi></h1>" in page
        assert "Waiting for <bdi>Mira</bdi>" in page
        assert f'part="text">{words}</blockquote>' in page
        assert "Copy and open kettlemap.example" in page
        assert ">BUN-7K2F</code>" in page
    assert steps_of(bad) == steps_of(good) != ""


def test_who_wrote_nothing_sees_plain_thanks(visitor, owner):
    elsewhere = Visitor(visitor.client, owner.create_project(slug="other")["_id"], "other")
    answer = elsewhere.client.post("/other", data=elsewhere.make_form())
    token = answer.headers["Location"].partition("?")[2]
    for path in ("/oat/thanks", "/oat/thanks?yours=x", f"/oat/thanks?{token}"):
        page = read(visitor, path)
        assert "Thank you</h1>" in page
        for secret in ("BUN-7K2F", "/yours/", "<blockquote"):
            assert secret not in page


def test_a_code_is_promised_before_writing_and_kept_until_its_day(
    visitor, app, project, moved_clock
):
    today = clock.now().date()
    change_project(app, project, page_design={"steps": [{**CODE, "until": today.isoformat()}]})
    assert "A bun</bdi>: for everyone who writes, whatever they say." in read(visitor, "/oat")
    assert f"Until {today:%B} {today.day}, {today.year}." in steps_of(read(visitor, send(visitor)))
    moved_clock.move(hours=25)
    assert "for everyone who writes" not in read(visitor, "/oat")
    assert steps_of(read(visitor, send(visitor, text="A day too late."))) == ""
    assert {row.is_rewarded for row in read_testimonials(app, project)} == {True, False}


def test_the_link_is_mailed_and_the_address_is_not_kept(visitor):
    token = re.search("yours=([^&]+)", send(visitor, email=""))
    for email, is_sent in (("not an address", False), ("theo@example.com", True)):
        answer = visitor.client.post("/oat/thanks", data={"yours": token[1], "email": email})
        assert answer.status_code == 303
        assert ("Your link is on its way." in read(visitor, answer.headers["Location"])) == is_sent
    (mail,) = visitor.mailed()
    assert mail.recipient == "theo@example.com"
    assert "/yours/" in mail.text
    assert "not-mine" not in mail.text
    assert visitor.row().author_email is None
    # Nobody's link but theirs, and no more mail to one address than a form may cause.
    answers = [
        visitor.client.post("/oat/thanks", data={"yours": yours, "email": "theo@example.com"})
        for yours in ("x", *[token[1]] * 4)
    ]
    assert [each.location.count("mailed=yes") for each in answers] == [0, 1, 1, 0, 0]


def test_the_page_shows_who_reads_what_helps_and_the_card(visitor, app, owner, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"cardStyle": "quote"})
    page = read(visitor, "/oat?name=Theo&rating=3")
    assert f'<p class="signature" dir="auto">{SIGNATURE}</p>' in page
    assert "<bdi>Mira</bdi> reads it before it is shown." in page
    assert 'aria-describedby="prompts prompts-hint text-count"' in page
    assert re.search(r'<div class="tm single quote.*?<bdi class="name"[^>]*>Theo</bdi>', page, re.S)
    assert ".tm-page .quote .card" in visitor.client.get("/oat/card.css").text
    # What a link has filled in is seen at once; else the stars come first.
    assert "is-first" not in page
    assert 'class="sheet is-first"' in read(visitor, "/oat")
    change_project(app, project, page_config={"collectFields": {"rating": False}})
    assert "is-first" not in read(visitor, "/oat")
