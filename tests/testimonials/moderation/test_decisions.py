"""POST .../submissions/decisions: one answer each, and what a draft becomes."""

import pytest
from flask import Flask

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from tests.auth.tokens import TokenCaller, give_token
from tests.conftest import Caller
from tests.support.racing import at_once
from tests.support.rows import add_testimonial, everything, read_testimonials
from tests.testimonials.moderation.test_setting_aside import decide

pytestmark = [pytest.mark.postgres, pytest.mark.recount]


@pytest.fixture
def publisher(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.PUBLISH)


def test_each_is_answered_and_none_stops_another(app, owner, outsider, publisher, project_id):
    pending = add_testimonial(app, project_id, status="pending")
    approved = add_testimonial(app, project_id)
    trashed = add_testimonial(app, project_id, status="pending", deleted_at=clock.now())
    elsewhere = add_testimonial(app, str(owner.create_project()["_id"]), status="pending")
    foreign = add_testimonial(app, str(outsider.create_project()["_id"]), status="pending")
    ids = (foreign, pending, trashed, approved, "0" * 24, elsewhere)
    data = decide(publisher, project_id, *ids, decision="approve")["data"]
    assert [(each["_id"], each["result"], each["status"]) for each in data["results"]] == [
        (foreign, "unknown", None), (pending, "done", "approved"), (trashed, "unchanged", "trash"),
        (approved, "unchanged", "approved"), ("0" * 24, "unknown", None),
        (elsewhere, "unknown", None),
    ]  # fmt: skip
    undo = {"undo": data["undo"]}
    assert publisher.post(f"/v1/projects/{project_id}/undo", undo).status_code == 200
    assert read_testimonials(app, project_id)[0].status == "pending"


def test_one_of_100_ids_is_enough(app, publisher, project_id):
    known = add_testimonial(app, project_id, status="pending")
    ids = [f"{number:024x}" for number in range(99)]
    results = decide(publisher, project_id, known, *ids, decision="reject")["data"]["results"]
    assert [each["result"] for each in results] == ["done", *["unknown"] * 99]
    before = everything(app)
    for wrong in ([known, known], [], [*ids, known, "1" * 24], ["x"], known, [None]):
        body = {"decision": "approve", "ids": wrong}
        answer = publisher.post(f"/v1/projects/{project_id}/submissions/decisions", body)
        assert (answer.status_code, list(answer.json["errors"])) == (400, ["ids"]), wrong
    assert decide(publisher, project_id, known, decision="pin")["data"]["undo"] is None
    assert everything(app) == before


def test_the_key_and_drafters_only_propose(app, owner, project_id):
    pending = add_testimonial(app, project_id, status="pending")
    for caller in (owner, give_token(app, owner, Scope.DRAFT)):
        proposal = decide(caller, project_id, pending, decision="approve", status=202)["data"]
        assert proposal["kind"] == "testimonial.decide"
        assert proposal["values"] == {"decision": "approve", "ids": [pending]}
        error = decide(caller, project_id, pending, "0" * 24, decision="approve", status=404)
        assert "0" * 24 in error["message"]
    assert [row.status for row in read_testimonials(app, project_id)] == ["pending"]
    reader = give_token(app, owner, Scope.READ)
    assert (
        decide(reader, project_id, pending, decision="approve", status=403)["code"]
        == "MISSING_SCOPE"
    )


def test_of_many_at_once_one_decides(app, owner, publisher, project_id):
    pending = add_testimonial(app, project_id, status="pending")

    def approve(_: int) -> str:
        (result,) = decide(publisher, project_id, pending, decision="approve")["data"]["results"]
        return str(result["result"])

    assert sorted(at_once(6, approve)) == ["done", *["unchanged"] * 5]
    other = str(owner.create_project()["_id"])
    stranger = give_token(app, owner, project_id=other)
    decide(stranger, project_id, pending, decision="reject", status=404)
    (result,) = decide(stranger, other, pending, decision="reject")["data"]["results"]
    assert result["result"] == "unknown"
    assert [row.status for row in read_testimonials(app, project_id)] == ["approved"]
