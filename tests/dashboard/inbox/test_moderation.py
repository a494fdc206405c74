"""The inbox: deciding, undoing, the trash, many at once, and what is recorded."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from testimonials.testimonials import models
from testimonials.testimonials.moderation import ACTIONS
from tests.auth.browsers import open_browser
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.support.rows import add_member, change_testimonial, read_testimonials

pytestmark = pytest.mark.recount


def test_what_a_visitor_sent_shows_once_approved_and_a_second_time_says_so(inbox):
    maya, tom = inbox.receive("Maya", "Tom")
    assert inbox.counts() == {
        "pending": 2, "approved": 0, "rejected": 0, "all": 2, "trash": 0, "spam": 0
    }  # fmt: skip
    assert inbox.shown() == []
    answer = inbox.act(maya, "approve")
    assert answer.json["ok"] is True
    assert answer.json["notice"]["text"] == "Maya is on your site"
    assert (answer.json["counts"]["pending"], inbox.shown()) == (1, ["Maya"])
    listed = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]["items"]
    assert listed[0]["reviewedAt"]
    answer = inbox.act(maya, "approve")
    assert answer.status_code == 409
    assert answer.json["message"] == "Already decided: Approved"
    told = inbox.bulk("approve", ids=[maya, tom]).json["notice"]["text"]  # type: ignore[index]
    assert told == "Approved: 1; 1 stayed as it was"
    change_testimonial(inbox.app, maya, status="withdrawn")
    assert "Withdrawn by its author" in inbox.act(maya, "approve").get_json()["message"]


MOVES: list[tuple[list[str], str, bool]] = [
    ([], "approve", True), ([], "reject", True), ([], "pin", False), ([], "restore", False),
    (["approve"], "reject", True), (["approve"], "approve", False), (["approve"], "pin", True),
    (["approve", "pin"], "unpin", True), (["reject"], "approve", True),
    (["reject"], "reject", False), (["delete"], "approve", False), (["delete"], "restore", True),
    ([], "explode", False),
]  # fmt: skip


def test_moves_that_are_allowed(inbox):
    ids = inbox.receive(*(f"Visitor {number}" for number in range(len(MOVES))))
    for testimonial, (before, action, is_allowed) in zip(ids, MOVES, strict=True):
        for step in before:
            assert inbox.act(testimonial, step).status_code == 200
        answer = inbox.act(testimonial, action)
        refused = 409 if action in ACTIONS else 422
        assert answer.status_code == (200 if is_allowed else refused), (before, action)
        assert is_allowed or answer.json["message"]


def test_a_sample_can_only_be_deleted_or_kept(app, owner):
    inbox = open_inbox(app, owner, skipDemoTestimonials=False)
    page = inbox.get("inbox?status=all").text
    sample = page.partition('<li class="item" id="t-')[2][:24]
    for action in ("approve", "reject", "pin"):
        assert inbox.act(sample, action).status_code == 409
    assert (inbox.act(sample, "delete").status_code, len(inbox.shown())) == (200, 5)


def test_undo_works_once_and_leaves_what_somebody_changed_since(inbox):
    (maya,) = inbox.receive("Maya")
    decided = inbox.act(maya, "approve")
    assert (inbox.undo(decided).status_code, inbox.counts()["pending"]) == (200, 1)
    assert (inbox.shown(), inbox.undo(decided).status_code) == ([], 409)
    approved = inbox.act(maya, "approve")
    inbox.act(maya, "reject")
    assert (inbox.undo(approved).status_code, inbox.counts()["rejected"]) == (409, 1)
    # Nor is it one of another project.
    token = inbox.act(maya, "approve").json["notice"]["undo_token"]
    other = inbox.owner.create_project()["_id"]
    path = f"/dashboard/projects/{other}/inbox/undo"
    answer = inbox.client.post(path, data={"undo": token}, headers={"Accept": "application/json"})
    assert (answer.status_code, inbox.shown()) == (409, ["Maya"])


def step_back(inbox: Inbox) -> dict[str, Any]:
    """Undo the last change, as Ctrl+Z does; return the answer."""
    answer = inbox.client.post(f"{inbox.base}/inbox/undo", headers=JSON)
    found: dict[str, Any] = answer.json  # type: ignore[assignment]
    return found


def test_undo_goes_back_fifty_steps_and_says_each(inbox):
    ids = inbox.receive("Maya", "Tom")
    for each in ids:
        inbox.act(each, "approve")
        inbox.act(each, "pin")
        inbox.act(each, "reject")
    assert inbox.shown() == []
    told = [step_back(inbox)["notice"]["text"] for _ in range(6)]
    assert told == [
        "Undone (Taken down: Tom).",
        "Undone (Pinned: Tom).",
        "Undone (Approved: Tom).",
        "Undone (Taken down: Maya).",
        "Undone (Pinned: Maya).", "Undone (Approved: Maya).",
    ]  # fmt: skip
    assert inbox.counts()["pending"] == 2
    assert step_back(inbox)["message"].startswith("There is nothing left to undo.")
    for _ in range(26):
        inbox.act(ids[0], "approve")
        inbox.act(ids[0], "reject")
    told = [step_back(inbox)["notice"]["text"] for _ in range(50)]
    assert set(told) == {"Undone (Taken down: Maya).", "Undone (Approved: Maya)."}


def test_a_step_that_others_changed_is_passed_over_and_said(inbox, outsider):
    add_member(inbox.app, inbox.project, outsider, "moderator")
    colleague = open_browser(inbox.app, outsider)
    maya, tom, aiko = inbox.receive("Maya", "Tom", "Aiko")
    inbox.bulk("approve", ids=[maya, aiko])
    inbox.act(tom, "reject")
    for each in (tom, maya):
        colleague.post(f"{inbox.base}/testimonials/{each}/action", data={"action": "delete"})
    assert step_back(inbox)["notice"]["text"] == (
        "Changed since, so not undone (Rejected: Tom). Undone (Approved: 2). 1 has changed since."
    )
    assert inbox.shown() == []
    # The colleague undoes their own, and none of anybody else's.
    answer = colleague.post(f"{inbox.base}/inbox/undo", headers=JSON)
    assert answer.json["notice"]["text"].startswith("Undone (Deleted: Maya).")
    assert inbox.shown() == ["Maya"]


def test_a_day_is_printed_once_and_without_a_time_that_nobody_gave(inbox):
    maya, tom = inbox.receive("Maya", "Tom")
    day = datetime(2024, 3, 12, 12, tzinfo=UTC)
    change_testimonial(inbox.app, maya, submitted_at=day)
    change_testimonial(inbox.app, tom, submitted_at=day.replace(hour=8, minute=5))
    shown = re.findall(r'<span class="item-time">(.*?)</span>(?:</span>)?', inbox.get("inbox").text)
    words = [re.sub("<.*?>", " ", each).split() for each in shown]
    assert words == [["12", "Mar", "2024"]] * 2


def test_all_means_what_the_filter_finds(inbox, app, make_caller):
    _, _, tom = inbox.receive("Maya One", "Maya Two", "Tom")
    answer = inbox.bulk("approve", all="1", status="pending", q="maya")
    assert sorted(inbox.shown()) == ["Maya One", "Maya Two"]
    assert inbox.undo(answer).status_code == 200
    assert inbox.bulk("approve", ids=[tom]).json["notice"]["text"] == "Approved: 1"
    assert inbox.shown() == ["Tom"]
    other = open_inbox(app, make_caller("other@example.com", is_claimed=True))
    (theirs,) = other.receive("Theirs")
    assert inbox.bulk("approve", ids=[theirs]).status_code == 409
    assert other.counts()["pending"] == 1


def test_without_a_script_a_decision_goes_back_to_the_list_alone(inbox):
    (maya,) = inbox.receive("Maya")
    back = f"{inbox.base}/inbox?status=pending"
    answer = inbox.client.post(
        f"{inbox.base}/testimonials/{maya}/action", data={"action": "approve", "return_to": back}
    )
    assert answer.status_code == 303
    assert answer.location.startswith(f"{back}&notice=")
    assert "Maya is on your site" in inbox.client.get(answer.location).text
    targets = ("https://evil.example/", "//evil.example", "/\\evil.example")
    for testimonial, target in zip(inbox.receive("Ben", "Tom", "Aiko"), targets, strict=True):
        answer = inbox.client.post(
            f"{inbox.base}/testimonials/{testimonial}/action",
            data={"action": "approve", "return_to": target},
        )
        assert answer.location.startswith(f"{inbox.base}/inbox?")
    assert "Call this number" not in inbox.get("inbox?notice=Call+this+number").text


def test_search_finds_names_and_filters_narrow_the_list(inbox):
    inbox.receive("Maya Kowalski", rating=5.0)
    inbox.receive("Tom Okafor", rating=4.5)
    page = inbox.get("inbox?q=KOWALSKI").text
    assert 'Maya <mark class="found">Kowalski</mark></bdi>' in page
    assert "Tom Okafor</bdi>" not in page
    page = inbox.get("inbox?rating=4&source=public_page").text
    assert "Tom Okafor</bdi>" in page
    assert "Maya Kowalski</bdi>" not in page
    for nothing in ("q=100%25", "source=import"):
        assert "matches the search and filters." in inbox.get(f"inbox?{nothing}").text
    inbox.fill(49)
    for page in (2, 9):
        assert inbox.get(f"inbox?page={page}").text.count('<li class="item"') == 1


def test_a_card_says_what_it_was_translated_from(inbox):
    (maya,) = inbox.receive("Maya")
    path = f"testimonials/{maya}"
    form = {"author_name": "Maya", "text": "Words of Maya", "submitted_on": "2026-01-02"}
    for sent, status, kept in (("pl", 303, "pl"), ("no language", 422, "pl"), ("", 303, None)):
        answer = inbox.client.post(f"{inbox.base}/{path}", data=form | {"translated_from": sent})
        assert answer.status_code == status
        (row,) = read_testimonials(inbox.app, inbox.project)
        assert row.translated_from == kept
    assert (
        "Enter a language such as pl or pt-BR."
        in inbox.client.post(f"{inbox.base}/{path}", data=form | {"translated_from": "1"}).text
    )


def test_editing_keeps_what_was_sent_and_refuses_what_the_api_refuses(inbox):
    (maya,) = inbox.receive("Maya")
    path = f"testimonials/{maya}"
    form = {"author_name": "Maya K.", "text": "Better words", "submitted_on": "2026-01-02"}
    assert inbox.client.post(f"{inbox.base}/{path}", data=form).status_code == 303
    page = inbox.get(path).text
    for expected in ("Better words", "Words of Maya", "owner@example.com", "Name: Maya"):
        assert expected in page
    assert "Edited" in inbox.get("inbox").text
    form = {"author_name": "", "text": "x" * 2001, "submitted_on": "2026-01-02", "rating": "6"}
    answer = inbox.client.post(f"{inbox.base}/testimonials/{maya}", data=form)
    assert answer.status_code == 422
    for expected in ("Enter the author", "Shorten this to 2000", "1 to 5 stars", "x" * 2001):
        assert expected in answer.text
    with inbox.app.app_context():
        assert db.session.get_one(models.Testimonial, maya).text == "Better words"


def test_editing_leaves_other_words_and_proof(inbox, moved_clock):
    (maya,) = inbox.receive("Maya", author_email="maya@example.com")
    change_testimonial(inbox.app, maya, email_verified_at=moved_clock.time)
    form = {"text": "Words of Maya", "submitted_on": "2026-01-02"}
    for name, email, is_proven in (("M", "maya@example.com", True), ("M", "m@example.com", False)):
        sent = form | {"author_name": name, "author_email": email}
        assert inbox.client.post(f"{inbox.base}/testimonials/{maya}", data=sent).status_code == 303
        (row,) = read_testimonials(inbox.app, inbox.project)
        assert row.original_text is None
        assert (row.email_verified_at is not None) is is_proven


def test_adding_by_hand_with_date_and_handle(inbox):
    form = {
        "author_name": "Aiko", "text": "Said on the phone.", "submitted_on": "2025-03-12",
        "rating": "4.5", "twitter_handle": "@aiko_t",
    }  # fmt: skip
    assert inbox.client.post(f"{inbox.base}/testimonials/new", data=form).status_code == 303
    (item,) = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]["items"]
    assert item["source"] == "manual"
    assert item["submittedAt"].startswith("2025-03-12")
    assert (item["twitter"]["handle"], item["rating"]) == ("aiko_t", 4.5)


def test_samples_are_kept_for_good_or_removed_with_an_undo(app, owner):
    inbox = open_inbox(app, owner, skipDemoTestimonials=False)

    def settle(choice: str) -> TestResponse:
        data = {"samples": choice}
        return inbox.client.post(f"{inbox.base}/inbox/samples", data=data, headers=JSON)

    inbox.owner.create_testimonial(inbox.project, authorName="Real")
    answer = settle("remove")
    assert (answer.json["notice"]["text"], inbox.shown()) == ("Deleted: 6", ["Real"])
    assert settle("remove").status_code == 409
    inbox.undo(answer)
    assert (settle("keep").status_code, len(inbox.shown())) == (200, 7)
