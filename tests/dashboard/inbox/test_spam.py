"""The spam folder of the inbox: what stands there and why, releasing, marking, and the sweep."""

import pytest

from testimonials.core.mail.outbox import OutboxMail
from testimonials.operations.expiry import sweep
from testimonials.testimonials.notifications import send_gathered_mail
from tests.dashboard.inbox.inbox import Inbox
from tests.support.rows import add_testimonial, count_rows, read_testimonials

pytestmark = pytest.mark.recount


def hold(inbox: Inbox, name: str, reasons: str = "links", **columns: str) -> str:
    values = {"status": "spam", "held_for": reasons, "author_name": name} | columns
    return add_testimonial(inbox.app, inbox.project, **values)


def test_the_inbox_tells_of_a_flood_for_a_week(inbox, moved_clock):
    hold(inbox, "Robot")
    assert "many came at once.</strong>" not in inbox.get("inbox").text
    for name in ("Ana", "Ben"):
        hold(inbox, name, "address,flood")
    page = inbox.get("inbox").text
    assert "2 submissions are held because many came at once" in page
    assert "More than 100 an hour" in page
    assert "status=spam" in page
    moved_clock.move(days=8)
    assert "many came at once.</strong>" not in inbox.get("inbox").text


def test_spam_stands_in_its_own_tab_alone(inbox):
    inbox.receive("Maya")
    hold(inbox, "Robot")
    for tab in ("pending", "approved", "rejected", "all", "trash"):
        assert "Robot</bdi>" not in inbox.get(f"inbox?status={tab}").text
    assert "Robot</bdi>" in inbox.get("inbox?status=spam").text
    assert inbox.counts() == {
        "pending": 1, "approved": 0, "rejected": 0, "all": 1, "trash": 0, "spam": 1
    }  # fmt: skip
    assert "Robot</mark></bdi>" in inbox.get("inbox?status=spam&q=robot").text
    found = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]["items"]
    assert found == inbox.shown() == []


REASONS = (
    ("links", "http://a.example", "Held: a link"),
    ("duplicate", "Words", "Held: the same text was sent before"),
    ("bait", "Words", "Held: a hidden field was filled in"),
    ("fast", "Words", "Held: sent faster than a person can type"),
    ("address,flood", "Words", "Held: many came from one network, many came at once"),
)


def test_a_row_says_why_it_is_held(inbox):
    rows = [hold(inbox, "Robot", reasons, text=text) for reasons, text, _ in REASONS]
    listed = inbox.get("inbox?status=spam").text
    for row, (*_, said) in zip(rows, REASONS, strict=True):
        assert f"<span>{said}</span>" in listed
        assert f'<p class="hint">{said}</p>' in inbox.get(f"testimonials/{row}").text


def test_released_it_waits_in_the_queue_and_that_can_be_undone(inbox):
    row = hold(inbox, "Robot")
    answer = inbox.act(row, "release")
    assert answer.json["notice"]["text"] == "Not spam: Robot"
    assert (answer.json["counts"]["spam"], answer.json["counts"]["pending"]) == (0, 1)
    page = inbox.get("inbox").text
    assert "Robot</bdi>" in page
    assert "Held:" not in page
    history = inbox.get(f"testimonials/{row}").text
    assert "Not spam" in history
    assert "owner@example.com" in history
    assert (inbox.act(row, "approve").status_code, inbox.shown()) == (200, ["Robot"])
    row = hold(inbox, "Bot", "links,duplicate")
    before = read_testimonials(inbox.app, inbox.project)[-1]
    assert inbox.undo(inbox.act(row, "release")).status_code == 200
    after = read_testimonials(inbox.app, inbox.project)[-1]
    assert (after.status, after.held_for, after.reviewed_at) == (
        before.status, before.held_for, before.reviewed_at
    )  # fmt: skip
    assert inbox.act(row, "release").status_code == 200


def test_marking_takes_it_out_of_the_queue_and_undo_brings_it_back(inbox):
    (maya,) = inbox.receive("Maya")
    answer = inbox.act(maya, "set-aside", "spam")
    assert answer.json["notice"]["text"] == "Set aside: Maya"
    page = inbox.get("inbox?status=spam").text
    assert "Set aside: spam" in page
    assert "Held:" not in page
    assert inbox.undo(answer).status_code == 200
    (row,) = read_testimonials(inbox.app, inbox.project)
    assert (row.status, row.held_for, row.reviewed_at) == ("pending", None, None)
    robot = hold(inbox, "Robot")
    for action in ("approve", "reject", "pin", "restore", "set-aside"):
        assert inbox.act(robot, action, "abusive").status_code == 409


def test_whoever_released_it_is_told_nothing_more(inbox, moved_clock):
    inbox.receive("Maya")
    before = count_rows(inbox.app, OutboxMail)
    row = hold(inbox, "Robot")
    moved_clock.move(minutes=6)
    inbox.act(row, "release")
    with inbox.app.app_context():
        send_gathered_mail()
    assert count_rows(inbox.app, OutboxMail) == before


def test_spam_goes_thirty_days_after_a_change(inbox, moved_clock):
    hold(inbox, "Robot")
    kept = hold(inbox, "Ana")
    inbox.receive("Maya")
    moved_clock.move(days=29)
    inbox.undo(inbox.act(kept, "release"))
    moved_clock.move(days=1.1)
    with inbox.app.app_context():
        sweep()
    names = {row.author_name for row in read_testimonials(inbox.app, inbox.project)}
    assert names == {"Ana", "Maya"}
    moved_clock.move(days=29)
    with inbox.app.app_context():
        sweep()
    names = {row.author_name for row in read_testimonials(inbox.app, inbox.project)}
    assert names == {"Maya"}
