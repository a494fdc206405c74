"""The author's own page and the mail with its link: seeing, correcting, withdrawing, deleting."""

import html
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import IdempotencyKey
from testimonials.core.images.uploads import Image
from testimonials.projects.models import Project
from testimonials.testimonials import models
from tests.auth.links import mails
from tests.collection.authors.authors import WORDS, Visitor
from tests.core.events import read_history
from tests.support.rows import change_project, change_testimonial, count_rows, deliver_mail

pytestmark = pytest.mark.recount
CORRECTED = {"text": "They listened, thrice.", "name": "Noor H.", "role": "", "rating": "5"}


def history(app: Flask) -> list[tuple[str, str]]:
    return [(row.actor or "", row.action or "") for row in read_history(app)]


def test_the_page_shows_what_was_sent_and_agreed_to(visitor):
    page = visitor.see(visitor.write())
    for words in (
        "They listened.\nTwice.", "Noor Haddad", "Haddad & Co", "Rated 4 out of 5",
        "Kiln & Clay may show my words, name and photo on its website and in print.", "Waiting",
    ):  # fmt: skip
        assert words in page
    # Only the mailed link can prove the address, and the page doesn't tell it.
    assert "noor@example.com" not in page
    row = visitor.row()
    assert (row.status, row.source, row.consent_language) == ("pending", "public_page", "en")
    assert row.consent_text in page
    assert clock.now() - row.consented_at < timedelta(minutes=1)


def test_a_correction_waits_for_the_owner_who_is_told(app, visitor, inbox, moved_clock):
    path = visitor.write()
    answer = inbox.act(visitor.row().id, "approve")
    assert inbox.shown() == ["Noor Haddad"]
    moved_clock.move(minutes=10)
    assert "won’t be shown until" in visitor.see(path + "/correct")
    sent = CORRECTED | {"company": "Haddad & Co"}
    page = visitor.client.post(path + "/correct", data=sent, follow_redirects=True).text
    assert "Your correction has arrived" in page
    row = visitor.row()
    assert (row.status, row.reviewed_at) == ("pending", None)
    assert (row.text, row.author_name, row.author_role) == ("They listened, thrice.", "Noor H.", "")
    assert (row.rating, row.author_company, row.author_email) == (
        5, "Haddad & Co", "noor@example.com"
    )  # fmt: skip
    assert (row.original_text, inbox.shown()) == (WORDS["text"], [])
    # An undo from before must not put the approval back on words that nobody has read.
    assert (inbox.undo(answer).status_code, visitor.row().status) == (409, "pending")
    told = [mail.subject for mail in mails(app) if mail.purpose == "submissions"]
    assert told == [
        "Noor Haddad wrote to you",
        "Noor H. changed their testimonial",
    ]
    assert "Changed by its author" in inbox.get("inbox").text
    page = inbox.get(f"testimonials/{row.id}").text
    assert "Changed by its author" in page
    assert "The author" in page
    assert (inbox.act(row.id, "approve").status_code, inbox.shown()) == (200, ["Noor H."])


def test_the_card_says_whose_words_were_changed_by_the_owner(visitor, inbox):
    path = visitor.write()
    one = visitor.row().id

    def read_marks() -> list[str]:
        inbox.act(one, "approve")
        [item] = visitor.client.get(f"/widget/{inbox.project}/feed").json["items"]
        return list(item.get("extras", {}).get("marks", []))

    def edit(text: str) -> None:
        form = {"author_name": "Noor", "text": text, "submitted_on": "2026-01-02"}
        answer = inbox.client.post(f"{inbox.base}/testimonials/{one}", data=form)
        assert answer.status_code in (200, 302, 303), answer.text

    assert read_marks() == []
    edit("They listened.")
    assert read_marks() == ["shortened"]
    # What its author sent last is the author's own.
    visitor.post(path + "/correct", text="They listened, and well.", name="Noor")
    assert read_marks() == []
    edit("They listened, and very well. Twice.")
    assert read_marks() == ["edited"]


def test_a_correction_obeys_the_rules_of_sending(app, visitor):
    path = visitor.write()
    for values, problem in (
        ({"text": " ", "name": "Noor"}, "Write a sentence or two."),
        ({"text": "w" * 5001, "name": "Noor"}, "Shorten this to"),
        ({"text": "Fine", "name": ""}, "Enter your name"),
        ({"text": "Fine", "name": "Noor", "rating": "6"}, "Choose from 1 to 5 stars"),
    ):
        assert problem in visitor.post(path + "/correct", 422, **values).text
    assert history(app) == []
    # The address is no part of it: it would have to be proven anew.
    for text in ("Second words", "Third words"):
        visitor.post(path + "/correct", text=text, name="Noor", email="other@example.com")
    row = visitor.row()
    assert (row.author_email, row.original_text) == ("noor@example.com", WORDS["text"])
    assert history(app) == [("The author", "correct")] * 2


def test_a_rejected_one_can_be_corrected_once_a_day(visitor, inbox, moved_clock):
    path = visitor.write()
    row_id = visitor.row().id
    inbox.act(row_id, "reject")
    assert "has chosen not to show it" in visitor.see(path)
    visitor.post(path + "/correct", text="Second words", name="Noor Haddad")
    assert visitor.row().status == "pending"
    inbox.act(row_id, "reject")
    visitor.post(path + "/correct", text="Third words", name="Noor Haddad")
    assert (visitor.row().status, visitor.row().text) == ("rejected", "Second words")
    assert "/correct" not in visitor.see(path)
    moved_clock.move(days=1, minutes=1)
    visitor.post(path + "/correct", text="Third words", name="Noor Haddad")
    assert (visitor.row().status, visitor.row().text) == ("pending", "Third words")


def test_a_withdrawal_takes_it_from_every_public_place_at_once(visitor, inbox, owner, client):
    path = visitor.write()
    inbox.act(visitor.row().id, "approve")
    listing = f"/v1/projects/{inbox.project}/testimonials"
    feed, wall = f"/widget/{inbox.project}/feed", f"/widget/{inbox.project}"
    before = client.get(feed)
    assert "They listened." in before.text
    assert "They listened." in client.get(wall).text
    assert len(owner.get(listing).json["data"]["items"]) == 1  # type: ignore[index]
    # A GET, as a mail scanner makes it, changes nothing.
    visitor.see(path + "/withdraw")
    assert visitor.row().status == "approved"
    visitor.post(path + "/withdraw")
    after = client.get(feed, headers={"If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    for answer in (after, client.get(wall), owner.get(listing)):
        assert "They listened." not in answer.text
    row = visitor.row()
    assert row.status == "withdrawn"
    assert row.consent_withdrawn_at is not None
    assert "Withdrawn by its author" in inbox.get("inbox?status=rejected").text
    assert (inbox.counts()["rejected"], inbox.counts()["all"]) == (1, 1)


def test_nothing_of_the_owners_brings_a_withdrawn_one_back(visitor, inbox):
    path = visitor.write()
    row_id = visitor.row().id
    approved = inbox.act(row_id, "approve")
    rejected = inbox.act(row_id, "reject")
    many = inbox.bulk("approve", ids=[row_id])
    pinned = inbox.act(row_id, "pin")
    aside = inbox.act(row_id, "set-aside", "withdrawn")
    visitor.post(path + "/withdraw")
    for answer in (approved, rejected, many, pinned, aside):
        assert inbox.undo(answer).status_code == 409
    for action in ("approve", "reject", "pin"):
        assert inbox.act(row_id, action).status_code == 409
        assert inbox.bulk(action, ids=[row_id]).status_code == 409
    assert inbox.bulk("approve", all="1", status="rejected").status_code == 409
    edited = inbox.client.post(
        f"{inbox.base}/testimonials/{row_id}",
        data={"text": "Owner's", "author_name": "N", "submitted_on": "2026-01-01"},
    )
    assert (edited.status_code, "Its author has withdrawn it" in edited.text) == (409, True)
    # The trash and back is no way around it either.
    assert inbox.undo(inbox.act(row_id, "delete")).status_code == 200
    inbox.act(row_id, "delete")
    assert inbox.act(row_id, "restore").status_code == 200
    assert (visitor.row().status, inbox.shown()) == ("withdrawn", [])


def test_the_author_may_consent_again(visitor, inbox):
    path = visitor.write()
    approved = inbox.act(visitor.row().id, "approve")
    first = visitor.row().consented_at
    visitor.post(path + "/withdraw")
    # What is withdrawn can't be corrected, and consent needs the tick.
    visitor.post(path + "/correct", text="Other", name="Noor")
    assert visitor.row().text == WORDS["text"]
    assert "Tick this" in visitor.post(path, 422).text
    assert visitor.row().status == "withdrawn"
    visitor.post(path + "?lang=de", consent="yes")
    row = visitor.row()
    assert (row.status, row.reviewed_at, row.consent_withdrawn_at) == ("pending", None, None)
    assert row.consented_at > first
    assert (row.consent_language, inbox.shown()) == ("de", [])
    assert inbox.undo(approved).status_code == 409
    assert (inbox.act(row.id, "approve").status_code, inbox.shown()) == (200, ["Noor Haddad"])
    # Where nothing is withdrawn there is nothing to consent to.
    visitor.post(path, consent="yes")
    assert visitor.row().status == "approved"


@pytest.mark.parametrize("status", ["rejected", "spam"])
def test_withdrawing_and_consenting_is_no_way_around_a_decision(visitor, app, status):
    path = visitor.write()
    change_testimonial(app, visitor.row().id, status=status)
    visitor.post(path + "/withdraw")
    visitor.post(path, consent="yes")
    assert visitor.row().status == status


@pytest.mark.parametrize("have_mails_left", [False, True])
def test_deleting_leaves_nothing(visitor, inbox, app, smtp, have_mails_left):
    path = visitor.write(text="A very own sentence")
    if have_mails_left:
        assert deliver_mail(app, smtp.url) == 2
    row_id = visitor.row().id
    with app.app_context(), write():
        pictures = [Image(width=1, height=1, content=b"x") for _ in range(2)]
        db.session.add_all(pictures)
        account = db.session.get_one(Project, inbox.project).account_id
        for owner in (f"{account}.", f"{account}.token", "another."):
            answer = {"status": 200, "body": b"A very own sentence"}
            db.session.add(IdempotencyKey(owner=owner, key="k", fingerprint="f", **answer))
        db.session.flush()
        own, shared = (picture.id for picture in pictures)
    change_testimonial(app, row_id, avatar_id=own)
    change_project(app, inbox.project, logo_id=shared)
    inbox.act(row_id, "approve")
    visitor.post(path + "/correct", text="A second own sentence", name="Noor Haddad")
    inbox.act(row_id, "approve")
    visitor.see(path + "/delete")
    assert inbox.shown() == ["Noor Haddad"]
    farewell = visitor.client.post(path + "/delete", follow_redirects=True)
    assert "Everything has been deleted" in farewell.text
    assert inbox.shown() == []
    assert (count_rows(app, models.Testimonial), read_history(app)) == (0, [])
    with app.app_context():
        assert list(db.session.scalars(select(Image.id))) == [shared]
        # What the API answered is forgotten, and isn't made again.
        kept = db.session.query(IdempotencyKey.owner).filter(IdempotencyKey.body != b"")
        assert [row.owner for row in kept] == ["another."]
        assert db.session.query(IdempotencyKey).count() == 3
    kept = "".join(f"{mail.recipient} {mail.subject} {mail.text}{mail.html}" for mail in mails(app))
    for trace in ("own sentence", "Noor", "noor@example.com"):
        assert trace not in kept
    assert [mail.purpose for mail in mails(app)] == ["submissions"]
    assert "Nothing is left here" in visitor.see(path, 410)
    for page in ("/withdraw", "/correct", "/delete", "", "/verify", "/not-mine"):
        assert "Better words" in visitor.post(path + page, 410, text="Better words").text


def test_in_a_deleted_project_only_leaving_is_left(visitor, inbox, app):
    path = visitor.write()
    change_project(app, inbox.project, deleted_at=clock.now())
    page = visitor.see(path)
    assert "no longer collects testimonials" in page
    assert "theme.css" not in page
    visitor.post(path + "/correct", text="Other", name="Noor")
    assert visitor.row().text == WORDS["text"]
    visitor.post(path + "/withdraw")
    assert visitor.row().status == "withdrawn"
    visitor.post(path, consent="yes")
    assert visitor.row().status == "withdrawn"
    visitor.post(path + "/delete")
    assert count_rows(app, models.Testimonial) == 0


def test_links_live_for_years(visitor, moved_clock):
    path = visitor.write()
    moved_clock.move(days=4 * 365)
    visitor.see(path)
    moved_clock.move(days=366)
    assert "This link no longer works." in visitor.see(path, 404)


def test_deleting_leaves_the_mails_of_others(visitor, inbox):
    path = visitor.write()
    Visitor(visitor.client, inbox.project, "kiln", "10.3.0.2").write(name="Maya", text="Other")
    visitor.post(path + "/delete")
    assert [mail.recipient for mail in visitor.mailed()] == ["noor@example.com"]
    assert "Maya" in visitor.see(visitor.mailed_path())


def test_what_was_set_aside_as_withdrawn_may_be_consented_to_again(visitor, inbox):
    path = visitor.write()
    answer = inbox.act(visitor.row().id, "set-aside", "withdrawn")
    assert "Set aside: withdrawn by its author" in inbox.get("inbox?status=rejected").text
    visitor.post(path, consent="yes")
    row = visitor.row()
    assert (row.status, row.set_aside, row.consent_withdrawn_at) == ("pending", None, None)
    assert inbox.undo(answer).status_code == 409


def test_authors_delete_what_is_in_the_trash(visitor, inbox, app):
    path = visitor.write()
    inbox.act(visitor.row().id, "delete")
    page = visitor.see(path)
    assert "has removed it" in page
    assert "/correct" not in page
    visitor.post(path + "/correct", text="Other", name="Noor")
    assert visitor.row().text == WORDS["text"]
    visitor.post(path + "/delete")
    assert count_rows(app, models.Testimonial) == 0


def test_a_paused_project_takes_corrections(visitor, inbox, app):
    path = visitor.write()
    inbox.act(visitor.row().id, "approve")
    change_project(app, inbox.project, status="inactive")
    assert "shows no testimonials at the moment" in visitor.see(path)
    visitor.post(path + "/correct", text="Other", name="Noor")
    assert visitor.row().status == "pending"
    visitor.post(path + "/withdraw")
    assert visitor.row().status == "withdrawn"


def test_the_mail_has_the_link_and_the_language_but_no_words_of_theirs(visitor):
    visitor.write(name="Buy <b>now</b>", text="Cheap pills", company="Spam Ltd")
    (mail,) = visitor.mailed()
    assert (mail.recipient, mail.subject) == (
        "noor@example.com",
        "Your testimonial for Kiln & Clay",
    )
    for body in (mail.text, html.unescape(mail.html)):
        assert visitor.mailed_path() in body
        for word in ("Buy ", "pills", "Spam Ltd", "They listened"):
            assert word not in body
    assert "Cheap pills" in visitor.see(visitor.mailed_path())
    visitor.write(lang="ar", text="Other")
    mail = visitor.mailed()[-1]
    assert mail.subject.startswith("شهادتك")
    assert '<html lang="ar" dir="rtl">' in mail.html
    assert "?lang=ar" in mail.text


def test_the_address_is_proven_by_the_button_and_not_by_a_look(visitor, inbox):
    own = visitor.write()
    mailed = visitor.mailed_path()
    assert mailed != own
    for path in ("", "/correct", "/withdraw", "/delete", "/not-mine"):
        visitor.see(mailed + path)
    assert visitor.row().email_verified_at is None
    assert "Yes, this is my address" in visitor.see(mailed)
    # The link of the thank-you page proves nothing: whoever typed the address has it.
    assert "Yes, this is my address" not in visitor.see(own)
    visitor.post(own + "/verify")
    visitor.post(own + "/correct", text="Other", name="Noor")
    assert visitor.row().email_verified_at is None
    place = f"testimonials/{visitor.row().id}"
    assert ">Verified<" not in inbox.get(place).text
    visitor.post(mailed + "/verify")
    assert visitor.row().email_verified_at is not None
    assert "Yes, this is my address" not in visitor.see(mailed)
    assert ">Verified<" in inbox.get(place).text


@pytest.mark.parametrize("path", ["/withdraw", "/correct", ""])
def test_what_is_done_by_the_mailed_link_proves_the_address(visitor, path):
    own = visitor.write()
    # Nor can the link of the thank-you page take the address away.
    assert visitor.client.get(own + "/not-mine").status_code == 303
    visitor.post(own + "/not-mine")
    assert (visitor.row().author_email, visitor.row().status) == (WORDS["email"], "pending")
    if not path:
        visitor.post(own + "/withdraw")
    visitor.post(visitor.mailed_path() + path, text="Other words", name="Noor", consent="yes")
    assert visitor.row().email_verified_at is not None


def test_another_address_from_the_owner_is_not_proven(visitor, inbox):
    visitor.write()
    mailed = visitor.mailed_path()
    visitor.post(mailed + "/verify")
    row = visitor.row()
    values = {"text": row.text, "author_name": row.author_name, "author_email": "b@example.com"}
    answer = inbox.client.post(
        f"{inbox.base}/testimonials/{row.id}",
        data=values | {"submitted_on": row.submitted_at.date().isoformat()},
    )
    assert (answer.status_code, visitor.row().author_email) == (303, "b@example.com")
    assert visitor.row().email_verified_at is None
    # The link still is the author's, but says nothing of this address.
    visitor.post(mailed + "/verify")
    assert visitor.row().email_verified_at is None


def test_one_address_gets_three_mails_a_day(visitor, inbox):
    for number in range(5):
        visitor.ip = f"10.3.1.{number}"
        visitor.write(text=f"Words {number}", email=f"noor+{number}@example.com")
    assert len(visitor.mailed()) == 3
    # Other people's mails are not touched by that, and every submission is stored.
    visitor.write(email="maya@example.com")
    assert [mail.recipient for mail in visitor.mailed()][3:] == ["maya@example.com"]
    assert inbox.counts()["pending"] == 6


def test_one_visitor_causes_ten_mails_an_hour(visitor, inbox):
    for number in range(12):
        visitor.ip = f"2001:db8:1:{number}::1"
        visitor.write(email=f"person{number}@example.com", text=f"Words {number}")
    assert (len(visitor.mailed()), inbox.counts()["pending"]) == (10, 12)


def test_a_stranger_whose_address_it_is_ends_it(visitor, inbox, app):
    own = visitor.write()
    mailed = visitor.mailed_path()
    row_id = visitor.row().id
    approved = inbox.act(row_id, "approve")
    # The owner had edited it before, which must not keep the address in the history.
    change_testimonial(app, row_id, email_verified_at=None)
    visitor.see(mailed + "/not-mine")
    assert visitor.row().author_email == WORDS["email"]
    answer = visitor.client.post(mailed + "/not-mine", follow_redirects=True)
    assert "Your address has been removed" in answer.text
    row = visitor.row()
    assert (row.author_email, row.status, row.held_for) == (None, "spam", "disowned")
    assert (inbox.shown(), inbox.undo(approved).status_code) == ([], 409)
    assert visitor.mailed() == []
    page = inbox.get(f"testimonials/{row_id}").text
    assert "Disowned by the holder of the email address" in page
    assert WORDS["email"] not in page
    # The link is the stranger's no more; that of who wrote it still is theirs.
    visitor.see(mailed, 404)
    visitor.post(mailed + "/delete", 404)
    visitor.see(own)
    # No further mail goes there.
    visitor.ip = "10.3.0.9"
    visitor.write()
    assert visitor.mailed() == []
