"""Setting aside in the inbox: the only thing that takes a rating out of the numbers."""

import pytest

from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.counts import read_numbers
from testimonials.testimonials.models import REASONS
from tests.dashboard.inbox.inbox import Inbox
from tests.support.rows import add_testimonial, read_testimonials

pytestmark = [pytest.mark.postgres, pytest.mark.recount]


def number(inbox: Inbox) -> int:
    """Return how many ratings count."""
    with inbox.app.app_context():
        return read_numbers(db.session.get_one(Project, inbox.project)).number


def test_rejecting_counts_on_and_setting_aside_does_not(inbox):
    maya, ben = inbox.receive("Maya", "Ben", rating=2)
    assert (inbox.act(maya, "reject").status_code, number(inbox)) == (200, 1)
    assert inbox.act(ben, "approve").status_code == 200
    assert (number(inbox), inbox.shown()) == (2, ["Ben"])
    refused = inbox.act(ben, "set-aside")
    assert (refused.status_code, number(inbox)) == (409, 2)
    assert "Choose why it is set aside." in refused.text
    answers = [inbox.act(each, "set-aside", "off_topic") for each in (ben, maya)]
    assert [each.get_json()["notice"]["text"] for each in answers] == [
        "Set aside: Ben",
        "Set aside: Maya",
    ]
    assert (number(inbox), inbox.shown()) == (0, [])
    listed = inbox.get("inbox?status=set-aside").text
    assert listed.count(">Set aside: off topic</span>") == 2
    assert "Set aside: off topic" in inbox.get(f"testimonials/{ben}").text
    assert "Maya</bdi>" in inbox.get("inbox?status=rejected").text
    for answer in answers:
        assert inbox.undo(answer).status_code == 200
    assert (number(inbox), inbox.shown()) == (2, ["Ben"])
    assert "Nothing is set aside" in inbox.get("inbox?status=set-aside").text


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_has_its_status_and_the_last_change_takes_it_back(inbox, reason):
    (maya,) = inbox.receive("Maya", rating=5)
    inbox.act(maya, "approve")
    assert inbox.act(maya, "set-aside", reason).status_code == 200
    (row,) = read_testimonials(inbox.app, inbox.project)
    status = reason if reason in ("spam", "withdrawn") else "rejected"
    assert (row.status, row.set_aside) == (status, reason)
    assert (number(inbox), inbox.shown()) == (0, [])
    assert inbox.bulk("", do="undo").status_code == 200
    (row,) = read_testimonials(inbox.app, inbox.project)
    assert (row.status, row.set_aside, row.held_for, row.consent_withdrawn_at) == (
        "approved", None, None, None
    )  # fmt: skip
    assert number(inbox) == 1


def test_deciding_anew_takes_the_reason_back(inbox):
    maya, ben, eva = inbox.receive("Maya", "Ben", "Eva", rating=3)
    inbox.act(maya, "set-aside", "not_customer")
    inbox.act(ben, "set-aside", "same_person")
    inbox.act(eva, "set-aside", "spam")
    assert number(inbox) == 0
    assert inbox.act(maya, "approve").status_code == 200
    assert inbox.act(ben, "reject").status_code == 200
    assert inbox.act(eva, "release").status_code == 200
    rows = {row.author_name: row for row in read_testimonials(inbox.app, inbox.project)}
    assert {name: (row.status, row.set_aside) for name, row in rows.items()} == {
        "Maya": ("approved", None), "Ben": ("rejected", None), "Eva": ("pending", None)
    }  # fmt: skip
    assert number(inbox) == 2
    assert inbox.act(ben, "reject").status_code == 409


def test_many_at_once(inbox):
    ids = inbox.receive("Maya", "Ben", rating=4)
    assert inbox.bulk("set-aside", ids=ids).status_code == 409
    answer = inbox.bulk("set-aside", ids=ids, reason="abusive")
    assert answer.get_json()["notice"]["text"] == "Set aside: 2"
    assert {row.set_aside for row in read_testimonials(inbox.app, inbox.project)} == {"abusive"}
    assert inbox.undo(answer).status_code == 200
    german = inbox.client.get(f"{inbox.base}/inbox", headers={"Accept-Language": "de"}).text
    # A button and a folder, which English calls the same.
    assert german.count("Aussondern") > german.count("Ausgesondert") > 0
    assert {row.set_aside for row in read_testimonials(inbox.app, inbox.project)} == {None}


def test_a_deleted_one_counts_unless_there_is_a_reason(inbox):
    maya, ben = inbox.receive("Maya", "Ben", rating=1)
    assert 'data-why="delete"' in inbox.get("inbox").text
    assert "Without one, its rating still counts" in inbox.get(f"testimonials/{maya}").text
    inbox.act(maya, "delete")
    answer = inbox.act(ben, "delete", "same_person")
    assert number(inbox) == 1
    assert inbox.act(maya, "set-aside", "abusive").status_code == 200
    assert number(inbox) == 0
    assert inbox.get("inbox?status=trash").text.count("Set aside: ") == 2
    assert inbox.undo(answer).status_code == 200
    (row,) = [row for row in read_testimonials(inbox.app, inbox.project) if row.id == ben]
    assert (row.status, row.deleted_at, row.set_aside) == ("pending", None, None)


def test_what_no_visitor_sent_is_deleted_without_a_question(inbox):
    row = add_testimonial(inbox.app, inbox.project, source="manual", rating=5)
    assert 'data-why="delete"' not in inbox.get("inbox?status=approved").text
    assert 'id="delete"' not in inbox.get(f"testimonials/{row}").text
    assert number(inbox) == 1
    inbox.act(row, "delete")
    assert number(inbox) == 0


def test_the_record_and_the_history_say_why(inbox):
    maya, ben = inbox.receive("Maya", "Ben")
    inbox.act(maya, "set-aside", "not_customer")
    inbox.act(ben, "delete", "off_topic")
    assert "Set aside: not a customer" in inbox.get(f"testimonials/{maya}").text
    assert "Deleted: off topic" in inbox.get(f"testimonials/{ben}").text
    activity = inbox.get("settings/developers/activity").text
    assert "set a testimonial aside: not a customer" in activity
