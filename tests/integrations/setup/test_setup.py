"""PUT /v1/setup: what it does, leaves to the owner, does at a repeat, at once, and when killed."""

import dataclasses
import os
import signal
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.integrations import setup
from testimonials.projects.models import Project, Proposal
from testimonials.projects.projects import lock_project
from testimonials.projects.proposals import Decider, decide_proposals
from tests.conftest import Caller
from tests.projects.proposals.agents import make_agent
from tests.support.killing import watch_statements
from tests.support.racing import at_once
from tests.support.rows import change_project, change_testimonial
from tests.support.shapes import data_of, error_of

BAKERY: dict[str, Any] = {
    "externalId": "bakery",
    "project": {"businessName": "Corner Bakery", "website": "bakery.example", "headline": "Good?"},
    "page": {"buttonColor": "#8a4b08", "collectFields": {"role": False, "company": False}},
    "widget": {"layout": "list", "palette": "amber"},
    "design": {"brandColor": "#8A4B08", "labels": {"showMore": "More"}},
    "testimonials": [
        {"externalId": "a", "authorName": "Maya", "text": "Good rye.", "rating": 5},
        {"externalId": "b", "authorName": "Joe", "text": "Good cakes.", "authorRole": "Cook"},
    ],
    "removeDemo": True,
    "reason": "The brown of your sign.",
}
PARTS = ("changed", "already", "proposed", "refused")


def set_up(caller: Caller, body: Any, query: str = "") -> dict[str, Any]:
    answer = caller.client.put(f"/v1/setup{query}", json=body, headers=caller.headers)
    return data_of(answer)


def read_sections(data: dict[str, Any]) -> dict[str, list[str]]:
    return {part: [step["section"] for step in data[part]] for part in PARTS if data[part]}


def decide(app: Flask, project: str, proposals: list[str], status: str, note: str = "") -> None:
    with app.app_context(), write():
        decider = Decider(None, "the owner")
        decided = decide_proposals(lock_project(project), proposals, status, decider, note)
        assert not decided.problems


def test_everything_in_one_call_and_nothing_twice(app, agent):
    data = set_up(agent, BAKERY)
    assert read_sections(data) == {
        "changed": ["project", "widget", "testimonials", "testimonials"],
        "already": ["samples"],
        "proposed": ["page", "design"],
    }
    project = data["project"]
    assert project["widgetConfig"]["layout"] == "list"
    # What waits is not public.
    assert project["publicPageConfig"]["buttonColor"] == "#4F46E5"
    assert data["snippet"]["container"].count(project["_id"])
    assert data["links"]["collectionPage"].endswith("/corner-bakery")
    assert data["claim"]["isClaimed"] is False
    again = set_up(agent, BAKERY)
    assert read_sections(again) == {
        "already": ["project", "widget", "testimonials", "testimonials", "samples"],
        "proposed": ["page", "design"],
    }
    waiting = [step["proposalId"] for step in data["proposed"]]
    assert [step["proposalId"] for step in again["proposed"]] == waiting
    listed = data_of(agent.get(f"/v1/projects/{project['_id']}/proposals"))["items"]
    assert {each["_id"] for each in listed} == set(waiting)
    assert {each["reason"] for each in listed} == {"The brown of your sign."}
    rows = data_of(agent.get(f"/v1/projects/{project['_id']}/testimonials"))["items"]
    assert [row["externalId"] for row in rows] == ["b", "a"]
    decide(app, project["_id"], waiting, "accepted")
    done = set_up(agent, BAKERY)
    assert read_sections(done).keys() == {"already"}
    assert done["project"]["publicPageConfig"]["collectFields"]["role"] is False
    assert done["project"]["widgetDesign"]["labels"] == {"showMore": "More"}


def test_what_changes_is_proposed_anew_but_not_what_was_declined(app, agent):
    first = set_up(agent, BAKERY)
    project = first["project"]["_id"]
    body = BAKERY | {"page": BAKERY["page"] | {"buttonColor": "#112233"}}
    second = set_up(agent, body)
    page, design = (step["proposalId"] for step in second["proposed"])
    # The new one takes the place of the old one.
    listed = data_of(agent.get(f"/v1/projects/{project}/proposals"))["items"]
    states = {each["_id"]: each["status"] for each in listed}
    assert states == {
        first["proposed"][0]["proposalId"]: "withdrawn",
        page: "waiting",
        design: "waiting",
    }
    decide(app, project, [page], "declined", "We like it blue.")
    third = set_up(agent, body)
    assert read_sections(third)["proposed"] == ["design"]
    (refused,) = third["refused"]
    assert refused["says"] == "The owner declined this. They say: We like it blue."
    assert refused["proposalId"] == page
    assert "page" in read_sections(set_up(agent, BAKERY))["proposed"]


def test_words_of_testimonials_are_proposed_and_deleted_stay_so(app, agent):
    project = set_up(agent, BAKERY)["project"]["_id"]
    body = {"externalId": "bakery", "testimonials": [{**BAKERY["testimonials"][0]}]}
    body["testimonials"][0]["text"] = "Good rye!"
    (step,) = set_up(agent, body)["proposed"]
    assert (step["fields"], step["externalId"]) == (["text"], "a")
    change_testimonial(app, step["testimonialId"], deleted_at=clock.now())
    data = set_up(agent, body)
    assert read_sections(data) == {"already": ["testimonials"]}
    assert "trash" in data["already"][0]["says"]
    assert len(data_of(agent.get(f"/v1/projects/{project}/testimonials"))["items"]) == 1


def test_words_of_a_page_are_proposed_and_its_address_is_refused(agent):
    set_up(agent, {"externalId": "x", "project": {"slug": "Corner Bakery"}})
    data = set_up(agent, {"externalId": "x", "project": {"slug": "corner-bakery"}})
    assert read_sections(data) == {"already": ["project"]}
    body = {"externalId": "x", "project": {"slug": "other", "website": "b.example"}}
    data = set_up(agent, body)
    assert read_sections(data) == {"proposed": ["project"], "refused": ["project"]}
    assert "dashboard" in data["refused"][0]["says"]


def test_a_token_does_what_its_scopes_say(owner):
    drafts, publishes, configures, whole = (
        make_agent(owner, *scopes)
        for scopes in (
            [Scope.READ, Scope.DRAFT], [Scope.PUBLISH, Scope.DRAFT], [Scope.CONFIGURE], list(Scope),
        )
    )  # fmt: skip
    headers = drafts.headers
    error_of(owner.client.put("/v1/setup", json=BAKERY, headers=headers), 403, "MISSING_SCOPE")
    reader = make_agent(owner, Scope.READ).headers
    error_of(owner.client.put("/v1/setup", json=BAKERY, headers=reader), 403, "MISSING_SCOPE")
    data = set_up(configures, BAKERY)
    assert read_sections(data) == {
        "changed": ["project", "page", "widget", "design"],
        "already": ["samples"],
        "refused": ["testimonials", "testimonials"],
    }
    data = set_up(drafts, BAKERY)
    assert read_sections(data)["proposed"] == ["testimonials", "testimonials"]
    assert set_up(drafts, BAKERY)["proposed"][1]["says"] == "Still waits for the owner."
    assert read_sections(set_up(publishes, BAKERY))["changed"] == ["testimonials", "testimonials"]
    body = BAKERY | {"widget": {"layout": "masonry"}, "testimonials": [BAKERY["testimonials"][0]]}
    body["testimonials"] = [body["testimonials"][0] | {"text": "Best rye."}]
    assert read_sections(set_up(drafts, body))["proposed"] == ["widget", "testimonials"]
    assert read_sections(set_up(whole, body))["changed"] == ["widget", "testimonials"]


def test_a_project_that_is_there_gets_an_id(owner, outsider):
    project, other = owner.create_project()["_id"], owner.create_project()["_id"]
    foreign = outsider.create_project()["_id"]
    here = {"externalId": "x", "projectId": project}
    assert set_up(owner, here)["project"]["_id"] == project
    assert set_up(owner, here)["project"]["_id"] == project
    assert set_up(owner, {"externalId": "x"})["project"]["_id"] == project
    for body, status, code in (
        ({"externalId": "y", "projectId": project}, 409, "EXTERNAL_ID_TAKEN"),
        ({"externalId": "x", "projectId": other}, 409, "EXTERNAL_ID_TAKEN"),
        ({"externalId": "z", "projectId": foreign}, 404, "NOT_FOUND"),
    ):
        answer = owner.client.put("/v1/setup", json=body, headers=owner.headers)
        error_of(answer, status, code)
    bound = make_agent(owner, Scope.CONFIGURE, project=other)
    for name in ("x", "new"):
        answer = owner.client.put("/v1/setup", json={"externalId": name}, headers=bound.headers)
        error_of(answer, 403, "ONE_PROJECT_ONLY")
    assert set_up(bound, {"externalId": "y", "projectId": other})["project"]["_id"] == other


def test_what_stands_in_the_way_undoes_all(app, owner, outsider):
    outsider.create_project(slug="taken")
    lost = set_up(owner, {"externalId": "lost"})["project"]
    change_project(app, lost["_id"], deleted_at=clock.now())
    app.test_cli_runner().invoke(args=["accounts", "set-limit", owner.email, "1"])
    twice = {"externalId": "a", "authorName": "A", "text": "B"}
    for body, status, code in (
        ({"externalId": "lost"}, 409, "PROJECT_IN_TRASH"),
        ({"externalId": "n", "project": {"slug": "taken"}}, 400, "SLUG_TAKEN"),
        ({"externalId": "n", "project": {"website": "http://"}}, 400, "VALIDATION_FAILED"),
        ({"externalId": "n", "testimonials": [twice, twice]}, 400, "EXTERNAL_ID_TWICE"),
        ({"externalId": "n", "testimonials": [twice] * 101}, 400, "VALIDATION_FAILED"),
        ({"externalId": "n", "page": {"headline": "x"}}, 400, "VALIDATION_FAILED"),
        ({"externalId": "n", "reason": "x" * 530_000}, 413, "BODY_TOO_LARGE"),
    ):
        answer = owner.client.put("/v1/setup", json=body, headers=owner.headers)
        fields = answer.json["errors"] if status == 400 else ()  # type: ignore[index]
        error_of(answer, status, code, *fields)
    owner.create_project()
    answer = owner.client.put("/v1/setup", json={"externalId": "n"}, headers=owner.headers)
    error_of(answer, 402, "PROJECT_LIMIT_REACHED")
    assert len(data_of(owner.get("/v1/projects"))) == 1


def test_a_dry_run_says_the_same_and_does_nothing(agent):
    planned = set_up(agent, BAKERY, "?dryRun=true")
    assert data_of(agent.get("/v1/projects")) == []
    assert read_sections(planned) == read_sections(set_up(agent, BAKERY))


@pytest.mark.parametrize(
    ("project", "testimonials", "samples"),
    [({}, [], 6), ({}, BAKERY["testimonials"], 0), ({"skipDemoTestimonials": True}, [], 0)],
)
def test_samples_if_alone(agent, project, testimonials, samples):
    body = {"externalId": "x", "project": project}
    body |= {"testimonials": testimonials} if testimonials else {}
    made = set_up(agent, body)["project"]["_id"]
    rows = data_of(agent.get(f"/v1/projects/{made}/testimonials"))["items"]
    assert [row["status"] for row in rows].count("demo") == samples
    if samples:
        (step,) = set_up(agent, {"externalId": "x", "removeDemo": True})["changed"]
        assert step["says"] == "6 samples removed."


def test_proposing_much_reads_little_of_what_waits(agent):
    def propose(words: str) -> None:
        sent = [
            {"externalId": f"t{n}", "authorName": "Ida", "text": f"{words} {n}."} for n in range(30)
        ]
        set_up(agent, {"externalId": "kiln", "testimonials": sent})

    propose("First")
    propose("Second")
    loaded: list[str] = []

    def note(proposal: Proposal, _: object) -> None:
        loaded.append(proposal.id)

    event.listen(Proposal, "load", note)
    propose("Third")
    event.remove(Proposal, "load", note)
    # The earlier 30, once each or little more; reading all of them for each would be 900.
    assert 30 <= len(loaded) <= 150


def test_an_account_sets_up_so_often_an_hour(agent, outsider, monkeypatch):
    few = dataclasses.replace(setup.SETUPS_PER_ACCOUNT, per_hour=2)
    monkeypatch.setattr(setup, "SETUPS_PER_ACCOUNT", few)
    set_up(agent, BAKERY)
    # What is only tried holds up others too.
    set_up(agent, BAKERY, "?dryRun=true")
    answer = agent.client.put("/v1/setup", json=BAKERY, headers=agent.headers)
    assert (answer.status_code, answer.headers["Retry-After"].isdigit()) == (429, True)
    set_up(outsider, {"externalId": "kiln"})


def test_the_language_of_the_page_is_set_up_too(app, agent, outsider):
    body = {"externalId": "bakery", "page": {"language": "it", "theme": "dark"}}
    data = set_up(agent, body)
    assert [step["fields"] for step in data["proposed"]] == [["language"], ["theme"]]
    assert read_sections(set_up(agent, body)) == {"proposed": ["page", "page"]}
    project = data["project"]["_id"]
    decide(app, project, [step["proposalId"] for step in data["proposed"]], "accepted")
    again = set_up(agent, body)
    assert read_sections(again) == {"already": ["page", "page"]}
    assert "language" not in again["project"]["publicPageConfig"]
    assert (
        '<html lang="it"'
        in app.test_client().get(f"/{again['project']['publicPageConfig']['slug']}").text
    )
    helper = make_agent(outsider, Scope.CONFIGURE)
    assert read_sections(set_up(helper, body)) == {"changed": ["project", "page", "page"]}


def test_questions_and_forms_are_set_up_too(app, agent, owner):
    body: dict[str, Any] = {
        "externalId": "bakery",
        "pageDesign": {
            "prompts": ["What changed?"],
            "asksInsider": True,
            "questions": [{"kind": "choice", "text": "What?", "choices": ["Bread", "Buns"]}],
        },
        "forms": [
            {"name": "class", "title": "After class", "tag": "class"},
            {"name": "market", "title": "At the market"},
        ],
    }
    data = set_up(agent, body)
    sections = ["pageDesign", "forms", "forms"]
    assert read_sections(data) == {"changed": ["project"], "proposed": sections}
    assert read_sections(set_up(agent, body)) == {"proposed": sections}
    # Each form has a proposal of its own, which another title replaces.
    changed = body | {"forms": [body["forms"][0] | {"title": "After a class"}]}
    (step,) = [each for each in set_up(agent, changed)["proposed"] if each["section"] == "forms"]
    market = data["proposed"][2]["proposalId"]
    waiting = [data["proposed"][0]["proposalId"], step["proposalId"], market]
    decide(app, data["project"]["_id"], waiting, "accepted")
    assert read_sections(set_up(agent, changed)) == {"already": ["pageDesign", "forms"]}
    with app.app_context():
        kept = db.session.get_one(Project, data["project"]["_id"]).whole_page_design
        assert kept["asksInsider"] is True
    helper = make_agent(owner, Scope.CONFIGURE)
    made = set_up(helper, body)
    assert read_sections(made) == {"changed": ["project", *sections]}
    assert read_sections(set_up(helper, body))["already"][-3:] == sections


MANY = 20


@pytest.mark.postgres
def test_many_at_once_make_one_of_everything(make_app, agent):
    # A connection for each, as a worker has.
    app = make_app(threads=MANY)

    def call(_: int) -> Any:
        return data_of(app.test_client().put("/v1/setup", json=BAKERY, headers=agent.headers))

    answers = at_once(MANY, call)
    assert sum("project" in read_sections(each).get("changed", []) for each in answers) == 1
    (project,) = data_of(agent.get("/v1/projects"))
    rows = data_of(agent.get(f"/v1/projects/{project['_id']}/testimonials"))["items"]
    assert [row["externalId"] for row in rows] == ["b", "a"]
    listed = data_of(agent.get(f"/v1/projects/{project['_id']}/proposals"))["items"]
    assert [each["kind"] for each in listed] == ["design", "page"]


@pytest.mark.postgres
def test_killed_half_way_it_leaves_nothing_and_is_repeated(app, agent):
    pid = os.fork()
    if pid == 0:
        try:
            with app.app_context():
                db.engine.dispose(close=False)
            # The project and the proposals are written by then.
            watch_statements("INSERT INTO testimonial ")
            agent.client.put("/v1/setup", json=BAKERY, headers=agent.headers)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert data_of(agent.get("/v1/projects")) == []
    set_up(agent, BAKERY)
    assert "changed" not in read_sections(set_up(agent, BAKERY))
    assert len(data_of(agent.get("/v1/projects"))) == 1
