"""Choosing how to hear of new testimonials: for oneself, by everybody in a project."""

import re

import pytest
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_member


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(businessName="Fern & Fable")["_id"])


def chosen(browser: FlaskClient, project: str) -> str:
    answer = browser.get(f"/dashboard/projects/{project}/settings/mail")
    assert answer.status_code == 200
    (mode,) = re.findall(r'name="mode" value="(\w+)" checked', answer.text)
    return str(mode)


def choose(browser: FlaskClient, project: str, mode: str) -> str:
    path = f"/dashboard/projects/{project}/settings/mail"
    answer = browser.post(path, data={"mode": mode})
    assert answer.status_code == 303
    return answer.headers["Location"]


def test_a_choice_is_kept_and_said(browser, project):
    assert chosen(browser, project) == "at_once"
    for mode, value in (("daily", "Once a day"), ("never", "Never"), ("at_once", "Immediately")):
        page = browser.get(choose(browser, project, mode)).text
        assert "Saved" in page
        assert chosen(browser, project) == mode
        # The row of the settings says it.
        assert value in browser.get(f"/dashboard/projects/{project}/settings").text
    choose(browser, project, "never")
    for mode in ("", "often", "AT_ONCE"):
        answer = browser.post(f"/dashboard/projects/{project}/settings/mail", data={"mode": mode})
        assert answer.status_code == 422
        assert "Choose one of the options." in answer.text
    assert chosen(browser, project) == "never"


def test_moderator_choice(app, browser, outsider, project):
    colleague = open_browser(app, outsider)
    add_member(app, project, outsider, "moderator")
    choose(colleague, project, "daily")
    assert chosen(colleague, project) == "daily"
    assert chosen(browser, project) == "at_once"
    account = colleague.get("/dashboard/account/mail").text
    assert "Once a day" in account
    assert f'href="/dashboard/projects/{project}/settings/mail"' in account
