"""The record of what happened: who, from where, what, by which door, and how it stays small."""

import functools
import threading
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from testimonials.auth.events import KEY_REPLACED, SESSION_ENDED, SESSION_REFUSED
from testimonials.core import audit, event_lists
from testimonials.core.audit import Actor, ActorKind, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.operations.expiry import sweep
from testimonials.projects.events import PROJECT_PAUSED, PROJECT_RESUMED
from testimonials.projects.projects import lock_project
from tests.auth.browsers import FIREFOX, mailed_path, open_browser, sign_in
from tests.conftest import PASSWORD
from tests.core.events import read_events, read_history, read_types
from tests.dashboard.widget.test_editor import publish as publish_widget
from tests.dashboard.widget.test_editor import save as save_widget
from tests.support.commands import run_json, run_well
from tests.support.plans import explain_statements
from tests.support.rows import add_member, change_project, read_testimonials
from tests.support.servers import PATIENCE

pytestmark = pytest.mark.postgres


def test_signing_in_says_who_where_and_how(app, client, owner):
    with client:
        client.environ_base["HTTP_USER_AGENT"] = FIREFOX
        sign_in(client, owner.email, ip="203.0.113.77")
        client.post("/logout", environ_base={"REMOTE_ADDR": "2001:db8:1:2::3"})
    started, ended = read_events(app, owner.account_id)
    assert (started.type, ended.type) == ("session.started", "session.ended")
    assert (started.network, ended.network) == ("203.0.113.0/24", "2001:db8:1::/48")
    for event in (started, ended):
        assert (event.actor_kind, event.actor_name) == ("person", owner.account_id)
    assert started.details == {"browser": "Firefox on Linux", "means": "password"}


def test_refused_sign_ins_of_an_hour_are_counted_by_network(app, client, owner, moved_clock):
    for last in (1, 2, 3):
        sign_in(client, owner.email, "wrong", ip=f"203.0.113.{last}")
    sign_in(client, owner.email, "wrong", ip="198.51.100.1")
    sign_in(client, "nobody@example.com", "wrong", ip="198.51.100.1")
    found = [(each.network, each.times) for each in read_events(app, owner.account_id)]
    assert found == [("203.0.113.0/24", 3), ("198.51.100.0/24", 1)]
    # An address that nobody has is written down just the same, without the address.
    (unknown,) = read_events(app, None)
    assert (unknown.type, unknown.actor_kind, unknown.details) == ("session.refused", "visitor", {})
    moved_clock.move(hours=1, minutes=1)
    sign_in(client, owner.email, "wrong", ip="203.0.113.1")
    assert len(read_events(app, owner.account_id)) == 3


def test_many_networks_are_counted_as_one(app, client, owner, monkeypatch):
    monkeypatch.setattr(audit, "MAX_NETWORKS", 2)
    for third in (1, 2, 3, 4, 1):
        sign_in(client, owner.email, "wrong", ip=f"10.0.{third}.1")
    found = [(each.network, each.times) for each in read_events(app, owner.account_id)]
    assert found == [("10.0.1.0/24", 2), ("10.0.2.0/24", 1), (None, 2)]


def test_ids_rise_though_clocks_go_back(app, client, owner):
    sign_in(client, owner.email)
    with patch("testimonials.core.db.identifiers.time.time_ns", return_value=10**18):
        sign_in(client, owner.email)
        client.post("/logout")
    assert read_types(app, owner.account_id) == [*["session.started"] * 2, "session.ended"]


def test_a_record_has_one_writer_at_a_time(app, backend, owner):
    """Else an id could become visible after a greater one, and who reads on from that misses it."""
    if backend == "sqlite":
        pytest.skip("SQLite has one writer anyway.")
    add = functools.partial(
        audit.record, SESSION_ENDED, owner.account_id, Actor(ActorKind.SYSTEM)
    )  # fmt: skip
    with app.app_context():
        add()
        with app.app_context():
            db.session.execute(text("SET LOCAL lock_timeout = 100"))
            with pytest.raises(OperationalError):
                add()
        db.session.commit()
    assert len(read_events(app, owner.account_id)) == 1


def test_who_waits_for_a_project_holds_no_record(app, backend, owner):
    """Else whoever has locked it, and records something then, would wait for them for ever."""
    if backend == "sqlite":
        pytest.skip("SQLite has one writer anyway.")
    place = audit.Place(owner.account_id, owner.create_project()["_id"])

    def record_beside() -> None:
        with app.app_context(), write():
            audit.record(PROJECT_PAUSED, place)

    with app.app_context(), write():
        lock_project(place.id or "")
        beside = threading.Thread(target=record_beside, daemon=True)
        beside.start()
        beside.join(0.5)
        assert beside.is_alive()
        audit.record(PROJECT_RESUMED, place)
    beside.join(PATIENCE)
    types = read_types(app, owner.account_id)
    assert types == ["project.created", "project.resumed", "project.paused"]


def test_what_is_old_is_forgotten(app, client, owner, moved_clock):
    sign_in(client, owner.email)
    for days, networks in ((89, ["10.0.0.0/24"]), (2, [None])):
        moved_clock.move(days=days)
        with app.app_context():
            sweep()
        assert [each.network for each in read_events(app, owner.account_id)] == networks
    moved_clock.move(days=310)
    with app.app_context():
        sweep()
    assert read_events(app) == []


def test_a_deleted_account_leaves_a_line_alone(app, browser, owner, outsider):
    project = outsider.create_project()["_id"]
    add_member(app, project, owner, "moderator")
    owner.create_project(businessName="Secret Salon")
    browser.post("/dashboard/account/delete", data={"confirm": owner.email})
    assert read_types(app, owner.account_id) == []
    (line,) = read_events(app, None)
    assert (line.type, line.details) == ("account.deleted", {"account": owner.account_id})
    # The owner of a project that they worked in reads that somebody left, not who it was.
    left = read_events(app, outsider.account_id)[-1]
    assert (left.type, left.project_id, left.details) == ("member.left", project, {})
    assert owner.email not in run_well(app, "activity", "list")


def test_an_operator_reads_and_narrows_the_record(app, client, owner, outsider):
    client.environ_base["HTTP_USER_AGENT"] = FIREFOX
    sign_in(client, owner.email, ip="203.0.113.9")
    outsider.create_project(businessName="=1+1")
    run_well(app, "accounts", "rotate-key", outsider.email)
    rows = run_json(app, "activity", "list")
    assert [row["sentence"] for row in rows] == [
        "The operator (accounts rotate-key) replaced the API key",
        f"An agent (API key ending in {outsider.api_key[-4:]}) created =1+1 from 127.0.0.x",
        f"{owner.email} signed in by password from 203.0.113.x with Firefox on Linux",
    ]
    narrowed = run_json(app, "activity", "list", "--account", owner.email, "--type", "session")
    assert [row["type"] for row in narrowed] == ["session.started"]
    assert "There are no events." in run_well(app, "activity", "list", "--since", "2999-01-01")


def test_each_statement_finds_its_rows_by_an_index(app, backend, owner):
    if backend == "postgresql":
        pytest.skip("PostgreSQL reads a small table whole, whatever indexes it has.")

    def work() -> None:
        audit.record(SESSION_REFUSED, owner.account_id, Actor(ActorKind.VISITOR))
        wanted = audit.Event.type.in_([KEY_REPLACED]), audit.Event.id < "f" * 24
        list(event_lists.list_events(*wanted, limit=50, account_id=owner.account_id))
        event_lists.forget_networks(1000)
        event_lists.delete_old_events(1000)

    with app.app_context():
        plans = explain_statements(db.engine, work, "event")
    assert len(plans) == 6
    assert [plan for plan in plans if "SCAN event" in plan] == []


NEW = "four green armchairs"


def test_what_owners_do_to_their_account_is_recorded(app, owner):
    browser, here = open_browser(app, owner), "/dashboard/account"
    for path, form in (
        ("security/password", {"current": "wrong", "password": NEW}),
        ("security/password", {"current": PASSWORD, "password": NEW, "replace_key": "1"}),
        ("key", {}),
        ("export", {}), ("email", {"email": "new@example.com"}),
    ):  # fmt: skip
        answer = browser.post(f"{here}/{path}", data=form, buffered=True)
        assert answer.status_code in (200, 303, 422)
    browser.post(mailed_path(app, "email-change"))
    events = read_events(app, owner.account_id)
    assert [event.type for event in events] == [
        "password.refused", "password.changed", "key.replaced", "key.replaced", "account.exported",
        "address.requested", "address.changed",
    ]  # fmt: skip
    assert events[-1].details == {"old": owner.email, "email": "new@example.com"}
    assert {(each.actor_kind, each.actor_name) for each in events} == {("person", owner.account_id)}
    told = "".join(str(each.details) for each in events)
    assert PASSWORD not in told
    assert NEW not in told


def test_the_owners_record_says_what_is_done(app, owner, outsider):
    project = owner.create_project(slug="fern")["_id"]
    owner.create_testimonial(project, text="A secret recipe")
    owner.patch(f"/v1/projects/{project}/widget-config", {"layout": "list"})
    owner.patch(f"/v1/projects/{project}/widget-config", {})
    browser, base = open_browser(app, owner), f"/dashboard/projects/{project}"
    invited = {"email": outsider.email, "role": "moderator"}
    browser.post(f"{base}/people", data=invited)
    colleague = open_browser(app, outsider)
    colleague.post(mailed_path(app, "invitation"))
    browser.post(f"{base}/people/{outsider.account_id}/role", data={"role": "admin"})
    # A draft leaves no event; publishing it does.
    for theme in ("dark", "light"):
        save_widget(colleague, project, theme=theme)
        publish_widget(colleague, project)
    colleague.post(f"{base}/inbox/bulk?status=all", data={"action": "delete", "all": "true"})
    colleague.post(f"{base}/people/leave")
    browser.post(f"{base}/settings/address", data={"slug": "fable"})
    browser.post(f"{base}/export/csv", buffered=True)
    browser.post(f"{base}/settings/delete", data={"confirm": "fable"})
    events = read_events(app, owner.account_id)
    told = [(each.type, each.actor_kind, each.actor_name) for each in events]
    agent = ("agent", owner.api_key[-4:])
    person, other = ("person", owner.account_id), ("person", outsider.account_id)
    assert told == [
        ("project.created", *agent), ("testimonial.created", *agent), ("widget.changed", *agent),
        ("invitation.sent", *person), ("invitation.accepted", *other), ("member.changed", *person),
        ("widget.changed", *other), ("testimonial.deleted", *other), ("member.left", *other),
        ("project.renamed", *person), ("project.exported", *person), ("project.deleted", *person),
    ]  # fmt: skip
    assert {each.project_id for each in events} == {project}
    assert events[6].times == 2
    assert "recipe" not in "".join(str(each.details) for each in events)
    assert read_types(app, outsider.account_id) == []


def test_what_cannot_be_recorded_is_not_done(app, owner):
    project = owner.create_project()["_id"]
    body = {"authorName": "Maya", "text": "It works."}
    rename(app, "event", "elsewhere")
    try:
        answer = owner.post(f"/v1/projects/{project}/testimonials", body)
    finally:
        rename(app, "elsewhere", "event")
    assert answer.status_code >= 500
    assert read_testimonials(app, project) == []


def rename(app: Flask, table: str, name: str) -> None:
    with app.app_context():
        db.session.execute(text(f"ALTER TABLE {table} RENAME TO {name}"))
        db.session.commit()


def test_what_is_only_tried_is_forgotten(app, owner):
    """A proposal is made and taken back first; what comes after must not see it."""
    project_id = owner.create_project()["_id"]
    with app.app_context(), write(lambda: lock_project(project_id)) as project:
        trial = db.session.begin_nested()
        project.status = "inactive"
        record(PROJECT_PAUSED, project)
        trial.rollback()
        assert project.status == "active"


def test_a_testimonials_history_outlives_who_had_it(app, owner, outsider):
    """It goes with the testimonial, not with the account that the project was handed over from."""
    project = owner.create_project()["_id"]
    row = owner.create_testimonial(project)["_id"]
    change_project(app, project, account_id=outsider.account_id)
    run_well(app, "accounts", "delete", owner.email, "--yes")
    (added,) = read_history(app)
    assert (added.testimonial_id, added.action, added.number) == (row, "add", 2)
    # Nobody is told of what was the other account's.
    assert (added.account_id, added.type) == (None, "")
    assert row not in run_well(app, "activity", "list", "--json")
    run_well(app, "projects", "delete", project, "--yes")
    assert read_history(app) == []
