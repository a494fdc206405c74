"""GET /widget/:id: the page that shows one project's widget by itself."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Caller
from tests.support.rows import expire_account


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln & Clay")["_id"])


def _page(client: FlaskClient, project_id: str) -> str:
    answer = client.get(f"/widget/{project_id}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return str(answer.text)


def test_holds_the_script_and_a_container_for_it(
    client: FlaskClient, owner: Caller, project_id: str
) -> None:
    owner.create_testimonial(project_id)
    snippet = owner.get(f"/v1/projects/{project_id}/embed-snippet").json["data"]
    page = _page(client, project_id)
    assert snippet["script"] in page
    assert f'<div data-testimonials-project="{project_id}">' in page


def test_may_be_framed_and_runs_no_script_but_ours(client: FlaskClient, project_id: str) -> None:
    policy = client.get(f"/widget/{project_id}").headers["Content-Security-Policy"]
    assert "frame-ancestors *" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_an_unknown_project_and_one_past_its_days_are_404(
    app: Flask, client: FlaskClient, agent: Caller
) -> None:
    project_id = agent.create_project()["_id"]
    _page(client, project_id)
    expire_account(app, agent.account_id)
    for reference in (project_id, "0" * 24, "x", "%00", f"{project_id}/"):
        assert client.get(f"/widget/{reference}").status_code == 404, reference
