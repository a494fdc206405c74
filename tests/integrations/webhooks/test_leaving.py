"""Webhooks of somebody who has left: nothing reaches them until who stays keeps or removes them."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.integrations.webhooks.delivery import Busy, has_due, read_events
from testimonials.integrations.webhooks.models import WebhookEndpoint
from tests.auth.browsers import mails, open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller, MakeCaller
from tests.integrations.webhooks.receiver import Hook, Receiver, add_hook
from tests.support.commands import run_well
from tests.support.rows import add_member, add_workspace_member

pytestmark = pytest.mark.postgres


@pytest.fixture
def admin(app: Flask, owner: Caller, make_caller: MakeCaller) -> Caller:
    found = make_caller("admin@example.com", is_claimed=True)
    project = owner.create_project(slug="oat")["_id"]
    add_member(app, project, found, "admin")
    return found


@pytest.fixture
def hook(app: Flask, owner: Caller, admin: Caller, receiver: Receiver) -> Hook:
    """An endpoint that the admin's program has added, and the owner's token beside it."""
    project = owner.get("/v1/projects").json["data"][0]["_id"]  # type: ignore[index]
    found = add_hook(app, owner, "https://example.com/spare", project=project)
    token = give_token(app, owner, Scope.CONFIGURE, project_id=project, by=admin).headers
    base = found.path.rpartition("/")[0]
    made = owner.client.post(base, headers=token, json={"url": receiver.url}).json["data"]  # type: ignore[index]
    found.call("DELETE")
    found.path, found.secret = f"{base}/{made['_id']}", made["secret"]
    return found


def leave(app: Flask, hook: Hook, owner: Caller, admin: Caller, how: str) -> None:
    base = f"/dashboard/projects/{hook.project}/people/{admin.account_id}"
    browser = open_browser(app, owner)
    if how == "removed":
        assert browser.post(f"{base}/remove", data={"is_sure": "true"}).status_code == 303
    elif how == "demoted":
        assert browser.post(f"{base}/role", data={"role": "moderator"}).status_code == 303
    else:
        run_well(app, "accounts", "delete", admin.email, "--yes")


def left_mails(app: Flask) -> list[str]:
    return [f"{each.recipient} {each.text}" for each in mails(app) if each.purpose == "left-behind"]


@pytest.mark.parametrize("how", ["removed", "demoted", "gone"])
def test_who_is_no_admin_any_more_hears_nothing(app, owner, admin, hook, receiver, how):
    hook.caller.create_testimonial(hook.project)
    with app.app_context():
        # It waits already when they leave.
        read_events()
        assert has_due(Busy())
    leave(app, hook, owner, admin, how)
    with app.app_context():
        assert not has_due(Busy())
    hook.caller.create_testimonial(hook.project)
    hook.deliver()
    hook.deliver()
    assert receiver.bodies == []
    assert {row.state for row in hook.deliveries()} == {"failed"}
    shown = hook.call("GET")
    assert (shown["state"], shown["active"]) == ("paused", False)
    (mail,) = left_mails(app)
    assert mail.startswith(owner.email)
    assert "127.0.0.1" in mail
    # Nothing but keeping it or removing it lets it hear again.
    for method, path, body in (
        ("PATCH", "", {"active": True}), ("POST", "/test", None),
        ("POST", "/redeliver", {"since": "2020-01-01T00:00:00Z"}),
    ):  # fmt: skip
        assert hook.call(method, path, body, 422)["code"] == "ENDPOINT_PAUSED"
    kept = hook.call("POST", "/rotate")
    assert (kept["state"], kept["secret"] == hook.secret) == ("working", False)
    hook.deliver()
    assert receiver.bodies == []
    row = hook.caller.create_testimonial(hook.project)
    hook.deliver()
    assert [each["data"]["_id"] for each in receiver.verify(kept["secret"])] == [row["_id"]]
    # Only the new secret signs.
    assert len(receiver.headers[0]["webhook-signature"].split()) == 1
    assert len(left_mails(app)) == 1


@pytest.mark.parametrize("has_left", [False, True])
def test_a_removed_endpoint_comes_back_unless_its_keeper_has_left(
    app, owner, admin, hook, receiver, has_left
):
    written = [hook.caller.create_testimonial(hook.project)["_id"]]
    with app.app_context():
        # It waits already.
        read_events()
    path = f"/dashboard/projects/{hook.project}/settings/developers/webhooks"
    browser = open_browser(app, owner)
    page = browser.get(browser.post(f"{path}/{hook.row().id}/remove").headers["Location"])
    assert "No endpoint yet" in page.text
    undo = re.findall(r'name="undo" value="(\w+)"', page.text)[0]
    written.append(hook.caller.create_testimonial(hook.project)["_id"])
    if has_left:
        leave(app, hook, owner, admin, "removed")
    # Not beside another one with the same address.
    twin = add_hook(app, owner, receiver.url, project=hook.project)
    assert browser.post(f"{path}/removed/undo", data={"undo": undo}).status_code == 409
    twin.call("DELETE")
    assert browser.post(f"{path}/removed/undo", data={"undo": undo}).status_code == 303
    assert browser.post(f"{path}/removed/undo", data={"undo": undo}).status_code == 422
    hook.deliver()
    assert hook.call("GET")["state"] == ("paused" if has_left else "working")
    # Several are sent at once, in the order of each testimonial alone.
    told = sorted(each["data"]["_id"] for each in receiver.verify(str(hook.secret)))
    assert told == ([] if has_left else written)


def test_who_keeps_a_role_by_another_way_goes_on(app, owner, admin, hook, receiver):
    add_workspace_member(app, owner, admin, "admin")
    leave(app, hook, owner, admin, "removed")
    hook.caller.create_testimonial(hook.project)
    hook.deliver()
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("keeps_team", [True, False])
def test_a_new_owner_decides_about_what_the_former_one_connected(
    app, owner, admin, hook, receiver, keeps_team
):
    add_hook(app, owner, "https://example.com/owners", project=hook.project)
    options = () if keeps_team else ("--without-team",)
    run_well(app, "projects", "transfer", "oat", admin.email, *options)
    hook.token = give_token(app, admin).headers
    base = hook.path.rpartition("/")[0]
    listed = hook.caller.client.get(base, headers=hook.token).json["data"]["items"]  # type: ignore[index]
    states = {each["url"]: each["state"] for each in listed}
    # The admin's own goes on; the former owner's if they stay.
    expected = {
        receiver.url: "working",
        "https://example.com/owners": "working" if keeps_team else "paused",
    }
    assert states == expected
    assert [each.split()[0] for each in left_mails(app)] == [] if keeps_team else [admin.email]
    browser = open_browser(app, admin)
    here = f"/dashboard/projects/{hook.project}/settings/developers"
    assert ("Paused" in browser.get(f"{here}/webhooks").text) is not keeps_team
    if not keeps_team:
        keep(app, browser, here)


def keep(app: Flask, browser: FlaskClient, here: str) -> None:
    """Keep the paused endpoint on the page, which shows its new secret once."""
    with app.app_context():
        query = db.select(WebhookEndpoint).filter_by(is_active=False)
        old = db.session.scalars(query).one()
    path = f"{here}/webhooks/{old.id}"
    assert browser.post(f"{path}/switch", data={"is_active": "true"}).status_code == 422
    page = browser.post(f"{path}/secret", data={"last_four": old.secret[-4:]})
    with app.app_context():
        kept = db.session.get_one(WebhookEndpoint, old.id)
        assert (kept.state, kept.old_secret) == ("working", None)
        assert f'value="{kept.secret}"' in page.text
    assert "Keep" not in page.text
    assert kept.secret not in browser.get(here).text


def test_an_endpoint_that_was_off_stays_so_until_it_is_kept(app, owner, admin, hook):
    hook.call("PATCH", "", {"active": False})
    leave(app, hook, owner, admin, "removed")
    hook.deliver()
    assert hook.call("GET")["state"] == "paused"
