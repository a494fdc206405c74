"""Keys that somebody else gets to an unclaimed address: told, revoked, and marked what they did."""

import html
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core.event_lists import describe_program
from testimonials.core.extensions import db
from testimonials.testimonials import models
from tests.auth.links import ORIGIN, mailed_links, mails, redeem
from tests.conftest import Caller
from tests.support.rows import add_testimonial, count_rows, read_testimonials

pytestmark = pytest.mark.postgres
EMAIL = "new@example.com"


def ask(client: FlaskClient, program: str = "agent/1.0") -> Caller:
    """Get a key to the address, as an agent that names itself so."""
    answer = client.post(
        "/v1/auth/agent-init", json={"email": EMAIL}, headers={"User-Agent": program}
    )
    assert answer.status_code == 200, answer.text
    data = answer.json["data"]  # type: ignore[index]
    assert data["claimRequired"] is True
    return Caller(client, data["accountId"], EMAIL, data["apiKey"])


def works(caller: Caller) -> bool:
    return caller.get("/v1/me").status_code == 200


def not_me(app: Flask) -> str:
    found = re.search(rf"{ORIGIN}(/not-me/\S+)", mails(app)[-1].text)
    return found[1] if found else ""


def test_a_new_key_is_told_where_there_is_data_and_revoked_by_one_button(app, client):
    first = ask(client)
    # There is nothing yet that anybody could get at.
    assert not_me(app) == ""
    project = first.create_project(slug="fern")["_id"]
    first.create_testimonial(project)
    thief = ask(client, "Mallory-Bot/2.1 (https://evil.example; buy now)")
    assert (works(first), works(thief)) == (False, True)
    (mail,) = mails(app)[1:]
    text = " ".join(mail.text.split())
    assert "renewed just now, by Mallory-Bot/2.1, from 127.0.0.0/24." in text
    assert "evil" not in mail.text + mail.html
    link = not_me(app)
    assert link in html.unescape(mail.html)
    page = client.get(link)
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert "from 127.0.0.x with Mallory-Bot/2.1" in page.text
    # Opening it changes nothing.
    assert works(thief)
    assert client.post(link).headers["Location"].endswith("/claim/revoked")
    assert "Nothing was deleted." in client.get("/claim/revoked").text
    assert not works(thief)
    assert (client.post(link).status_code, client.get(link).status_code) == (410, 410)
    assert count_rows(app, models.TestimonialTag) == 0
    assert len(read_testimonials(app, project)) == 1
    # As specified, there is another key; the mail tells of it as well, and its link is another.
    again = ask(client)
    assert again.account_id == first.account_id
    assert again.get(f"/v1/projects/{project}").status_code == 200
    assert not_me(app) not in ("", link)
    assert client.post(link).status_code == 410
    assert works(again)


def test_a_link_about_a_key_works_for_that_key_of_an_unclaimed_account_alone(app, client):
    ask(client).create_project(slug="fern")
    ask(client)
    old = not_me(app)
    last = ask(client)
    for link in (old, "/not-me/x", old[:-1], not_me(app).replace("not-me/", "not-me/x")):
        assert (client.get(link).status_code, client.post(link).status_code) == (410, 410)
    assert works(last)
    newest = not_me(app)
    assert redeem(client, mailed_links(app)[-1]).status_code == 303
    assert client.post(newest).status_code == 410
    assert works(last)


def test_who_claims_sees_the_keys_and_what_came_after_the_first(app, client):
    first = ask(client)
    project = first.create_project(slug="fern", skipDemoTestimonials=True)["_id"]
    first.create_testimonial(project, authorName="Maya", text="Before.")
    page = client.get(mailed_links(app)[-1]).text
    assert "An agent has had a key" in page
    # It is the one that the agent began with, so there is nothing more to say.
    assert ("Keys that were issued" in page, "Added after" in page) == (False, False)
    thief = ask(client, "Mallory-Bot")
    thief.create_testimonial(project, authorName="Mallory", text="<b>Buy</b> now!")
    thief.create_project(slug="oat", businessName="Oats")
    # What a visitor sent came by no key.
    add_testimonial(app, project, author_name="Vera")
    link = mailed_links(app)[-1]
    page = client.get(link).text
    assert "with agent/1.0" in page
    assert "with Mallory-Bot" in page
    after = page.partition("Added after the key was first renewed")[2].partition("</section>")[0]
    assert "Oats" in after
    assert "<bdi>Mallory</bdi>" in after
    assert "<bdi>&lt;b&gt;Buy&lt;/b&gt; now!</bdi>" in after
    assert "1 testimonial. It will be tagged “added after a new key”" in after
    assert all(name not in after for name in ("Maya", "Vera"))
    assert redeem(client, link).status_code == 303
    with app.app_context():
        tags = db.session.scalars(db.select(models.TestimonialTag)).all()
        named = {row.id: row.author_name for row in read_testimonials(app, project)}
        marked = [(named[each.testimonial_id], each.name) for each in tags]
    assert marked == [("Mallory", "added after a new key")]
    inbox = client.get(f"/dashboard/projects/{project}/inbox?status=all").text
    assert "added after a new key" in inbox
    assert "added after a new key" not in client.get("/fern/wall").text


def test_a_program_is_called_by_its_first_word_and_nothing_that_looks_like_a_link():
    for given, label in (
        ("curl/8.5.0", "curl/8.5.0"), ("python-requests/2.31.0", "python-requests/2.31.0"),
        ("node", "node"), ("Mozilla/5.0 (X11; Linux) Firefox/128.0", "Firefox on Linux"),
        ("curl/8.5.0 (Linux)", "curl/8.5.0"), ("evil.example/login", "evil"),
        ("https://evil.example", "https"), ("\u202eevil", "an unnamed program"),
        ("", "an unnamed program"), ("x" * 99, "x" * 40),
    ):  # fmt: skip
        assert describe_program(given) == label, given
