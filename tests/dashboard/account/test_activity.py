"""The record of an account as its owner reads it."""

import csv
import io

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.models import Account
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.dashboard import activity
from tests.auth.browsers import open_browser, sign_in
from tests.conftest import Caller
from tests.core.events import read_events
from tests.support.rows import add_member

HERE = "/dashboard/account/activity"


@pytest.fixture
def busy(app: Flask, client: FlaskClient, owner: Caller, outsider: Caller) -> FlaskClient:
    """The browser of an owner to whom things have happened, by a colleague too."""
    project = owner.create_project(businessName="=Fern & Fable")["_id"]
    sign_in(client, owner.email, "wrong", ip="203.0.113.7")
    add_member(app, project, outsider, "admin")
    colleague = open_browser(app, outsider)
    colleague.post(f"/dashboard/projects/{project}/settings/live", data={"live": "false"})
    colleague.post("/dashboard/account/security/sessions/end")
    return open_browser(app, owner)


def test_owners_read_what_was_done_to_what_is_theirs(app, busy, owner, outsider):
    page = busy.get(HERE).text
    for who, what in (
        (f"An agent (API key ending in {owner.api_key[-4:]})", "created =Fern &amp; Fable"),
        ("Someone", "tried to sign in with a wrong password from 203.0.113.x"),
        (outsider.email, "paused the project in =Fern &amp; Fable from 127.0.0.x"),
    ):
        assert f"<bdi>{who}</bdi></strong> <bdi>{what}" in page
    # What the colleague did to their own account is theirs alone.
    assert "signed out every browser" not in page
    theirs = open_browser(app, outsider).get(HERE).text
    assert "signed out every browser" in theirs
    assert "created =Fern" not in theirs
    # A former colleague is called as the record knew them; their address is not followed.
    project = read_events(app, owner.account_id)[0].project_id
    busy.post(f"/dashboard/projects/{project}/people/{outsider.account_id}/remove")
    with app.app_context(), write():
        db.session.get_one(Account, outsider.account_id).email = "new@example.com"
    assert f"{outsider.email}</bdi></strong> <bdi>paused" in busy.get(HERE).text
    # Whole, whatever part is asked for: it differs each time.
    path, part = f"/dashboard/projects/{project}/activity.csv", {"Range": "bytes=-1"}
    table = busy.get(path, buffered=True, headers=part).text
    assert f"{outsider.email} paused" in table
    # Who has deleted their account isn't.
    erase = ["accounts", "delete", "new@example.com", "--yes"]
    assert app.test_cli_runner().invoke(args=erase).exit_code == 0
    page = busy.get(HERE).text
    former = f"A former user (…{outsider.account_id[-6:]})"
    assert f"{former}</bdi></strong> <bdi>paused" in page
    assert f"ended the role of {outsider.email} (…{outsider.account_id[-6:]})" in page


def test_words_types_and_people_narrow_it(busy, outsider):
    for query, shown in (
        ("", 3),
        ("?q=WRONG+203.0.113", 1),
        ("?type=Sign-ins", 1),
        ("?type=Projects", 2),
        ("?type=Projects&q=paused", 1),
        ("?who=agent", 1),
        ("?who=visitor", 1),
        ("?who=operator", 0),
        (f"?who=person.{outsider.account_id}", 1),
        ("?q=%00", 0),
        # What no page of ours asks for is passed over.
        ("?type=x&who=x.%00&before=%00", 3),
        (f"?before={'0' * 24}", 0),
    ):
        page = busy.get(HERE + query)
        assert page.status_code == 200
        assert page.text.count('class="activity-text"') == shown, query
        rows = busy.get(HERE + ".csv" + query, buffered=True).data.decode("utf-8-sig")
        assert len(rows.splitlines()) == shown + 1, query


def test_a_record_has_pages(app, busy, monkeypatch):
    monkeypatch.setattr(activity, "PAGE_SIZE", 2)
    monkeypatch.setattr(activity, "MAX_SEARCHED", 1)
    first = busy.get(HERE).text
    ids = [event.id for event in read_events(app) if "own" not in event.type][::-1]
    assert first.count('class="activity-text"') == 2
    assert busy.get(f"{HERE}?before={ids[-2]}").text.count('class="activity-text"') == 1
    # Words that the events looked through don't have may stand further back.
    assert "You can look further back" in busy.get(f"{HERE}?q=created").text


def test_the_table_has_no_formula(app, busy, owner):
    with app.app_context(), write():
        for event in read_events(app, owner.account_id):
            db.session.merge(event).network = "=1+1"
    answer = busy.get(f"{HERE}.csv", buffered=True)
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=activity-")
    rows = list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"))))
    assert {row["network"] for row in rows} == {"'=1+1"}
    assert [row["type"] for row in rows] == ["project.paused", "session.refused", "project.created"]
