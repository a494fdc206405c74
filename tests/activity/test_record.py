"""The record of what happened: who, from where, what, and how it stays small."""

import functools
from unittest.mock import patch

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from testimonials.activity import services
from testimonials.activity.actors import Actor, ActorKind
from testimonials.activity.event_types import EventType
from testimonials.extensions import db
from tests.activity.events import read_events, read_types
from tests.auth.browsers import FIREFOX, sign_in
from tests.conftest import Caller, MovableClock


def test_signing_in_and_out_says_who_from_where_and_with_what(
    app: Flask, client: FlaskClient, owner: Caller
) -> None:
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


def test_refused_sign_ins_of_an_hour_are_counted_by_network(
    app: Flask, client: FlaskClient, owner: Caller, moved_clock: MovableClock
) -> None:
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


def test_many_networks_are_counted_as_one(
    app: Flask, client: FlaskClient, owner: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_NETWORKS", 2)
    for third in (1, 2, 3, 4, 1):
        sign_in(client, owner.email, "wrong", ip=f"10.0.{third}.1")
    found = [(each.network, each.times) for each in read_events(app, owner.account_id)]
    assert found == [("10.0.1.0/24", 2), ("10.0.2.0/24", 1), (None, 2)]


def test_ids_rise_though_a_clock_is_put_back(
    app: Flask, client: FlaskClient, owner: Caller
) -> None:
    sign_in(client, owner.email)
    with patch("testimonials.core.identifiers.time.time_ns", return_value=10**18):
        sign_in(client, owner.email)
        client.post("/logout")
    assert read_types(app, owner.account_id) == [*["session.started"] * 2, "session.ended"]


def test_a_record_has_one_writer_at_a_time(app: Flask, backend: str, owner: Caller) -> None:
    """Else an id could become visible after a greater one, and who reads on from that misses it."""
    if backend == "sqlite":
        pytest.skip("SQLite has one writer anyway.")
    add = functools.partial(
        services.add_event, EventType.SESSION_ENDED, owner.account_id, None,
        Actor(ActorKind.SYSTEM), None, {},
    )  # fmt: skip
    with app.app_context():
        add()
        with app.app_context():
            db.session.execute(text("SET LOCAL lock_timeout = 100"))
            with pytest.raises(OperationalError):
                add()
        db.session.commit()
    assert len(read_events(app, owner.account_id)) == 1
