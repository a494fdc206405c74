"""The owner sees which token wrote, changed and approved a testimonial, and what else it did."""

import re

from flask import Flask

from testimonials.access.scopes import Scope
from tests.access.tokens import give_token
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.shapes import data_of

BODY = {"authorName": "Maya Kowalski", "text": "It simply works."}


def test_history_and_activity_name_the_token(app: Flask, owner: Caller) -> None:
    project = owner.create_project(slug="kiln")["_id"]
    agent, path = give_token(app, owner, Scope.READ, Scope.PUBLISH), f"/v1/projects/{project}"
    one = data_of(agent.post(f"{path}/testimonials", BODY))["_id"]
    many = data_of(agent.post(f"{path}/testimonials/bulk", {"testimonials": [BODY, BODY]}))
    by_key = owner.create_testimonial(project)["_id"]
    assert agent.patch(f"{path}/testimonials/{one}", {"text": "It works."}).status_code == 200
    decision = {"decision": "reject", "ids": [one]}
    assert agent.post(f"{path}/submissions/decisions", decision).status_code == 200
    browser, base = open_browser(app, owner), f"/dashboard/projects/{project}"

    def list_actors(testimonial_id: str) -> list[str]:
        page = browser.get(f"{base}/testimonials/{testimonial_id}").text
        return re.findall(r"<bdi>([^<]+)</bdi>", page.partition('<ol class="history">')[2])

    assert list_actors(one) == ["Helper (access token)"] * 3
    history = data_of(agent.get(f"{path}/testimonials/{one}"))["history"]
    assert [each["by"] for each in history] == ["Helper (access token)"] * 3
    for each in many["results"]:
        assert list_actors(each["testimonialId"]) == ["Helper (access token)"]
    assert list_actors(by_key) == ["An agent (API key)"]
    activity = browser.get("/dashboard/account/activity?q=helper").text
    assert "<bdi>Helper (access token)</bdi>" in activity
    assert 'value="token.' in activity
