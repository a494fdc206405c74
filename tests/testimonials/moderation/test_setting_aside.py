"""Setting aside by the API: a decision with a reason, which lists and events say."""

from typing import Any

import pytest

from testimonials.auth.tokens import Scope
from testimonials.testimonials.models import REASONS
from tests.auth.tokens import give_token
from tests.conftest import PASSWORD, Caller
from tests.support.commands import run
from tests.support.rows import add_testimonial, read_testimonials

pytestmark = [pytest.mark.postgres, pytest.mark.recount]


def decide(caller: Caller, project_id: str, *ids: str, status: int = 200, **body: str) -> Any:
    path = f"/v1/projects/{project_id}/submissions/decisions"
    answer = caller.post(path, {"ids": ids} | body)
    assert answer.status_code == status, answer.text
    return answer.json


def test_only_with_a_reason_of_the_list(app, owner, project_id):
    helper = give_token(app, owner)
    row = add_testimonial(app, project_id, source="public_page", rating=1)
    wrong = (
        ({"decision": "set-aside"}, "Say why it is set aside: " + ", ".join(REASONS)),
        ({"decision": "set-aside", "reason": "one star"}, "Must be one of: spam"),
        ({"decision": "reject", "reason": "spam"}, "Leave it out: reject takes no reason."),
        ({"decision": "spam"}, "Must be one of: approve, reject, set-aside"),
    )
    for body, said in wrong:
        errors = decide(helper, project_id, row, status=400, **body)["errors"]
        assert said in str(errors), errors
    data = decide(helper, project_id, row, decision="set-aside", reason="off_topic")["data"]
    assert (data["results"][0]["result"], data["results"][0]["status"]) == ("done", "rejected")
    path = f"/v1/projects/{project_id}/testimonials"
    described = helper.get(f"{path}/{row}").json["data"]
    assert described["setAside"] == "off_topic"
    assert described["history"][0]["action"] == "set-aside"
    assert described["history"][0]["reason"] == "off_topic"
    assert helper.get(path).json["data"]["items"] == []
    listed = helper.get(f"/v1/projects/{project_id}/submissions?status=set-aside").json["data"]
    assert [item["_id"] for item in listed["items"]] == [row]
    event = helper.get("/v1/events").json["data"]["items"][-1]
    assert (event["type"], event["reason"]) == ("testimonial.rejected", "off_topic")
    undo = {"undo": data["undo"]}
    assert helper.post(f"/v1/projects/{project_id}/undo", undo).status_code == 200
    assert "setAside" not in helper.get(f"{path}/{row}").json["data"]
    assert [item["_id"] for item in helper.get(path).json["data"]["items"]] == [row]


def test_deleting_may_have_one(app, owner, project_id):
    helper = give_token(app, owner)
    row = add_testimonial(app, project_id, source="public_page", rating=1)
    data = decide(helper, project_id, row, decision="delete", reason="abusive")["data"]
    assert data["results"][0]["status"] == "trash"
    assert read_testimonials(app, project_id)[0].set_aside == "abusive"


def test_it_can_be_proposed(app, owner, project_id):
    row = add_testimonial(app, project_id, source="public_page", rating=1)
    drafter = give_token(app, owner, Scope.DRAFT)
    body = {"decision": "set-aside", "reason": "same_person"}
    proposal = decide(drafter, project_id, row, status=202, **body)["data"]
    assert proposal["values"] == body | {"ids": [row]}
    decide(drafter, project_id, row, status=400, decision="set-aside")
    assert read_testimonials(app, project_id)[0].set_aside is None
    client = app.test_client()
    client.post("/login", data={"email": owner.email, "password": PASSWORD})
    inbox = f"/dashboard/projects/{project_id}/inbox"
    assert "Set aside: 1 testimonial: the same person twice" in client.get(inbox).text
    accept = {"ids": proposal["_id"], "decision": "accepted"}
    assert client.post(f"{inbox}/proposals", data=accept).status_code == 303
    assert read_testimonials(app, project_id)[0].set_aside == "same_person"


def test_the_operator_can(app, project_id):
    row = add_testimonial(app, project_id, source="public_page", rating=1)
    words = ["testimonials", "decide", project_id, "set-aside", row]
    refused = run(app, *words)
    assert refused.exit_code == 1
    assert "Say why it is set aside" in refused.output
    assert run(app, *words, "--reason", "spam").output.split()[-3:] == [row, "done", "spam"]
    assert read_testimonials(app, project_id)[0].set_aside == "spam"
