"""Tags and undoing, by agents with tokens."""

from typing import Any

import pytest
from flask import Flask

from testimonials.access.scopes import Scope
from tests.access.tokens import TokenCaller, give_token
from tests.conftest import Caller
from tests.support.rows import add_testimonial, change_project, read_project, read_testimonials


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project()["_id"])


@pytest.fixture
def helper(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.READ, Scope.PUBLISH)


def tags_of(app: Flask, helper: Caller, project_id: str) -> list[list[str]]:
    path = f"/v1/projects/{project_id}/submissions?status=all"
    items: Any = helper.get(path).json
    return [item["tags"] for item in items["data"]["items"]]


def test_renaming_a_tag_joins_it_with_another_and_takes_the_widgets_along(
    app: Flask, helper: TokenCaller, project_id: str
) -> None:
    for tags in (["a/b"], ["a/b", "Press"], ["Press"]):
        add_testimonial(app, project_id, tags=tags)
    change_project(app, project_id, widget_design={"tags": ["a/b"]})
    path = f"/v1/projects/{project_id}/tags"
    listed = helper.get(path).json["data"]
    assert {tag["name"]: tag["count"] for tag in listed}["a/b"] == 2
    answer = helper.patch(f"{path}/a%2Fb", {"name": "Case study"})
    assert answer.json["data"] == {"name": "Case study", "count": 2}
    assert tags_of(app, helper, project_id) == [["Press"], ["Case study", "Press"], ["Case study"]]
    assert read_project(app, project_id).widget_design == {"tags": ["Case study"]}
    assert helper.patch(f"{path}/a%2Fb", {"name": "x"}).status_code == 404
    assert helper.patch(f"{path}/Case%20study", {"name": "a, b"}).status_code == 422
    answer = helper.patch(f"{path}/case%20STUDY", {"name": "Press"})
    assert answer.json["data"]["count"] == 2
    assert [len(tags) for tags in tags_of(app, helper, project_id)] == [1, 1, 1]


def test_a_removed_tag_comes_back_by_undo_once(
    app: Flask, helper: TokenCaller, outsider: Caller, project_id: str
) -> None:
    add_testimonial(app, project_id, tags=["press"])
    answer = helper.delete(f"/v1/projects/{project_id}/tags/PRESS")
    assert answer.json["data"]["count"] == 1
    assert tags_of(app, helper, project_id) == [[]]
    body = {"undo": answer.json["data"]["undo"]}
    theirs = outsider.create_project()["_id"]
    stranger = give_token(app, outsider)
    assert stranger.post(f"/v1/projects/{theirs}/undo", body).status_code == 409
    answer = helper.post(f"/v1/projects/{project_id}/undo", body)
    assert answer.json["data"] == {"undoneCount": 1}
    assert tags_of(app, helper, project_id) == [["press"]]
    assert helper.post(f"/v1/projects/{project_id}/undo", body).status_code == 409
    assert len(read_testimonials(app, project_id)) == 1
