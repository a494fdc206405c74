"""Proposals of agents through the API, also those of pages."""

from typing import Any

import pytest
from flask import Flask

from testimonials.auth.tokens import Scope
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import MOST_WAITING
from tests.conftest import Caller
from tests.projects.proposals.agents import hold_picture, make_agent, propose, read_proposal
from tests.projects.proposals.test_deciding import decide, page
from tests.support.pictures import photo, to_bytes
from tests.support.rows import add_testimonial
from tests.support.shapes import data_of, error_of

SECRET = "Words that nobody may see yet"


@pytest.fixture
def project(agent: Caller) -> str:
    return str(agent.create_project(slug="kiln", businessName="Kiln & Clay")["_id"])


@pytest.fixture
def waiting(app: Flask, project: str) -> str:
    return add_testimonial(app, project, status="pending", text="I like it.")


def test_nothing_of_a_proposal_shows(app, agent, project, waiting):
    shown = agent.create_testimonial(project)["_id"]
    picture = hold_picture(app)
    pages = (
        "/kiln/wall", f"/widget/{project}", f"/widget/{project}/data", f"/media/{picture}.webp",
    )  # fmt: skip
    paths = (f"/v1/projects/{project}", f"/v1/projects/{project}/testimonials")
    before = [agent.client.get(path).data for path in pages]
    answers = [agent.get(path).data for path in paths]
    proposed: dict[str, tuple[dict[str, Any], str | None]] = {
        "page": ({"headline": SECRET, "collectFields": {"rating": False}}, None),
        "logo": ({"imageId": picture}, None),
        "widget": ({"layout": "carousel", "initialCount": 3}, None),
        "design": ({"brandColor": "#9a3412", "labels": {"showMore": SECRET}}, None),
        "testimonial.add": ({"authorName": "Ida", "text": SECRET, "rating": 4.5}, None),
        "testimonial.edit": (
            {"text": SECRET, "reply": SECRET, "pinned": True, "tags": ["B", "a"], "rating": None},
            shown,
        ),
        "testimonial.decide": ({"decision": "approve", "ids": [waiting]}, None),
        "request": ({"people": [{"email": "ida@example.com"}], "subject": SECRET}, None),
    }
    for kind, (values, target) in proposed.items():
        more = {"targetId": target} if target else {}
        made = propose(agent, project, kind, values, reason="Because.", **more)
        assert made == made | {"kind": kind, "targetId": target, "status": "waiting"}
        assert made["values"] == made["values"] | values or kind in ("design", "request")
        assert (made["result"], made["note"], made["decidedAt"]) == (None, None, None)
        assert read_proposal(agent, project, made["_id"]) == made
    assert before == [agent.client.get(path).data for path in pages]
    assert answers == [agent.get(path).data for path in paths]
    assert agent.client.get(pages[-1]).status_code == 404
    # Each answer of this one has an id of its own.
    form = agent.client.get("/kiln").text
    assert SECRET not in form
    assert 'name="rating"' in form


def test_what_can_never_be_accepted_is_refused(agent, project, waiting):
    path = f"/v1/projects/{project}/proposals"
    one, target = {"ids": [waiting]}, {"targetId": waiting}
    unknown = {"ids": ["0" * 24], "decision": "approve"}
    for status, body, said in (
        (400, {"kind": "slug", "values": {}}, "kind: Must be one of: brand, cover"),
        (400, {"kind": "page", "values": {"buttonColor": "red"}}, "buttonColor"),
        (400, {"kind": "page", "values": {"website": "ftp://x"}}, "website"),
        (400, {"kind": "page", "values": {}, "targetId": waiting}, "targetId: Unknown field"),
        (400, {"kind": "testimonial.edit", "values": {"text": "x"}}, "targetId: This field"),
        (400, {"kind": "page", "values": {}, "reason": "x" * 501}, "at most 500"),
        (400, {"kind": "page", "values": {}}, "values: Name at least one field"),
        (404, {"kind": "testimonial.edit", "values": {}, "targetId": "0" * 24}, "no such testi"),
        (404, {"kind": "logo", "values": {"imageId": "0" * 24}}, "no such picture"),
        (404, {"kind": "testimonial.decide", "values": unknown}, "no such"),
        (409, {"kind": "testimonial.decide", "values": one | {"decision": "restore"}}, "pending"),
        (409, {"kind": "testimonial.edit", "values": {"pinned": True}} | target, "approved"),
    ):  # fmt: skip
        answer = agent.post(path, body)
        assert (answer.status_code, said in answer.json["message"]) == (status, True), answer.text
    assert agent.get(path).json["data"] == {"items": [], "next": None}


def test_only_so_many_wait_and_the_same_twice_is_one(agent, project):
    values = {"headline": "New words"}
    first = propose(agent, project, "page", values)
    assert propose(agent, project, "page", values) == first
    with agent.client.application.app_context(), write():
        row = db.session.get_one(Proposal, first["_id"])
        more = {"kind": row.kind, "actor_kind": row.actor_kind, "project_id": project}
        db.session.add_all(
            Proposal(values={"headline": str(n)}, **more) for n in range(MOST_WAITING - 1)
        )
    path = f"/v1/projects/{project}/proposals"
    answer = agent.post(path, {"kind": "page", "values": {"headline": "One more"}})
    assert (answer.status_code, answer.json["code"]) == (409, "TOO_MANY_PROPOSALS")
    assert agent.delete(f"{path}/{first['_id']}").json["data"]["status"] == "withdrawn"
    assert agent.delete(f"{path}/{first['_id']}").json["code"] == "PROPOSAL_DECIDED"
    assert propose(agent, project, "page", values)["_id"] != first["_id"]
    page = agent.get(f"{path}?status=waiting&limit=100").json["data"]
    assert (len(page["items"]), page["next"] is None) == (100, False)
    assert agent.get(f"{path}?status=withdrawn").json["data"]["items"][0]["_id"] == first["_id"]


def test_each_credential_sees_and_withdraws_its_own(owner, outsider):
    project = owner.create_project()["_id"]
    drafter = make_agent(owner, Scope.DRAFT, project=project)
    reader = make_agent(owner, Scope.READ)
    elsewhere = make_agent(owner, Scope.DRAFT, project=owner.create_project()["_id"])
    path = f"/v1/projects/{project}/proposals"
    by_key = propose(owner, project, "page", {"headline": "By the key"})["_id"]
    by_token = propose(drafter, project, "page", {"headline": "By the key"})["_id"]
    assert (
        drafter.patch(f"/v1/projects/{project}/widget-config", {"showStars": False}).status_code
        == 202
    )

    def seen(caller: Caller) -> set[str]:
        return {each["_id"] for each in caller.get(path).json["data"]["items"]}

    assert seen(owner) == {by_key}
    assert seen(drafter) >= {by_token}
    assert len(seen(drafter)) == 2
    assert len(seen(reader)) == 3
    assert reader.post(path, {"kind": "page", "values": {}}).json["code"] == "MISSING_SCOPE"
    assert [caller.get(path).status_code for caller in (elsewhere, outsider)] == [404, 404]
    assert drafter.get(f"{path}/{by_key}").status_code == 404
    assert owner.delete(f"{path}/{by_token}").status_code == 404
    both = make_agent(owner, Scope.READ, Scope.DRAFT)
    assert both.delete(f"{path}/{by_token}").json["code"] == "NOT_YOURS"
    here = f"{path}/{by_token}"
    for etag, status in (('"x"', 412), (drafter.get(here).headers["ETag"], 200)):
        headers = drafter.headers | {"If-Match": etag}
        assert drafter.client.delete(here, headers=headers).status_code == status


def test_a_picture_of_another_account_is_none(app, agent, outsider, project):
    logo, photo = hold_picture(app), hold_picture(app)
    with app.app_context(), write():
        db.session.get_one(Project, project).logo_id = logo
    add_testimonial(app, project, avatar_id=photo)
    other = outsider.create_project()["_id"]
    written = outsider.create_testimonial(other)["_id"]
    stranger = make_agent(outsider, Scope.PUBLISH, Scope.DRAFT)
    path = f"/v1/projects/{other}"
    for picture in (logo, photo):
        body = {"kind": "logo", "values": {"imageId": picture}}
        assert stranger.post(f"{path}/proposals", body).status_code == 404
        edit = stranger.patch(f"{path}/testimonials/{written}", {"avatarId": picture})
        assert edit.status_code == 404
    propose(agent, project, "logo", {"imageId": photo})


def test_a_call_that_waits_says_why(owner):
    project = owner.create_project()["_id"]
    drafter = make_agent(owner, Scope.DRAFT, project=project)
    row = owner.create_testimonial(project)["_id"]
    here, picture = f"/v1/projects/{project}", to_bytes(photo(), "PNG")
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", "page-config", {"json": {"headline": "How was it?"}}),
        ("PATCH", "widget-config", {"json": {"theme": "dark"}}),
        ("PATCH", "widget-design", {"json": {"minRating": 4}}),
        ("PUT", "logo", {"data": picture, "content_type": "image/png"}),
        ("POST", "testimonials", {"json": {"authorName": "Noor", "text": "Good"}}),
        ("PATCH", f"testimonials/{row}", {"json": {"text": "It works."}}),
        ("PUT", f"testimonials/{row}/avatar", {"data": picture, "content_type": "image/png"}),
        ("DELETE", f"testimonials/{row}", {}),
        ("POST", "submissions/decisions", {"json": {"decision": "reject", "ids": [row]}}),
        ("POST", "requests", {"json": {"people": [{"email": "noor@example.com"}]}}),
    ]
    for method, path, body in calls:
        url = f"{here}/{path}?reason=As+you+said"
        answer = drafter.client.open(url, method=method, headers=drafter.headers, **body)
        assert answer.status_code == 202, answer.text
        assert answer.json["data"]["reason"] == "As you said"  # type: ignore[index]
    bulk = {"testimonials": [{"authorName": "Ben", "text": "Twice."}]}
    (result,) = data_of(drafter.post(f"{here}/testimonials/bulk?reason=Also", bulk))["results"]
    added = drafter.get(f"{here}/proposals/{result['proposal']['_id']}")
    assert data_of(added)["reason"] == "Also"
    url = f"{here}/page-config?reason={'x' * 501}"
    error_of(drafter.patch(url, {"headline": "Why?"}), 400, "VALIDATION_FAILED", "reason")


QUESTION = {
    "kind": "choice", "text": "What do you take home?", "choices": ["Bread", "Buns"],
    "isPublic": True,
}  # fmt: skip


@pytest.fixture
def oat(owner: Caller) -> str:
    return str(owner.create_project(slug="oat")["_id"])


def test_what_an_agent_drafts_is_shown_in_words_and_done_when_accepted(app, owner, browser, oat):
    agent = make_agent(owner, Scope.READ, Scope.DRAFT)
    base = f"/v1/projects/{oat}"
    picture = {"data": to_bytes(photo(300, 80), "PNG"), "content_type": "image/png"}
    step = {"kind": "code", "title": "A bun", "code": "BUN-7", "until": "2999-12-31"}
    words = {"de": {"headline": "Wie war es?"}}
    spoken = {"translations": words, "coverFocus": {"x": 5, "y": 9}, "language": "tr"}
    calls = (
        ("PATCH", "page-design", {"json": {"questions": [QUESTION], "steps": [step]}}),
        ("PATCH", "page-design", {"json": spoken}),
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
    text = page(browser, oat)
    for said in (
        "Kind: Choice · Text: What do you take home? · Answers: Bread, Buns · "
        "Show the answer on the card: On",
        "Kind: Code · Title: A bun · Code: BUN-7 · Until: 2999-12-31", "In Deutsch",
        "Headline: Wie war es?", "From the left, in percent", "Each visitor’s own", "Türkçe",
        "Add or change a form: after-class",
        "How was the class?",
    ):  # fmt: skip
        assert said in text, said
    assert decide(browser, oat, "accepted", *made).status_code == 303
    design = agent.get(f"{base}/page-design").json["data"]
    assert [each["text"] for each in design["questions"]] == [QUESTION["text"]]
    assert {name: design[name] for name in spoken} == spoken
    assert app.test_client().get(design["coverUrl"]).status_code == 200
    assert design["portraitUrl"]
    assert "How was the class?" in app.test_client().get("/oat/f/after-class").text


def test_forms_are_renamed_and_deleted(owner, browser, oat):
    agent = make_agent(owner, Scope.READ, Scope.DRAFT)
    first = propose(agent, oat, "form", {"name": "Class", "title": "Class"})["_id"]
    assert decide(browser, oat, "accepted", first).status_code == 303
    forms = f"/v1/projects/{oat}/forms"
    made = agent.patch(f"{forms}/class", {"name": "lesson", "isOpen": False}).json["data"]["_id"]
    text = page(browser, oat)
    assert "Add or change a form: class" in text
    assert "Name in its address" in text
    assert decide(browser, oat, "accepted", made).status_code == 303
    (form,) = agent.get(forms).json["data"]
    assert (form["name"], form["isOpen"]) == ("lesson", False)
    gone = agent.client.delete(f"{forms}/lesson", headers=agent.headers).json["data"]["_id"]
    assert "Delete a form: lesson" in page(browser, oat)
    assert decide(browser, oat, "accepted", gone).status_code == 303
    assert agent.get(forms).json["data"] == []
    # What can't be done is refused at once.
    path = f"/v1/projects/{oat}/proposals"
    for status, body in (
        (404, {"kind": "form.delete", "values": {"name": "lesson"}}),
        (400, {"kind": "form", "values": {"name": "lesson"}}),
        (400, {"kind": "page.design", "values": {"questions": [{"kind": "choice"}]}}),
        (404, {"kind": "cover", "values": {"imageId": "0" * 24}}),
    ):
        assert agent.post(path, body).status_code == status, body
