"""Webhook endpoints and their deliveries, as people manage them in the dashboard."""

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.dashboard.webhooks import EVENTS
from testimonials.integrations.webhooks.endpoints import BUILD_EVENTS
from testimonials.integrations.webhooks.models import WebhookDelivery, WebhookEndpoint

URL = "https://hooks.example.com/testimonials"
SOME = ["testimonial.submitted", "testimonial.approved"]


def add(browser: FlaskClient, project: str, **changes: Any) -> TestResponse:
    base = f"/dashboard/projects/{project}/settings/developers"
    once = re.search(r'name="once" value="(\w+)"', browser.get(f"{base}/webhooks/new").text)
    form = {"once": once[1], "url": URL, "events": SOME} | changes
    return browser.post(f"{base}/webhooks/new", data=form)


def stored(app: Flask) -> WebhookEndpoint:
    """Return the only endpoint."""
    with app.app_context():
        return db.session.scalars(select(WebhookEndpoint)).one()


def fare(app: Flask, **columns: Any) -> None:
    """Let the only endpoint fare as the background work would say."""
    with app.app_context(), write():
        db.session.execute(update(WebhookEndpoint).values(**columns))


@pytest.fixture
def here(project: str) -> str:
    return f"/dashboard/projects/{project}/settings/developers"


def test_a_build_hook_has_no_secret_and_its_own_events(app, browser, project, here):
    every = list(EVENTS)
    added = add(browser, project, template="build", events=every)
    endpoint = stored(app)
    assert (endpoint.template, endpoint.events) == ("build", list(BUILD_EVENTS))
    page = browser.get(added.headers["Location"]).text
    assert "Added. A build starts within a minute of each change." in page
    assert endpoint.secret not in page
    assert "whsec_" not in page
    # They can be changed to fewer.
    form = {"url": URL, "events": ["testimonial.approved"]}
    browser.post(f"{here}/webhooks/{endpoint.id}/change", data=form)
    assert stored(app).events == ["testimonial.approved"]


def test_an_endpoint_is_added_changed_and_removed(app, browser, owner, project, here):
    page = add(browser, project)
    endpoint = stored(app)
    assert f'value="{endpoint.secret}"' in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert (endpoint.url, endpoint.events, endpoint.created_by) == (URL, SOME, owner.email)
    path = f"{here}/webhooks/{endpoint.id}"
    shown = browser.get(path).text
    assert endpoint.secret not in shown
    assert f"whsec_••••••••{endpoint.secret[-4:]}" in shown
    form = browser.get(f"{path}/change").text
    assert re.findall(r'value="([\w.]+)" checked', form) == SOME
    every = re.findall(r'name="events" value="([\w.]+)"', form)
    inside = {"url": "https://10.0.0.1/", "events": every}
    assert browser.post(f"{path}/change", data=inside).status_code == 422
    assert (
        browser.post(f"{path}/change", data={"url": URL + "?x", "events": every}).status_code == 303
    )
    # All of them are also those that come later.
    assert (stored(app).url, stored(app).events) == (URL + "?x", [])
    assert "All, including later ones" in browser.get(path).text
    assert URL in browser.get(f"{here}/webhooks").text.replace("<wbr>", "")
    assert browser.post(f"{path}/remove").status_code == 303
    assert "No endpoint yet" in browser.get(f"{here}/webhooks").text
    assert browser.get(path).status_code == 404


def test_a_secret_is_made_once(app, browser, project, here):
    once = "a" * 24
    add(browser, project, once=once)
    first = stored(app)
    assert add(browser, project, once=once).status_code == 303
    path = f"{here}/webhooks/{first.id}/secret"
    form = {"last_four": first.secret[-4:]}
    page = browser.post(path, data=form)
    second = stored(app)
    assert first.secret != second.secret
    assert f'value="{second.secret}"' in page.text
    assert "The old one also works until" in page.text
    assert browser.post(path, data=form).status_code == 303
    assert stored(app).secret == second.secret


def test_a_form_with_mistakes_adds_none(app, browser, project):
    mistakes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"url": ""}, "Enter the full address, such as https://example.com."),
        ({"url": "hooks.example.com"}, "Enter the full address"),
        ({"url": "http://hooks.example.com"}, "Must start with https://"),
        ({"url": "https://10.0.0.1/x"}, "public internet"),
        ({"url": "https://example.com/" + "x" * 500}, "Shorten this to 500 characters"),
        ({"events": []}, "Choose at least one option."),
        ({"events": ["session.started"]}, "Choose at least one option."),
    )
    for changes, message in mistakes:
        answer = add(browser, project, **changes)
        assert answer.status_code == 422
        assert message in answer.text
    with app.app_context():
        assert db.session.scalars(select(WebhookEndpoint)).all() == []
    add(browser, project)
    answer = add(browser, project)
    assert (answer.status_code, "already has a webhook endpoint" in answer.text) == (409, True)


def test_how_an_endpoint_fares(app, browser, project, here):
    add(browser, project)
    path = f"{here}/webhooks/{stored(app).id}"
    assert "None yet" in browser.get(path).text
    assert "All delivered" in browser.get(here).text
    fare(app, failing_since=clock.now() - timedelta(hours=2))
    assert "Failing since" in browser.get(path).text
    assert "Failing" in browser.get(here).text
    fare(app, is_active=False, switched_off_because="Its server answered 410 <Gone>.")
    page = browser.get(path).text
    assert "<strong>Switched off</strong>. Its server answered 410 &lt;Gone&gt;." in page
    assert browser.post(f"{path}/switch", data={"is_active": "true"}).status_code == 303
    assert stored(app).is_active
    assert browser.post(f"{path}/switch", data={"is_active": "false"}).status_code == 303
    assert not stored(app).is_active


def test_a_delivery_goes_again(app, browser, project, here):
    add(browser, project)
    path = f"{here}/webhooks/{stored(app).id}"
    answer = browser.post(f"{path}/test")
    assert answer.status_code == 303
    page = browser.get(answer.headers["Location"]).text
    assert "On its way" in page
    assert "data-waiting" in page
    now = clock.now()
    with app.app_context():
        lock_for_writing()
        row = db.session.scalars(select(WebhookDelivery)).one()
        tried = {"at": iso(now), "ms": 2100, "status": 503, "error": None, "answer": "<busy>"}
        lost = tried | {"status": None, "error": "It refused the connection.", "answer": ""}
        row.event_type, row.body = "testimonial.approved", '{"type":"x","data":{"text":"<Bread>"}}'
        row.attempts, row.tries = [tried, lost, tried], 3
        row.next_try_at = now + timedelta(minutes=30)
        db.session.commit()
        delivery_id = row.id
    page = browser.get(f"{path}/deliveries/{delivery_id}").text
    assert page.count("503 Service Unavailable") == 2
    for words in (
        "It refused the connection.", "2.1 s", "&lt;busy&gt;", "&lt;Bread&gt;", "Next attempt",
    ):  # fmt: skip
        assert words in page
    assert re.search(r"503 <span class=\"secondary\">Next attempt", browser.get(path).text)
    assert browser.post(f"{path}/deliveries/{delivery_id}").status_code == 303
    with app.app_context():
        again = db.session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id)).all()
        assert [each.event_id for each in again] == [again[0].event_id] * 2


def test_everything_since_a_time_goes_again(app, browser, project, here):
    add(browser, project)
    path, read_to = f"{here}/webhooks/{stored(app).id}", stored(app).read_to
    for wrong in ("", "yesterday", "2026-01-01T00:00+02:00"):
        answer = browser.post(f"{path}/again", data={"since": wrong})
        assert answer.status_code == 422
        assert "Fill in this field." in answer.text
    since = f"{clock.now() - timedelta(days=1):%Y-%m-%dT%H:%M}"
    assert browser.post(f"{path}/again", data={"since": since}).status_code == 303
    assert stored(app).read_to < read_to
