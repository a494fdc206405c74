"""What is rated, as Settings takes it: off by default, and honest about what it is good for."""

import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.conftest import Caller


@pytest.fixture
def project(owner: Caller) -> str:
    project_id: str = owner.create_project(slug="fern", businessName="Fern")["_id"]
    owner.create_testimonial(project_id, text="Two words.", rating=4)
    return project_id


def save(browser: FlaskClient, project: str, kind: str, name: str) -> TestResponse:
    return browser.post(f"/dashboard/projects/{project}/rated", data={"kind": kind, "name": name})


def data_on(client: FlaskClient, address: str) -> Any:
    found = re.search(
        r'<script type="application/ld\+json">(.*?)</script>', client.get(address).text, re.DOTALL
    )
    return json.loads(found[1]) if found else None


def test_it_is_off_until_named(client: FlaskClient, browser: FlaskClient, project: str) -> None:
    page = browser.get(f"/dashboard/projects/{project}/settings").text
    for words in ('value="Product"', "They never promise to.", "For a business or an organisation"):
        assert words in page
    assert not re.search(r'<option value="\w+" selected', page)
    addresses = ("/fern/wall", f"/widget/{project}", f"/widget/{project}/fragment")
    assert [data_on(client, each) for each in addresses] == [None, None, None]
    answer = save(browser, project, "Course", "  Cutting <hair> ")
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert "Your choice is saved." in page
    assert '<option value="Course" selected>' in page
    assert 'value="Cutting &lt;hair&gt;"' in page
    for each in addresses:
        data = data_on(client, each)
        assert (data["@type"], data["name"]) == ("Course", "Cutting <hair>")
        assert data["aggregateRating"]["ratingCount"] == 1
    assert save(browser, project, "", "Cutting").status_code == 303
    assert [data_on(client, each) for each in addresses] == [None, None, None]


def test_what_means_nothing_is_refused(
    client: FlaskClient, browser: FlaskClient, project: str
) -> None:
    for kind, name, field, rule in (
        ("LocalBusiness", "Fern", "kind", "Choose one of the options."),
        ("Product", "  ", "name", "Write the name of what is rated."),
        ("Product", "x" * 121, "name", "Shorten this to 120 characters; it has 121."),
    ):
        answer = save(browser, project, kind, name)
        assert answer.status_code == 422
        assert f'<a href="#rated-{field}">{rule}' in answer.text
    assert data_on(client, "/fern/wall") is None
