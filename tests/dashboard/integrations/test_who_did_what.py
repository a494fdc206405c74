"""The record of one project, as its administrators read it."""

import csv
import io

from flask import Flask
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.dashboard.integrations.test_tokens import make, read_token
from tests.support.rows import add_member


def test_admins_read_who_did_what_in_their_project_alone(
    app: Flask, browser: FlaskClient, owner: Caller, outsider: Caller, project: str
) -> None:
    base = f"/dashboard/projects/{project}"
    owner.create_project(slug="other", businessName="Other & Co")
    token = read_token(make(browser, project, scopes=["configure"], name="Bot <b>"))
    sent = {"layout": "list"}
    bearer = {"Authorization": f"Bearer {token}"}
    path = f"/v1/projects/{project}/widget-config"
    assert app.test_client().patch(path, json=sent, headers=bearer).status_code == 200
    owner.create_testimonial(project, authorName="Grace", text="A secret recipe")
    add_member(app, project, outsider, "admin")
    colleague = open_browser(app, outsider)
    for place in ("integrations", "activity"):
        page = colleague.get(f"{base}/{place}").text
        assert "Bot &lt;b&gt; (access token)</bdi>" in page
        assert "hanged the widget" in page
        assert "An agent (API key)</bdi>" in page
        for hidden in (owner.api_key[-4:], "127.0.0", "Other", "A secret recipe"):
            assert hidden not in page, (place, hidden)
    assert ">Grace</bdi></a>" in colleague.get(f"{base}/integrations").text
    for who, shown in (("agents", True), ("people", False), ("rules", False), ("x", True)):
        for place in ("integrations", "activity"):
            page = colleague.get(f"{base}/{place}?who={who}").text
            assert ("hanged the widget" in page) == shown, (place, who)
    table = colleague.get(f"{base}/activity.csv?who=agents").text
    rows = list(csv.DictReader(io.StringIO(table.lstrip("\ufeff"))))
    assert {row["actorKind"] for row in rows} == {"agent", "token"}
    assert {row["network"] for row in rows} == {""}
    assert {row["projectId"] for row in rows} == {project}
    assert owner.api_key[-4:] not in table
