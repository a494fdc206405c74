"""What others are told: which events, about what, in which order, and to whom."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.webhooks.receiver import Hook, Receiver, add_hook, receiving

JSON = {"Accept": "application/json"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Somebody's server."""
    with receiving() as running:
        yield running


@pytest.fixture
def hook(app: Flask, owner: Caller, receiver: Receiver) -> Hook:
    """An endpoint that is told of everything."""
    return add_hook(app, owner, receiver.url)


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    """The owner's browser."""
    return open_browser(app, owner)


def read_told(hook: Hook, **query: Any) -> list[dict[str, Any]]:
    """Return the API's list of events."""
    answer = hook.caller.client.get("/v1/events", headers=hook.token, query_string=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json["data"]["items"])  # type: ignore[index]


def take(hook: Hook, receiver: Receiver) -> list[tuple[str, dict[str, Any]]]:
    """Let everything be sent; return the types and data of what came, verified."""
    hook.deliver()
    came = [(each["type"], each["data"]) for each in receiver.verify(hook.secret)]
    receiver.bodies.clear()
    receiver.headers.clear()
    return came


def test_what_happens_to_a_testimonial_is_told_signed_and_in_order(
    hook: Hook, receiver: Receiver, browser: FlaskClient
) -> None:
    row = hook.caller.create_testimonial(hook.project, text="Warm bread.", rating=5)
    base = f"/dashboard/projects/{hook.project}"
    here = f"{base}/testimonials/{row['_id']}"
    ((type, data),) = take(hook, receiver)
    assert (type, data) == ("testimonial.approved", row)
    for path, form in (
        (here, {"author_name": "Maya", "text": "Warm bread!", "submitted_on": "2024-01-01"}),
        (f"{here}/reply", {"reply": "Thank you"}),
        (f"{here}/highlights", {"words": "bread"}),
        (f"{here}/action", {"action": "pin"}),
        (f"{here}/action", {"action": "reject"}),
        (f"{here}/action", {"action": "delete"}),
        (f"{here}/action", {"action": "restore"}),
        (f"{base}/status", {"status": "paused"}),
    ):
        browser.post(path, data=form)
    told = take(hook, receiver)
    expected = ["updated"] * 4 + ["rejected", "deleted", "updated"]
    of_it = [type.partition(".")[2] for type, data in told if data["_id"] == row["_id"]]
    assert of_it == expected
    # What is sent is as it is now.
    assert {data.get("reply", {}).get("text") for type, data in told if "reply" in data} == {
        "Thank you"
    }
    listed = [each for each in read_told(hook) if "testimonialId" in each]
    assert [each["type"] for each in listed] == ["testimonial.approved"] + [
        f"testimonial.{each}" for each in expected
    ]
    assert {each["testimonialId"] for each in listed} == {row["_id"]}
    assert listed[0]["actor"]["kind"] == "agent"
    assert listed[1]["actor"] == {"kind": "person", "name": "The owner or a colleague"}
