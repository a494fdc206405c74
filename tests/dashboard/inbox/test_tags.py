"""Tags, and decisions about many testimonials at once: right in every part, in a few statements."""

import re

import pytest

from testimonials.core.extensions import db
from testimonials.testimonials import history, models
from tests.conftest import MovableClock
from tests.core.events import read_history
from tests.dashboard.inbox.inbox import UNDO, Inbox, open_inbox
from tests.support.rows import read_project

pytestmark = pytest.mark.recount


def tag(inbox: Inbox, name: str, *ids: str, tagging: str = "add", **values: str):  # type: ignore[no-untyped-def]
    sent = {"new_tag": name, "tagging": tagging, "ids": list(ids)} | values
    return inbox.bulk("", do="tags", **sent)


def edit(inbox: Inbox, testimonial_id: str, tags: str, **values: str):  # type: ignore[no-untyped-def]
    form = {"author_name": "Maya", "text": "Words of Maya", "submitted_on": "2026-01-02"}
    data = form | values | {"tags": tags}
    return inbox.client.post(f"{inbox.base}/testimonials/{testimonial_id}", data=data)


def tags_on(page: str) -> list[list[str]]:
    rows = page.split('<li class="item"')[1:]
    return [re.findall(r'class="tag" href="[^"]+"><bdi>([^<]+)<', row) for row in rows]


def tags_of(inbox: Inbox, testimonial_id: str) -> str:
    page = inbox.get(f"testimonials/{testimonial_id}").text
    return re.search(r'name="tags" type="text" value="([^"]*)"', page)[1]


def test_a_tag_stands_on_the_row_and_leads_to_all_that_have_it(inbox):
    maya, tom = inbox.receive("Maya", "Tom")
    assert tag(inbox, "  Wedding   hair ", maya).json["notice"]["text"] == "Tags changed: 1"
    page = inbox.get("inbox").text
    assert tags_on(page) == [[], ["Wedding hair"]]
    link = re.search(r'class="tag" href="([^"]+)"', page)
    found = inbox.client.get(link[1].replace("&amp;", "&")).text
    assert "Maya</bdi>" in found
    assert "Tom</bdi>" not in found
    assert '<option value="Wedding hair" selected>' in found
    assert tom not in found
    one, _, three = inbox.receive("Ada One", "Ada Two", "Ben", rating=5.0)
    tag(inbox, "vip", one, three)
    found = inbox.get("inbox?tag=VIP&q=ada&rating=5&source=public_page").text
    assert "Ada</mark> One</bdi>" in found
    assert "Ben</bdi>" not in inbox.get("inbox?tag=vip&q=ada").text
    assert "No results" in inbox.get("inbox?tag=vip&rating=4").text
    assert "No results" in inbox.get("inbox?tag=nobody+has+it").text
    inbox.get("inbox?tag=%00")
    inbox.bulk("approve", all="1", status="pending", tag="vip")
    assert sorted(inbox.shown()) == ["Ada One", "Ben"]


def test_the_first_spelling_wins(inbox, app, make_caller):
    maya, tom = inbox.receive("Maya", "Tom")
    other = open_inbox(app, make_caller("other@example.com", is_claimed=True))
    (theirs,) = other.receive("Theirs")
    tag(inbox, "Straße", maya)
    tag(inbox, "STRASSE", tom)
    tag(other, "strasse", theirs)
    assert (tags_of(inbox, maya), tags_of(inbox, tom)) == ("Straße", "Straße")
    assert tags_of(other, theirs) == "strasse"
    # What is there already changes nothing, and so leaves nothing to undo.
    assert tag(inbox, "strasse", maya).status_code == 409


def test_what_is_no_tag_is_refused_with_the_reason(inbox):
    (maya,) = inbox.receive("Maya")
    for name, reason in (
        ("", "Enter one tag at a time."), (" , ", "Enter one tag at a time."),
        ("one, two", "Enter one tag at a time."), ("x" * 41, "Shorten the tag"),
        ("a\x1bb", "control characters"), ("one\ntwo", "line breaks"),
    ):  # fmt: skip
        answer = tag(inbox, name, maya)
        assert answer.status_code in (409, 422)
        assert reason in answer.json["message"]
    assert tags_of(inbox, maya) == ""
    assert tag(inbox, "é" * 40, maya).status_code == 200
    answer = edit(inbox, maya, ",".join(f"tag {n}" for n in range(11)))
    assert answer.status_code == 422
    assert "Use at most 10 tags; these are 11." in answer.text
    assert "tag 10" in answer.text
    assert edit(inbox, maya, ",".join(f"tag {n}" for n in range(10))).status_code == 303
    assert tag(inbox, "one more", maya).status_code == 409
    assert len(tags_of(inbox, maya).split(", ")) == 10


def test_the_form_sets_tags_says_who_did_and_can_be_undone(inbox):
    (maya,) = inbox.receive("Maya")
    edit(inbox, maya, "colour, Wedding、colour")
    answer = edit(inbox, maya, "wedding")
    assert tags_of(inbox, maya) == "Wedding"
    page = inbox.client.get(answer.location).text
    for words in ("Edited", "Tags: colour, Wedding", "owner@example.com"):
        assert words in page
    token = UNDO.search(page)
    inbox.client.post(f"{inbox.base}/inbox/undo", data={"undo": token[1]})
    assert tags_of(inbox, maya) == "colour, Wedding"


def test_many_at_once_put_on_taken_off_and_undone(inbox):
    ids = inbox.receive("Maya", "Tom", "Aiko")
    tag(inbox, "old", *ids[:2])
    added = tag(inbox, "vip", *ids)
    assert added.json["notice"]["text"] == "Tags changed: 3"
    assert tags_on(inbox.get("inbox").text) == [["vip"], ["old", "vip"], ["old", "vip"]]
    assert inbox.undo(added).status_code == 200
    assert tags_on(inbox.get("inbox").text) == [[], ["old"], ["old"]]
    removed = tag(inbox, "OLD", *ids, tagging="remove")
    assert removed.json["notice"]["text"] == "Tags changed: 2"
    assert tags_on(inbox.get("inbox").text) == [[], [], []]
    inbox.undo(removed)
    assert tags_on(inbox.get("inbox").text) == [[], ["old"], ["old"]]
    maya, tom = ids[:2]
    tag(inbox, "VIP", maya)
    removed = tag(inbox, "vip", maya, tagging="remove")
    tag(inbox, "vip", tom)
    inbox.undo(removed)
    assert tags_of(inbox, maya) == "old, vip"


def test_samples_and_the_trash_take_no_tags(app, owner):
    inbox = open_inbox(app, owner, skipDemoTestimonials=False)
    (maya,) = inbox.receive("Visitor")
    inbox.act(maya, "delete")
    answer = tag(inbox, "vip", all="1", status="all")
    assert (answer.status_code, tag(inbox, "vip", maya).status_code) == (409, 409)


def test_tags_stand_nowhere_in_public_and_go_with_their_testimonial(inbox):
    (maya,) = inbox.receive("Maya")
    inbox.act(maya, "approve")
    feed = f"/widget/{inbox.project}/feed"
    before = read_project(inbox.app, inbox.project).feed_version
    tag(inbox, "secret-tag", maya)
    assert read_project(inbox.app, inbox.project).feed_version > before
    answer = inbox.client.get(feed)
    listed = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").text
    for public in (answer.text, listed, inbox.client.get(f"/widget/{inbox.project}").text):
        assert "secret-tag" not in public
    with inbox.app.app_context():
        db.session.delete(db.session.get_one(models.Testimonial, maya))
        db.session.commit()
    assert "secret-tag" not in inbox.get("inbox").text


ADD = {"new_tag": "New", "tagging": "add", "all": "1", "status": "all"}
REMOVE = ADD | {"new_tag": "old", "tagging": "remove"}


def fill(inbox: Inbox, count: int) -> None:
    """Add testimonials of two states, every other one with a tag."""
    ids = inbox.fill(count)
    with inbox.app.app_context():
        table = models.Testimonial.__table__
        values = {"status": "rejected", "reviewed_at": MovableClock().time}
        db.session.execute(table.update().where(table.c.id.in_(ids[::3])).values(values))
        tags = [
            {"testimonial_id": each, "project_id": inbox.project, "name": "Old"}
            for each in ids[::2]
        ]
        db.session.execute(models.TestimonialTag.__table__.insert(), tags)
        db.session.commit()


def read(inbox: Inbox) -> list[tuple[object, ...]]:
    """Return what decisions change of every testimonial."""
    row, tag = models.Testimonial, models.TestimonialTag
    query = db.select(row.id, row.status, row.reviewed_at, tag.name).outerjoin(tag)
    with inbox.app.app_context():
        return [tuple(each) for each in db.session.execute(query.order_by(row.id, tag.name))]


def test_many_are_changed_and_put_back_exactly(inbox, monkeypatch):
    """They are committed in parts, here of 7."""
    monkeypatch.setattr(history, "ROWS", 7)
    fill(inbox, 30)
    before = read(inbox)
    approved = inbox.bulk("approve", all="1", status="all")
    assert approved.json["notice"]["text"] == "Approved: 30"
    assert (inbox.counts()["approved"], inbox.undo(approved).status_code) == (30, 200)
    assert read(inbox) == before
    for data, text, rows in (
        (ADD, "Tags changed: 30", 45),
        (REMOVE, "Tags changed: 15", 30),
    ):
        answer = inbox.bulk("", do="tags", **data)
        assert (answer.json["notice"]["text"], len(read(inbox))) == (text, rows)
        assert (inbox.undo(answer).status_code, read(inbox)) == (200, before)
    assert len(read_history(inbox.app)) == 2 * (30 + 30 + 15)
