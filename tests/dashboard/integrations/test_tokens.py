"""Access tokens as people make and revoke them, and the record of who did what in a project."""

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.models import AccessToken
from testimonials.core import clock
from testimonials.core.extensions import db
from tests.auth.browsers import open_browser
from tests.collection.authors.authors import Visitor
from tests.support.rows import add_member, read_testimonials

FORM = {"name": "Shop assistant", "scopes": ["read", "draft"], "ends": "90"}


def make(browser: FlaskClient, project: str, /, **changes: Any) -> TestResponse:
    """Open the form and send it, with the project itself unless told otherwise."""
    base = f"/dashboard/projects/{project}/settings/developers"
    once = re.search(r'name="once" value="(\w+)"', browser.get(f"{base}/tokens/new").text)
    form = {"once": once[1], "project": project} | FORM | changes
    return browser.post(f"{base}/tokens/new", data=form)


def read_token(page: TestResponse) -> str:
    found = re.search(r'value="(tst_tok_\w+)"', page.text)
    assert found, page.text
    return found[1]


def stored(app: Flask) -> list[AccessToken]:
    """Return every token, oldest first."""
    with app.app_context():
        return list(db.session.scalars(select(AccessToken).order_by(AccessToken.id)))


def test_a_token_works_until_it_is_revoked(app, browser, owner, project):
    base = f"/dashboard/projects/{project}/settings/developers"
    assert "Let an agent do the chores" in browser.get(f"{base}/tokens").text
    page = make(browser, project)
    token = read_token(page)
    assert page.headers["Cache-Control"] == "no-store"
    me = app.test_client().get("/v1/projects", headers={"Authorization": f"Bearer {token}"})
    assert me.status_code in (200, 403), me.text
    shown = browser.get(f"{base}/tokens").text
    assert "Shop assistant" in shown
    assert f"created by <bdi>{owner.email}</bdi>" in shown
    assert token not in shown
    assert "Publish</span>" not in shown
    # Settings, API: the account's id and the end of its key.
    assert f'id="account-id" dir="ltr">{owner.account_id}<' in shown
    assert f"••••{owner.api_key[-4:]}" in shown
    row = stored(app)[0]
    assert (row.scopes, row.project_id, row.client) == (["read", "draft"], project, "manual")
    assert row.expires_at
    assert (row.expires_at - row.created_at).total_seconds() == pytest.approx(90 * 86400, abs=1)
    path = f"{base}/tokens/{row.id}/revoke"
    assert "Revoke “<bdi>Shop assistant</bdi>”?" in browser.get(path).text
    assert stored(app)[0].revoked_at is None
    assert browser.post(path).status_code == 303
    answer = app.test_client().get("/v1/projects", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    assert "Shop assistant" not in browser.get(f"{base}/tokens").text


def test_a_form_makes_one_at_most(app, browser, project):
    once = "a" * 24
    assert read_token(make(browser, project, once=once))
    again = make(browser, project, once=once)
    assert again.status_code == 303
    assert "shown once" in browser.get(again.headers["Location"]).text
    assert len(stored(app)) == 1
    make(browser, project, once="b" * 24)
    assert len(stored(app)) == 2
    mistakes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"name": " "}, "Fill in this field."),
        ({"name": "x" * 81}, "Shorten this to 80 characters"),
        ({"scopes": []}, "Choose at least one option."),
        ({"scopes": ["admin"]}, "Choose at least one option."),
        ({"ends": "36500"}, "Choose one of the options."),
        ({"project": "0" * 24}, "Choose one of the options."),
    )
    for changes, message in mistakes:
        answer = make(browser, project, **changes)
        assert answer.status_code == 422
        assert message in answer.text
    assert len(stored(app)) == 2


def test_admins_make_tokens_for_their_project_alone(app, browser, owner, outsider, project):
    add_member(app, project, outsider, "admin")
    other = owner.create_project(slug="other")["_id"]
    colleague = open_browser(app, outsider)
    for wrong in ("all", other):
        assert make(colleague, project, project=wrong).status_code == 422
    read_token(make(colleague, project, name="Theirs"))
    read_token(make(browser, project, name="Everywhere", project="all"))
    assert [row.project_id for row in stored(app)] == [project, None]
    theirs, everywhere = stored(app)
    base = f"/dashboard/projects/{project}/settings/developers"
    shown = colleague.get(f"{base}/tokens").text
    assert "Everywhere" not in shown
    assert owner.account_id not in shown
    assert f"created by <bdi>{outsider.email}</bdi>" in browser.get(f"{base}/tokens").text
    for method in ("get", "post"):
        answer = getattr(colleague, method)(f"{base}/tokens/{everywhere.id}/revoke")
        assert answer.status_code == 404
    assert colleague.post(f"{base}/tokens/{theirs.id}/revoke").status_code == 303


def test_it_names_what_is_unused_or_over(app, browser, owner, project, monkeypatch):
    make(browser, project, name="Idle", ends="365")
    make(browser, project, name="Over", ends="30")
    later = clock.now() + timedelta(days=91)
    monkeypatch.setattr(clock, "now", lambda: later)
    page = (
        open_browser(app, owner)
        .get(f"/dashboard/projects/{project}/settings/developers/tokens")
        .text
    )
    over, idle = page.split('<details class="fold"')[1:]
    assert "Unused for 90 days" in idle
    assert '<span class="state-expired">Ended</span>' in over


def test_a_link_fills_the_form_in(browser, project):
    query = "?name=Claude+%3Cb%3E&scopes=read,configure,root"
    answer = browser.get(f"/dashboard/tokens/new{query}", follow_redirects=True)
    assert (answer.status_code, 'value="Claude &lt;b&gt;"' in answer.text) == (200, True)
    assert re.findall(r'value="(\w+)" checked', answer.text) == ["read", "configure"]
    assert "An agent filled this in" in answer.text


def test_of_many_projects_the_newest_and_this_one_can_be_chosen(
    browser, owner, project, monkeypatch
):
    monkeypatch.setattr("testimonials.projects.projects.LISTED_PROJECTS", 2)
    newer = [str(owner.create_project(slug=f"shop-{each}")["_id"]) for each in range(3)]
    page = browser.get(f"/dashboard/projects/{project}/settings/developers/tokens/new").text
    options = page.partition('id="token-project"')[2].partition("</select>")[0]
    assert re.findall(r'<option value="(\w+)"', options) == [project, newer[2], newer[1], "all"]
    read_token(make(browser, project))
    assert make(browser, project, project=newer[0]).status_code == 422


def test_a_testimonial_names_who_wrote_changed_and_approved_it(app, browser, owner, project):
    client = app.test_client()
    token = read_token(make(browser, project, scopes=["publish"]))
    bearer = {"Authorization": f"Bearer {token}"}
    base = f"/v1/projects/{project}/testimonials"
    added = client.post(base, json={"authorName": "Mia", "text": "Bread"}, headers=bearer)
    written = f"/dashboard/projects/{project}/testimonials/{added.get_json()['data']['_id']}"
    form = {"author_name": "Mia", "text": "Good bread", "submitted_on": "2026-01-01"}
    assert browser.post(written, data=form).status_code == 303
    assert read_hands(browser, written) == (
        f"Added by Shop assistant (access token) · Changed last by {owner.email}"
    )
    Visitor(client, project, "fern").write(text="Rolls")
    sent = next(row.id for row in read_testimonials(app, project) if row.text == "Rolls")
    client.patch(f"{base}/{sent}", json={"tags": ["rolls"]}, headers=bearer)
    path = f"/dashboard/projects/{project}/testimonials/{sent}"
    browser.post(f"{path}/action", data={"action": "approve"})
    assert read_hands(browser, path) == (
        "Sent by its author · Changed last by Shop assistant (access token) · "
        f"Approved by {owner.email}"
    )


def read_hands(browser: FlaskClient, path: str) -> str:
    """Return the line above a testimonial's history."""
    line = (
        browser.get(path)
        .text.partition('<ol class="history">')[0]
        .rpartition('<p class="hint">')[2]
    )
    return " ".join(re.sub("<[^>]+>", "", line).split())


def test_admins_read_who_did_what_in_their_project_alone(app, browser, owner, outsider, project):
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
    place = f"{base}/settings/developers/activity"
    page = colleague.get(place).text
    assert "Bot &lt;b&gt; (access token)</bdi>" in page
    assert "hanged the widget" in page
    assert "An agent (API key)</bdi>" in page
    for hidden in (owner.api_key[-4:], "127.0.0", "Other", "A secret recipe"):
        assert hidden not in page, hidden
    assert "<bdi>Grace</bdi></a>" in page
    # The row that leads there has the newest.
    assert "An agent (API key)</bdi>" in colleague.get(f"{base}/settings/developers").text
    for who, shown in (("agents", True), ("people", False), ("rules", False), ("x", True)):
        assert ("hanged the widget" in colleague.get(f"{place}?who={who}").text) == shown, who
    table = colleague.get(f"{base}/activity.csv?who=agents").text
    rows = list(csv.DictReader(io.StringIO(table.lstrip("\ufeff"))))
    assert {row["actorKind"] for row in rows} == {"agent", "token"}
    assert {row["network"] for row in rows} == {""}
    assert {row["projectId"] for row in rows} == {project}
    assert owner.api_key[-4:] not in table
