"""Whom waiting proposals reach: by mail, and on the claim page."""

import re

import pytest
from flask import Flask

from testimonials.operations.jobs.registry import send_gathered_mail
from tests.auth.browsers import mailed_path, open_browser
from tests.auth.links import init, mails
from tests.conftest import PASSWORD, Caller, MakeCaller, MovableClock
from tests.proposals.agents import propose, read_proposal
from tests.support.rows import add_member


def tell(app: Flask) -> list[str]:
    """Let the job work; return to whom it wrote of proposals."""
    before = len(mails(app))
    with app.app_context():
        send_gathered_mail()
    return [mail.recipient for mail in mails(app)[before:] if mail.purpose == "proposals"]


def test_one_mail_tells_of_all_that_came_in_a_while(
    app: Flask, owner: Caller, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    project = owner.create_project(businessName="Kiln & Clay")["_id"]
    for role in ("admin", "moderator"):
        add_member(app, project, make_caller(f"{role}@example.com", is_claimed=True), role)
    moved_clock.move(minutes=1)
    propose(owner, project, "testimonial.add", {"authorName": "Ida", "text": "Hi"})
    assert tell(app) == []
    moved_clock.move(minutes=4)
    propose(owner, project, "page", {"headline": "How was it?"})
    moved_clock.move(minutes=2)
    assert sorted(tell(app)) == ["admin@example.com", "owner@example.com"]
    (mail, *_) = [each for each in mails(app) if each.purpose == "proposals"]
    assert mail.subject == "2 proposals wait for Kiln & Clay"
    assert "An agent (API key): 1 drafted testimonial, 1 change" in mail.text
    assert f"/dashboard/projects/{project}/proposals" in mail.text
    moved_clock.move(days=2)
    assert tell(app) == []


@pytest.mark.parametrize(("mode", "told"), [("daily", 1), ("never", 0)])
def test_it_follows_the_choice_for_new_testimonials(
    app: Flask, owner: Caller, moved_clock: MovableClock, mode: str, told: int
) -> None:
    project = owner.create_project()["_id"]
    form = {"mode": mode}
    browser = open_browser(app, owner)
    assert (
        browser.post(f"/dashboard/projects/{project}/notifications", data=form).status_code == 303
    )
    moved_clock.time = moved_clock.time.replace(hour=9, minute=0)
    moved_clock.move(days=1)
    propose(owner, project, "page", {"headline": "How was it?"})
    moved_clock.move(hours=1)
    assert tell(app) == []
    moved_clock.move(hours=23)
    assert len(tell(app)) == told


def test_who_claims_sees_what_is_proposed_and_is_led_to_decide(app: Flask) -> None:
    client = app.test_client()
    data = init(client, "new@example.com").json["data"]  # type: ignore[index]
    agent = Caller(client, data["accountId"], "new@example.com", data["apiKey"])
    project = agent.create_project(businessName="Kiln & Clay")["_id"]
    made = propose(agent, project, "page", {"headline": "A better one"}, reason="Because.")
    path = mailed_path(app, "claim")
    page = client.get(path).text
    assert "Change the collection page" in page
    assert "The agent says" in page
    assert "better" in page
    seen = re.findall(r'name="seen" value="(\w+)"', page)
    assert seen == [made["_id"]]
    claimed = client.post(path, data={"password": PASSWORD, "key": "keep", "seen": seen})
    assert claimed.status_code == 200, claimed.text
    form = re.search(r'action="([^"]+/proposals)">(.*?)</form>', claimed.text, re.DOTALL)
    assert form
    assert "Accept it" in form[2]
    ids = re.findall(r'name="ids" value="(\w+)"', form[2])
    answer = client.post(form[1], data={"ids": ids, "decision": "accepted"})
    assert answer.status_code == 303
    assert read_proposal(agent, project, made["_id"])["status"] == "accepted"


def test_who_claims_is_not_offered_to_accept_what_came_in_since(app: Flask) -> None:
    client = app.test_client()
    data = init(client, "new@example.com").json["data"]  # type: ignore[index]
    agent = Caller(client, data["accountId"], "new@example.com", data["apiKey"])
    project = agent.create_project(businessName="Kiln & Clay")["_id"]
    propose(agent, project, "page", {"headline": "A better one"})
    path = mailed_path(app, "claim")
    seen = re.findall(r'name="seen" value="(\w+)"', client.get(path).text)
    propose(agent, project, "page", {"website": "https://elsewhere.example"})
    form = {"password": PASSWORD, "key": "keep", "seen": seen}
    claimed = client.post(path, data=form).text
    assert "Look at each" in claimed
    assert "Accept all" not in claimed
