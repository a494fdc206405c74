"""GET .../summary: how a project stands."""

from flask import Flask

from testimonials.access.scopes import Scope
from tests.access.tokens import give_token
from tests.conftest import Caller
from tests.support.rows import add_testimonial


def test_says_what_an_agent_tells_its_owner(app: Flask, owner: Caller) -> None:
    project = str(owner.create_project()["_id"])
    reader = give_token(app, owner, Scope.READ)
    empty = reader.get(f"/v1/projects/{project}/summary").json["data"]
    assert (empty["averageRating"], empty["ratingCount"], empty["websites"]) == (None, 0, [])
    for rating in (5, 4):
        add_testimonial(app, project, rating=rating)
    waiting = add_testimonial(app, project, status="pending")
    body = {"decision": "approve", "ids": [waiting]}
    assert owner.post(f"/v1/projects/{project}/submissions/decisions", body).status_code == 202
    site = {"Origin": "https://kiln.example"}
    app.test_client().get(f"/widget/{project}/feed", headers=site)
    summary = reader.get(f"/v1/projects/{project}/summary").json["data"]
    assert summary["testimonials"] == {
        "pending": 1, "approved": 2, "rejected": 0, "spam": 0, "trash": 0, "samples": 0
    }  # fmt: skip
    assert (summary["averageRating"], summary["ratingCount"]) == (4.5, 2)
    assert (summary["proposalsWaiting"], summary["requests"]["waiting"]) == (1, 0)
    assert [each["origin"] for each in summary["websites"]] == ["https://kiln.example"]
    assert owner.get(f"/v1/projects/{project}/summary").status_code == 403
