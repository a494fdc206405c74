"""Requests by mail through the API: asking, who was asked, and the truth about mail."""

from typing import Any

import pytest
from flask import Flask

from testimonials.access.scopes import Scope
from tests.access.tokens import TokenCaller, give_token
from tests.auth.links import mails
from tests.conftest import Caller, MakeApp, MakeCaller
from tests.support.rows import everything

PEOPLE = [{"email": "Maya@example.com", "name": "Maya"}, {"email": "ben@example.com"}]


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln")["_id"])


@pytest.fixture
def helper(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.CONFIGURE)


def ask(caller: Caller, project_id: str, **body: Any) -> Any:
    answer = caller.post(f"/v1/projects/{project_id}/requests", {"people": PEOPLE} | body)
    assert answer.status_code == 200, answer.text
    return answer.json["data"]  # type: ignore[index]


def test_people_are_asked_once_in_suggested_words(
    app: Flask, helper: TokenCaller, project_id: str
) -> None:
    assert ask(helper, project_id) == {"count": 2, "leftOut": [], "hasMailServer": False}
    (maya,) = [mail for mail in mails(app) if mail.recipient == "maya@example.com"]
    assert "Kiln" in maya.subject
    assert "Hi Maya," in maya.text
    before = everything(app)
    again = ask(helper, project_id)
    assert again["count"] == 0
    assert [each["email"] for each in again["leftOut"]] == ["maya@example.com", "ben@example.com"]
    assert "asked them already" in again["leftOut"][0]["reason"]
    assert everything(app) == before


def test_the_list_says_what_came_of_each(
    app: Flask, helper: TokenCaller, owner: Caller, project_id: str
) -> None:
    ask(helper, project_id, message="Hello {name}", language="de", remindAfterDays=3)
    path = f"/v1/projects/{project_id}/requests"
    first = helper.get(f"{path}?limit=1").json["data"]
    second = helper.get(f"{path}?limit=1&after={first['next']}").json["data"]
    assert second["next"] is None
    found = first["items"] + second["items"]
    assert {each["email"] for each in found} == {"maya@example.com", "ben@example.com"}
    assert {each["state"] for each in found} == {"waiting"}
    assert helper.get(f"{path}?state=answered").json["data"]["items"] == []
    one = f"{path}/{found[0]['_id']}"
    assert helper.get(one).json["data"] == found[0]
    assert helper.get(one.replace(project_id, owner.create_project()["_id"])).status_code == 404
    assert helper.delete(one).json["data"] == {"deletedCount": 1}
    assert (helper.delete(one).status_code, len(mails(app))) == (404, 1)


def test_the_key_proposes_and_nobody_gets_mail(app: Flask, owner: Caller, project_id: str) -> None:
    answer = owner.post(f"/v1/projects/{project_id}/requests", {"people": PEOPLE})
    assert (answer.status_code, answer.json["data"]["kind"]) == (202, "request")
    assert mails(app) == []
    assert owner.get(f"/v1/projects/{project_id}/requests").status_code == 403
    reader = give_token(app, owner, Scope.READ)
    assert reader.get(f"/v1/projects/{project_id}/requests").status_code == 403


def test_the_limit_is_the_dashboards(make_app: MakeApp, make_caller: MakeCaller) -> None:
    app = make_app(invitations_per_day=1)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    helper, project = give_token(app, owner), owner.create_project()["_id"]
    path, before = f"/v1/projects/{project}/requests", everything(app)
    answer = helper.post(path, {"people": PEOPLE})
    assert (answer.status_code, answer.json["code"]) == (422, "ASKING_REFUSED")
    for people in ([], [{"email": "x"}], PEOPLE * 51, [{"name": "Maya"}], "x@example.com"):
        assert helper.post(path, {"people": people}).status_code == 400, people
    assert everything(app) == before
