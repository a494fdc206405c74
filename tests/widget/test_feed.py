"""GET /widget/:id/feed: what the widget shows, open to every website."""

import gzip
import json
from base64 import urlsafe_b64encode
from typing import Any

from flask.testing import FlaskClient

from testimonials.core import clock
from testimonials.core.http.urls import log_url, policy_url, record_url
from testimonials.core.images.colors import derive_colors
from testimonials.projects.widget_design import LOOK, write_colors
from tests.conftest import Caller
from tests.support.rows import add_testimonial, change_testimonial, expire_account
from tests.widget.conftest import read_feed

EVERYTHING = {
    "author_name": "Maya Kowalski", "author_email": "maya.secret@example.com",
    "author_role": "Owner", "author_company": "Kiln & Clay", "rating": 4.5, "is_pinned": True,
    "author_avatar": "https://example.com/maya.jpg", "twitter": {"handle": "maya"},
    "consent_text": "consent-sentence", "submission_key": "submission-key",
}  # fmt: skip


def _url(project: str, after: str | None = None) -> str:
    return f"/widget/{project}/feed" + ("" if after is None else f"?after={after}")


def _feed(client: FlaskClient, project: str, after: str | None = None) -> dict[str, Any]:
    return read_feed(client, project, "" if after is None else f"after={after}")


def _ids(feed: dict[str, Any]) -> list[str]:
    return [item["id"] for item in feed["items"]]


def test_settings_items_and_totals(app, client, owner, project):
    created = owner.create_testimonial(project, rating=5)
    made = owner.get(f"/v1/projects/{project}").json["data"]
    with app.app_context():
        record, policy = record_url("kiln", "{id}", None), policy_url("kiln")
        log = log_url(project)
    assert _feed(client, project) == {
        "project": {"id": project, "name": "Kiln & Clay", "active": True},
        "config": made["widgetConfig"],
        "font": "",
        "design": LOOK,
        "colours": write_colors(derive_colors("#0F766E")),
        "cta": {"label": "Share your experience", "url": "https://testimonials.example.com/kiln"},
        "total": 1,
        "items": [
            {
                "id": created["_id"], "authorName": "Maya Kowalski", "authorRole": "", "rating": 5,
                "text": "It simply works.", "submittedAt": created["submittedAt"],
                "face": ["MK", 0],
            }
        ],
        "next": None,
        "proof": {
            "label": "How we collect",
            "url": policy,
            "record": record,
            "log": log,
        },
        "draw": "single face cards single",
    }  # fmt: skip
    words = "<img src=x onerror=alert(1)></script> \u2028 & {{7*7}}"
    owner.create_testimonial(project, text=words)
    answer = client.get(_url(project))
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json["items"][0]["text"] == words


def test_shows_the_api_list(app, client, owner, project):
    for status in ("approved", "demo", "pending", "rejected") * 2:
        add_testimonial(app, project, status=status)
    listed = owner.get(f"/v1/projects/{project}/testimonials").json["data"]["items"]
    feed = _feed(client, project)
    assert _ids(feed) == [item["_id"] for item in listed]
    assert feed["total"] == len(listed) == 4
    # What was shown and is taken down is not in the next answer.
    for item, status in zip(listed, ("pending", "rejected", "spam", "withdrawn"), strict=True):
        change_testimonial(app, item["_id"], status=status)
        assert item["_id"] not in client.get(_url(project)).text
    assert _feed(client, project)["total"] == 0


def test_never_holds_what_is_ours_alone(app, client, project):
    add_testimonial(app, project, **EVERYTHING)
    item = _feed(client, project)["items"][0]
    assert set(item) == {
        "id", "authorName", "authorRole", "text", "submittedAt", "authorCompany",
        "authorAvatar", "twitter", "rating", "pinned", "face",
    }  # fmt: skip
    text = client.get(_url(project)).text
    assert not [secret for secret in ("secret@", "consent-", "submission-") if secret in text]


def test_other_writers(make_app, client, owner, project):
    other = Caller(make_app().test_client(), owner.account_id, owner.email, owner.api_key)
    for count in range(1, 4):
        other.create_testimonial(project)
        assert _feed(client, project)["total"] == count
        assert _feed(other.client, project)["total"] == count


def test_what_somebody_else_wrote_leaves_the_kept_answer_as_it_is(client, owner, outsider, project):
    tag = client.get(_url(project)).headers["ETag"]
    for caller in (owner, outsider):
        other = caller.create_project()["_id"]
        caller.create_testimonial(other)
        assert _feed(client, other)["total"] == 1
    # Nor does what changes nothing, or is refused.
    assert owner.patch(f"/v1/projects/{project}/widget-config", {}).status_code == 200
    assert owner.post(f"/v1/projects/{project}/testimonials", {"text": ""}).status_code == 400
    headers = {"If-None-Match": tag}
    assert client.get(_url(project), headers=headers).status_code == 304


def test_each_change_shows_while_the_clock_stands_or_goes_back(client, owner, project, moved_clock):
    for _ in range(4):
        owner.create_testimonial(project)
    for count in (3, 4, 3, 4):
        values = {"initialCount": count}
        assert owner.patch(f"/v1/projects/{project}/widget-config", values).status_code == 200
        assert len(_feed(client, project)["items"]) == count
        moved_clock.move(hours=3 - count)


def test_unchanged_is_304_without_a_body(client, owner, project):
    for match in ["{}", "*", '"x", {}', '{}, W/"y"', "{strong}"]:
        owner.create_testimonial(project)
        tag = client.get(_url(project)).headers["ETag"]
        value = match.format(tag, strong=tag.removeprefix("W/"))
        for _ in range(2):
            answer = client.get(_url(project), headers={"If-None-Match": value})
            assert (answer.status_code, answer.data) == (304, b"")
            assert answer.headers["ETag"] == tag
            assert answer.headers["Access-Control-Allow-Origin"] == "*"
            assert "Content-Type" not in answer.headers
    for match in ['"other"', "", 'W/""', "nonsense", "{}x", '"{}']:
        tag = client.get(_url(project)).headers["ETag"]
        cut = tag.rstrip('"')
        headers = {"If-None-Match": match.format(cut[:-1] + '"')}
        assert client.get(_url(project), headers=headers).status_code == 200


def test_is_compressed_where_it_can(client, owner, project):
    owner.create_testimonial(project, text="Ünï " * 400)
    taken = ("gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8")
    for accept in (*taken, "gzip;q=0.0, br", "", "identity", "br", "gzip;q=0", "gzip; q=0"):
        for _ in range(2):
            answer = client.get(_url(project), headers={"Accept-Encoding": accept})
            is_compressed = answer.headers.get("Content-Encoding") == "gzip"
            assert is_compressed is (accept in taken), accept
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert int(answer.headers["Content-Length"]) == len(answer.data)
            plain = gzip.decompress(answer.data) if is_compressed else answer.data
            assert json.loads(plain)["total"] == 1


def test_every_website_may_read_it_from_memory_or_not(client, project):
    origin = {"Origin": "https://shop.example"}
    answers = [client.get(_url(project), headers=origin) for _ in range(3)]
    heads = [client.head(_url(project)) for _ in range(2)]
    assert [(answer.status_code, answer.data) for answer in heads] == [(200, b"")] * 2
    for answer in (*answers, *heads):
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert answer.headers["Cache-Control"] == "public, no-cache"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in answer.headers
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_no_repeats_no_gaps(app, client, owner, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"initialCount": 3})
    time = clock.now()
    # Ties in time are broken by the id, so that a page may end in the middle of one.
    ids = [add_testimonial(app, project, submitted_at=time) for _ in range(5)]
    pinned = [add_testimonial(app, project, is_pinned=True) for _ in range(4)]
    feed = _feed(client, project)
    found = _ids(feed)
    while feed["next"] is not None:
        feed = _feed(client, project, feed["next"])
        found += _ids(feed)
    assert found == pinned[::-1] + sorted(ids, reverse=True)


def test_pages_do_not_repeat(app, client, owner, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"initialCount": 3})
    ids = [add_testimonial(app, project) for _ in range(8)][::-1]
    feed = _feed(client, project)
    seen = _ids(feed)
    while feed["next"] is not None:
        add_testimonial(app, project)
        add_testimonial(app, project, is_pinned=True)
        # What the cursor points at may itself be gone.
        change_testimonial(app, seen[-1], status="rejected")
        feed = _feed(client, project, feed["next"])
        assert not set(seen) & set(_ids(feed)), "a page repeats another"
        seen += _ids(feed)
    assert seen == ids


BAD_CURSORS = [
    "", "x", "!!!!", "%00", "%F0%9F%98%80", "a" * 5000, "MS4x", "null", "0",
    *(
        urlsafe_b64encode(raw.encode()).decode().rstrip("=")
        for raw in (
            "2.1.aaaaaaaaaaaaaaaaaaaaaaaa", "1..aaaaaaaaaaaaaaaaaaaaaaaa", "1.1.' OR 1=1 --",
            "1.99999999999999999.aaaaaaaaaaaaaaaaaaaaaaaa",
            "1.9999999999999999.aaaaaaaaaaaaaaaaaaaaaaaa",
            "1.-9999999999999999.aaaaaaaaaaaaaaaaaaaaaaaa",
            "1.1.aaaaaaaaaaaaaaaaaaaaaaaa.1", "1.1.AAAAAAAAAAAAAAAAAAAAAAAA", "1.1.aaaa\n",
            "1.١.aaaaaaaaaaaaaaaaaaaaaaaa",
        )
    ),
]  # fmt: skip


def test_who_wrote_twice_keeps_their_picture(app, client, project):
    picture = "https://example.com/maya.jpg"
    for avatar in (picture, None):
        add_testimonial(app, project, author_name="Maya Kowalski", author_avatar=avatar)
    (face,) = read_feed(client, project, "shape=people")["header"]["faces"]
    assert (face["name"], face["avatar"]) == ("Maya Kowalski", picture)


def test_a_cursor_not_of_the_feed_is_400(client, owner, project):
    owner.create_testimonial(project)
    for cursor in BAD_CURSORS:
        for _ in range(2):
            answer = client.get(_url(project, cursor))
            assert (answer.status_code, answer.json["code"]) == (400, "VALIDATION_FAILED"), cursor
            assert list(answer.json["errors"]) == ["after"]
            assert answer.headers["Access-Control-Allow-Origin"] == "*"
    cursor = urlsafe_b64encode(b"0.-1." + b"0" * 24).decode().rstrip("=")
    feed = _feed(client, project, cursor)
    assert (feed["items"], feed["next"]) == ([], None)


def test_an_unknown_project_is_404_as_json_that_every_website_may_read(client):
    for project in ["0" * 24, "x", "v1", "%00", "F" * 24, "..", "v1.js"]:
        answer = client.get(_url(project))
        assert (answer.status_code, answer.json["code"]) == (404, "NOT_FOUND")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_an_account_past_its_days_is_404(app, client, agent):
    project = agent.create_project(skipDemoTestimonials=False)["_id"]
    tag = client.get(_url(project)).headers["ETag"]
    assert _feed(client, project)["total"] == 6
    expire_account(app, agent.account_id)
    for headers in ({}, {"If-None-Match": tag}):
        assert client.get(_url(project), headers=headers).status_code == 404
