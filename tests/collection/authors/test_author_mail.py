"""The mail to the author: whom it reaches, what it proves, and how a stranger ends it."""

import html

import pytest
from flask import Flask

from tests.collection.authors.authors import WORDS, Visitor
from tests.dashboard.inbox.inbox import Inbox
from tests.support.rows import change_testimonial


def test_the_mail_holds_the_link_and_no_words_of_the_visitor(visitor: Visitor) -> None:
    visitor.write(name="Buy <b>now</b>", text="Cheap pills", company="Spam Ltd")
    (mail,) = visitor.mailed()
    assert (mail.recipient, mail.subject) == (
        "noor@example.com",
        "Your testimonial for Kiln & Clay",
    )
    for body in (mail.text, html.unescape(mail.html)):
        assert visitor.mailed_path() in body
        for word in ("Buy", "pills", "Spam Ltd", "They listened"):
            assert word not in body
    assert "Cheap pills" in visitor.see(visitor.mailed_path())


def test_the_mail_is_in_the_language_of_the_form(visitor: Visitor) -> None:
    visitor.write(lang="ar")
    (mail,) = visitor.mailed()
    assert mail.subject.startswith("شهادتك")
    assert '<html lang="ar" dir="rtl">' in mail.html
    assert "?lang=ar" in mail.text


def test_the_address_is_proven_by_the_button_and_not_by_a_look(
    visitor: Visitor, inbox: Inbox
) -> None:
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
    assert "verified" not in inbox.get("inbox").text
    visitor.post(mailed + "/verify")
    assert visitor.row().email_verified_at is not None
    assert "Yes, this is my address" not in visitor.see(mailed)
    assert "</svg>verified</span>" in inbox.get("inbox").text
    page = inbox.get(f"testimonials/{visitor.row().id}").text
    assert "Verified: its author opened a link mailed to it." in page


@pytest.mark.parametrize("path", ["/withdraw", "/correct"])
def test_what_is_done_by_the_mailed_link_proves_the_address(visitor: Visitor, path: str) -> None:
    own = visitor.write()
    # Nor can the link of the thank-you page take the address away.
    assert visitor.client.get(own + "/not-mine").status_code == 303
    visitor.post(own + "/not-mine")
    assert (visitor.row().author_email, visitor.row().status) == (WORDS["email"], "pending")
    visitor.post(visitor.mailed_path() + path, text="Other words", name="Noor")
    assert visitor.row().email_verified_at is not None


def test_consenting_again_by_the_mailed_link_proves_the_address(visitor: Visitor) -> None:
    visitor.post(visitor.write() + "/withdraw")
    visitor.post(visitor.mailed_path(), consent="yes")
    assert visitor.row().email_verified_at is not None


def test_another_address_from_the_owner_is_not_proven(visitor: Visitor, inbox: Inbox) -> None:
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


def test_it_is_never_public(visitor: Visitor, inbox: Inbox) -> None:
    visitor.write()
    visitor.post(visitor.mailed_path() + "/verify")
    inbox.act(visitor.row().id, "approve")
    for path in (f"/widget/{inbox.project}/feed", f"/widget/{inbox.project}"):
        answer = visitor.client.get(path).text
        assert "Noor Haddad" in answer
        assert "noor@example.com" not in answer
        assert "erified" not in answer


def test_one_address_gets_three_mails_a_day(visitor: Visitor, inbox: Inbox) -> None:
    for number in range(5):
        visitor.ip = f"10.3.1.{number}"
        visitor.write(text=f"Words {number}", email=f"noor+{number}@example.com")
    assert len(visitor.mailed()) == 3
    # Other people's mails are not touched by that, and every submission is stored.
    visitor.write(email="maya@example.com")
    assert [mail.recipient for mail in visitor.mailed()][3:] == ["maya@example.com"]
    assert inbox.counts()["pending"] == 6


def test_one_visitor_causes_ten_mails_an_hour(visitor: Visitor, inbox: Inbox) -> None:
    for number in range(12):
        visitor.ip = f"2001:db8:1:{number}::1"
        visitor.write(email=f"person{number}@example.com", text=f"Words {number}")
    assert (len(visitor.mailed()), inbox.counts()["pending"]) == (10, 12)


def test_a_stranger_whose_address_it_is_ends_it(visitor: Visitor, inbox: Inbox, app: Flask) -> None:
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
    assert "Denied by the owner of the email address" in page
    assert WORDS["email"] not in page
    # The link is the stranger's no more; that of who wrote it still is theirs.
    visitor.see(mailed, 404)
    visitor.post(mailed + "/delete", 404)
    visitor.see(own)
    # No further mail goes there.
    visitor.ip = "10.3.0.9"
    visitor.write()
    assert visitor.mailed() == []
