"""Proposals about the page's questions and pictures, and about forms."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.access.scopes import Scope
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.proposals.agents import make_agent, propose
from tests.proposals.test_deciding import decide, page
from tests.support.pictures import photo, to_bytes

QUESTION = {
    "kind": "choice",
    "text": "What do you take home?",
    "choices": ["Bread", "Buns"],
    "isPublic": True,
}


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="oat", skipDemoTestimonials=True)["_id"])


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    return open_browser(app, owner)


def test_what_an_agent_drafts_is_shown_in_words_and_done_when_accepted(
    app: Flask, owner: Caller, browser: FlaskClient, project: str
) -> None:
    agent = make_agent(owner, Scope.READ, Scope.DRAFT)
    base = f"/v1/projects/{project}"
    picture = {"data": to_bytes(photo(300, 80), "PNG"), "content_type": "image/png"}
    step = {"kind": "code", "title": "A bun", "code": "BUN-7", "until": "2999-12-31"}
    words = {"de": {"headline": "Wie war es?"}}
    calls = (
        ("PATCH", "page-design", {"json": {"questions": [QUESTION], "steps": [step]}}),
        ("PATCH", "page-design", {"json": {"translations": words, "coverFocus": {"x": 5, "y": 9}}}),
        ("POST", "forms", {"json": {"title": "After class", "headline": "How was the class?"}}),
        ("PUT", "cover", picture),
        ("PUT", "portrait", picture),
    )
    made = []
    for method, path, sent in calls:
        answers = [
            agent.client.open(f"{base}/{path}", method=method, headers=agent.headers, **sent)
            for _ in range(2)
        ]
        assert [answer.status_code for answer in answers] == [202, 202], answers[0].text
        first, again = (answer.json["data"]["_id"] for answer in answers)
        # Sending the same again proposes nothing more.
        assert first == again
        made.append(first)
    assert agent.get(f"{base}/page-design").json["data"]["questions"] == []
    text = page(browser, project)
    for said in (
        "What do you take home? (choice of one: Bread, Buns; on the card)",
        "A bun · code BUN-7 · until 2999-12-31",
        "In Deutsch",
        "Headline: Wie war es?",
        "% from the left",
        "Add the form after-class",
        "How was the class?",
    ):
        assert said in text, said
    assert decide(browser, project, "accepted", *made).status_code == 303
    design = agent.get(f"{base}/page-design").json["data"]
    assert [each["text"] for each in design["questions"]] == [QUESTION["text"]]
    assert (design["translations"], design["coverFocus"]) == (words, {"x": 5, "y": 9})
    assert app.test_client().get(design["coverUrl"]).status_code == 200
    assert design["portraitUrl"]
    assert "How was the class?" in app.test_client().get("/oat/f/after-class").text


def test_a_form_is_renamed_and_deleted_by_proposals(
    owner: Caller, browser: FlaskClient, project: str
) -> None:
    agent = make_agent(owner, Scope.READ, Scope.DRAFT)
    first = propose(agent, project, "form", {"name": "Class", "title": "Class"})["_id"]
    assert decide(browser, project, "accepted", first).status_code == 303
    forms = f"/v1/projects/{project}/forms"
    made = agent.patch(f"{forms}/class", {"name": "lesson", "isOpen": False}).json["data"]["_id"]
    text = page(browser, project)
    assert "Change the form class" in text
    assert "Name in its address" in text
    assert decide(browser, project, "accepted", made).status_code == 303
    (form,) = agent.get(forms).json["data"]
    assert (form["name"], form["isOpen"]) == ("lesson", False)
    gone = agent.client.delete(f"{forms}/lesson", headers=agent.headers).json["data"]["_id"]
    assert "Delete the form lesson" in page(browser, project)
    assert decide(browser, project, "accepted", gone).status_code == 303
    assert agent.get(forms).json["data"] == []
    # What can't be done is refused at once.
    path = f"/v1/projects/{project}/proposals"
    for status, body in (
        (404, {"kind": "form.delete", "values": {"name": "lesson"}}),
        (400, {"kind": "form", "values": {"name": "lesson"}}),
        (400, {"kind": "page.design", "values": {"questions": [{"kind": "choice"}]}}),
        (404, {"kind": "cover", "values": {"imageId": "0" * 24}}),
    ):
        assert agent.post(path, body).status_code == status, body
