"""POST .../testimonials/bulk: up to a hundred at once, each answered for itself."""

import re
from datetime import UTC, datetime, time
from typing import Any

import pytest

from testimonials.auth.tokens import Scope
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.core.events import read_events
from tests.support.racing import at_once
from tests.support.rows import everything, read_testimonials

pytestmark = [pytest.mark.postgres, pytest.mark.recount]

GOOD = {"authorName": "Maya Kowalski", "text": "It simply works."}


def add(caller: Caller, project_id: str, *items: Any) -> list[dict[str, Any]]:
    answer = caller.post(f"/v1/projects/{project_id}/testimonials/bulk", {"testimonials": items})
    assert answer.status_code == 200, answer.text
    return list(answer.json["data"]["results"])  # type: ignore[index]


def test_each_is_answered_and_none_stops(app, owner, project_id):
    dated = GOOD | {"externalId": "a", "submittedAt": "2024-12-31", "rating": 4.5}
    items = (
        dated, {"text": "Nobody's"}, GOOD | {"externalId": "a"}, "Maya",
        GOOD | {"submittedAt": "2999-01-01"},
        GOOD | {"submittedAt": "2024-12-31T23:00:00-02:00", "externalId": "b"},
        GOOD | {"submittedAt": "2024-12-31T23:00:00"},
        GOOD | {"colour": "red", "rating": 9},
    )  # fmt: skip
    results = add(owner, project_id, *items)
    assert [each["index"] for each in results] == list(range(len(items)))
    said = "created refused exists refused refused created refused refused"
    assert [each["status"] for each in results] == said.split()
    assert results[0]["testimonialId"] == results[2]["testimonialId"]
    assert list(results[1]["errors"]) == ["authorName"]
    assert set(results[7]["errors"]) == {"colour", "rating"}
    listed = owner.get(f"/v1/projects/{project_id}/testimonials").json["data"]["items"]
    assert [(each["_id"], each["submittedAt"]) for each in listed] == [
        (results[5]["testimonialId"], "2025-01-01T01:00:00.000Z"),
        (results[0]["testimonialId"], "2024-12-31T12:00:00.000Z"),
    ]
    (event,) = [e for e in read_events(app, owner.account_id) if e.type == "testimonial.created"]
    assert event.times == 2


def test_a_day_alone_is_told_as_a_day(app, owner, project_id, moved_clock):
    """Whatever the hour is, on a card and for the widget's script, which counts from the time."""
    browser, today = open_browser(app, owner), moved_clock.time.date()
    owner.patch(f"/v1/projects/{project_id}/widget-design", {"dateStyle": "relative"})
    for hour in (8, 20):
        moved_clock.time = datetime.combine(today, time(hour), UTC)
        add(owner, project_id, GOOD | {"submittedAt": f"{today}", "externalId": f"{hour}"})
        told = browser.get(f"/dashboard/projects/{project_id}/inbox?status=approved").text
        assert re.findall("<time [^>]*>(.*?)</time>", told) == ["Today"] * (1 + (hour > 8))
        items = app.test_client().get(f"/widget/{project_id}/feed").json["items"]
        assert {each["submittedAt"] for each in items} == {f"{today}T00:00:00.000Z"}
    moved_clock.move(hours=8)
    assert (
        "Yesterday</time>"
        in browser.get(f"/dashboard/projects/{project_id}/inbox?status=approved").text
    )


def test_a_repeated_call_adds_nothing(app, owner, project_id):
    items = [GOOD | {"externalId": f"review-{number}"} for number in range(100)]
    first = add(owner, project_id, *items)
    assert {each["status"] for each in first} == {"created"}
    before = everything(app)
    again = add(owner, project_id, *items)
    assert {each["status"] for each in again} == {"exists"}
    assert [each["testimonialId"] for each in again] == [each["testimonialId"] for each in first]
    single = owner.post(f"/v1/projects/{project_id}/testimonials", items[0])
    assert single.json["data"]["_id"] == first[0]["testimonialId"]
    assert everything(app) == before
    path = f"/v1/projects/{project_id}/testimonials/bulk"
    body = {"testimonials": [GOOD | {"externalId": "a"}, GOOD, {"text": "Nobody's"}]}
    said = [dict(owner.post(path, body).json or {})["message"] for _ in range(2)]
    assert said == ["2 added, 1 refused.", "1 added, 1 there already, 1 refused."]


def test_at_once_each_is_added_once(app, owner, project_id):
    items = [GOOD | {"externalId": str(number)} for number in range(20)]
    at_once(4, lambda _: add(owner, project_id, *items))
    assert len(read_testimonials(app, project_id)) == 20


def test_what_is_drafted_waits_once(app, owner, project_id):
    drafter = give_token(app, owner, Scope.DRAFT)
    items = (GOOD | {"externalId": "a", "submittedAt": "2024-12-31"}, GOOD, {"text": 5})
    first, again = add(drafter, project_id, *items), add(drafter, project_id, *items)
    for results in (first, again):
        assert [each["status"] for each in results] == ["proposed", "proposed", "refused"]
    proposals = [each["proposal"]["_id"] for each in first[:2]]
    assert [each["proposal"]["_id"] for each in again[:2]] == proposals
    assert first[0]["proposal"]["values"]["submittedAt"] == "2024-12-31T12:00:00.000Z"
    assert read_testimonials(app, project_id) == []


def test_the_list_has_one_to_100_and_512_kb(app, owner, project_id):
    path, before = f"/v1/projects/{project_id}/testimonials/bulk", everything(app)
    for items in ([], [GOOD] * 101, {"0": GOOD}, None):
        answer = owner.post(path, {"testimonials": items})
        assert (answer.status_code, list(answer.json["errors"])) == (400, ["testimonials"])
    answer = owner.post(path, {"testimonials": [GOOD | {"text": "x" * 6000}] * 100})
    assert (answer.status_code, answer.json["code"]) == (413, "BODY_TOO_LARGE")
    assert everything(app) == before
    largest = [GOOD | {"text": "x" * 2000, "externalId": str(n)} for n in range(100)]
    assert {each["status"] for each in add(owner, project_id, *largest)} == {"created"}
