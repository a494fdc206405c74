"""What is held as spam, what is not, and that whoever sent it is thanked all the same."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.collection import submission
from testimonials.collection.storing import is_link_stuffed
from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.text import fingerprint
from testimonials.testimonials import models
from tests.conftest import MakeApp, MakeCaller, MovableClock
from tests.support.applications import change_settings
from tests.support.rows import change_testimonial, count_rows, read_testimonials
from tests.support.visitors import form_token

FILLED = {"name": "Noor Haddad", "consent": "yes", "subject": ""}
LONG = "They took the time to explain every single step to me."


@dataclass
class Page:
    """The collection page of one project, as a visitor uses it; with the hurry that counts."""

    app: Flask
    client: FlaskClient
    clock: MovableClock
    project: str
    slug: str

    def token(self, query: str = "") -> str:
        return form_token(self.client.get(f"/{self.slug}{query}").text)

    def send(self, text: str, *, seconds: float = 3, address: str = "", **values: str) -> str:
        """Send words some seconds after the form was opened; return what became of them."""
        form = FILLED | {"text": text, "token": self.token()}
        self.clock.move(seconds=seconds)
        answer = self.post(form | values, address)
        assert answer.status_code == 303
        assert answer.location.partition("?")[0] == f"/{self.slug}/thanks"
        return self.newest()

    def post(self, form: dict[str, str], address: str = "") -> TestResponse:
        base = {"REMOTE_ADDR": address or "192.0.2.1"}
        return self.client.post(f"/{self.slug}", data=form, environ_base=base)

    def newest(self) -> str:
        row = read_testimonials(self.app, self.project)[-1]
        return f"{row.status} {row.held_for or ''}".strip()


@pytest.fixture
def page(make_app: MakeApp, make_caller: MakeCaller, moved_clock: MovableClock) -> Page:
    app = make_app(min_form_seconds=2)
    project = make_caller("owner@example.com", is_claimed=True, on=app).create_project(slug="kiln")
    return Page(app, app.test_client(), moved_clock, project["_id"], "kiln")


def test_a_filled_bait_is_held_in_silence(page):
    assert page.send("Buy now", subject="Cheap") == "spam bait"
    row = read_testimonials(page.app, page.project)[0]
    assert (row.text, row.author_name, row.reviewed_at) == ("Buy now", "Noor Haddad", None)
    assert count_rows(page.app, OutboxMail) == 0


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, "spam fast"), (0.9, "spam fast"), (2, "pending")]
)
def test_what_comes_sooner_than_one_writes_is_held(page, seconds, status):
    page.clock.time = page.clock.time.replace(microsecond=0)
    words = "Quick and good, as https://kiln.example says of itself and its people."
    assert page.send(words, seconds=seconds) == status


LINKED = "See for yourself what they have made for us: https://our-shop.example"


def test_a_form_that_came_filled_in_or_was_refused_may_be_sent_at_once(page):
    form = FILLED | {"text": f"They wrote to me. {LINKED}", "token": page.token("?name=Noor")}
    assert (page.post(form).status_code, page.newest()) == (303, "pending")
    form["token"] = page.token("?lang=de")
    page.post(form | {"text": f"In another language. {LINKED}"})
    assert page.newest() == "spam fast"
    token = page.token()
    page.clock.move(hours=25)
    refused = page.post(FILLED | {"text": f"Written slowly. {LINKED}", "token": token})
    assert refused.status_code == 422
    page.post(FILLED | {"text": f"Written slowly. {LINKED}", "token": form_token(refused.text)})
    assert page.newest() == "pending"


STUFFED = (
    "See http://a.example http://b.example and http://c.example. Far more words are here than "
    "there are in these, but nobody who is happy with a shop sends three.",
    "www.a.example/x, www.b.example/y, www.c.example/z: all of these are worth a look, I say",
    "cheap-pills.example/buy more.example/now best.example/deal are what everybody should see",
    "https://very-long.example/path/to/a/thing Nice!",
    "https://only.example",
    "Good [url=http://a.example]shoes[/url] for little money, they are really very very good",
    'Good <a href="http://a.example">shoes</a> for little money, really very very good ones',
    "Good [LINK]shoes[/LINK] for very little money, they are really very very good ones, buy",
)


def test_link_stuffed_texts_are_held_and_praise_with_a_link_is_not(page):
    for text in STUFFED:
        assert page.send(text) == "spam links", text
    for text in PRAISE:
        assert page.send(text) == "pending", text
    assert page.send("Very good indeed.", name="Casino www.casino.example") == "spam links"
    assert not is_link_stuffed("Very good indeed.", "Noor of haddad.example")


PRAISE = (
    "They built https://my-shop.example for us, and it has been a pleasure from day one.",
    "Before: https://a.example, after: https://b.example. What a difference this makes!",
    "Better than booking.com, airbnb.com, expedia.com and every other one of them. 10/10!",
    "Use x < y and a[0]; e.g./i.e. this is no link. <b>Bold</b> words, and/or none. 3.5/5.",
    "初めてなのに、髪の癖をすぐに分かってくれました。 https://a.example/ をどうぞ。感謝。",
    "👍👍👍",
)


def test_the_same_sentence_is_held_whoever_signs_it_but_a_few_words_are_not(page):
    assert page.send(LONG) == "pending"
    assert page.send(f"  {LONG.upper().replace(' ', '  ')}!! ", name="Ben") == "spam duplicate"
    assert page.send(LONG.replace("every", "each"), name="Ben") == "pending"
    assert page.send("Great service!") == "pending"
    assert page.send("Great service", name="Ben Adler") == "pending"
    assert page.send("great service", name="noor  haddad") == "spam duplicate"
    assert page.send("👍👍", name="Ben Adler") == "pending"
    assert page.send("👍", name="Ben Adler") == "pending"
    assert page.send("👍", name="ben adler") == "spam duplicate"


def test_a_repetition_counts_for_a_week_in_one_project(page, make_caller):
    assert page.send(LONG) == "pending"
    other = make_caller("other@example.com", is_claimed=True, on=page.app).create_project(slug="o")
    assert Page(page.app, page.client, page.clock, other["_id"], "o").send(LONG) == "pending"
    page.clock.move(days=6)
    assert page.send(LONG) == "spam duplicate"
    page.clock.move(days=8)
    assert page.send(LONG) == "pending"


def test_what_lies_in_the_trash_or_was_taken_back_is_no_first_one(page):
    page.send(LONG)
    (row,) = read_testimonials(page.app, page.project)
    change_testimonial(page.app, row.id, deleted_at=page.clock.time)
    assert page.send(LONG) == "pending"
    newest = read_testimonials(page.app, page.project)[-1]
    change_testimonial(page.app, newest.id, status="withdrawn")
    assert page.send(LONG) == "pending"


def test_fingerprints_know_the_same_words():
    assert fingerprint("Ｇｒｅａｔ, service!") == fingerprint("great SERVICE")
    assert fingerprint("👍") != fingerprint("👎")
    assert fingerprint("\ud800") != fingerprint("")


def test_a_tablet_on_a_counter_has_limits(page, monkeypatch):
    assert (submission.HELD_ABOVE, submission.SUBMISSIONS_PER_ADDRESS.per_hour) == (30, 300)
    monkeypatch.setattr(submission, "HELD_ABOVE", 2)
    few = dataclasses.replace(submission.SUBMISSIONS_PER_ADDRESS, per_hour=5)
    monkeypatch.setattr(submission, "SUBMISSIONS_PER_ADDRESS", few)
    for number in range(2):
        assert page.send(f"Number {number} is satisfied.", name=f"Guest {number}") == "pending"
    assert page.send("One more of us.", name="Guest 3") == "spam address"
    assert page.send("From a telephone.", address="192.0.2.9") == "pending"
    form = FILLED | {"text": "Again.", "token": page.token()}
    assert [page.post(form).status_code for _ in range(3)] == [303, 303, 429]
    assert page.post(form, "192.0.2.9").status_code == 303


def fill(page: Page, count: int, *, days: float = 0, **columns: Any) -> None:
    """Let so many come within moments, some days ago."""
    time = page.clock.time
    page.clock.move(days=-days)
    rows = [
        {
            "id": f"{count:08x}{number:016x}", "project_id": page.project, "status": "pending",
            "source": "public_page", "author_name": f"Guest {number}", "text": f"Words {number}",
            "submitted_at": page.clock.time, "created_at": page.clock.time,
            "updated_at": page.clock.time,
        }
        | columns
        for number in range(count)
    ]  # fmt: skip
    with page.app.app_context():
        db.session.execute(models.Testimonial.__table__.insert(), rows)
        db.session.commit()
    page.clock.time = time


def test_a_sudden_flood_is_held(page):
    fill(page, 99)
    assert page.send("The hundredth.") == "pending"
    assert page.send("One too many.", name="Ben") == "spam flood"
    page.clock.move(hours=1.1)
    assert page.send("An hour later.", name="Ana") == "pending"


@pytest.mark.parametrize(("limit", "status"), [(0, "pending"), (3, "spam flood"), (4, "pending")])
def test_how_many_are_a_flood_is_a_setting(page, limit, status):
    change_settings(page.app, flood_per_hour=limit)
    fill(page, 3)
    assert page.send("The fourth.") == status


def test_a_project_that_usually_gets_many_may_get_more(page):
    fill(page, 1200, days=3)
    # What an owner adds or imports is no flood.
    fill(page, 150, source="import")
    fill(page, 119)
    assert page.send("A busy hour.") == "pending"
    assert page.send("Too busy.", name="Ben") == "spam flood"


def test_spam_makes_no_project_a_busy_one(page):
    fill(page, 3000, days=3, status="spam")
    fill(page, 100)
    assert page.send("Not this way.") == "spam flood"
