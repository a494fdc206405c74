"""`testimonials authors erase`: everything about an author's address, over all projects."""

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.images.uploads import AVATAR, Image
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.projects.models import Proposal
from testimonials.testimonials import models
from tests.conftest import Caller
from tests.core.events import make_change, read_history
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.support.commands import run, run_well
from tests.support.pictures import photo, read_image, to_bytes
from tests.support.rows import add_testimonial, count_rows, everything

EMAIL = "noor@example.com"
OTHER = "li@example.com"


@pytest.fixture
def inbox(app: Flask, owner: Caller, outsider: Caller) -> Inbox:
    """Two projects with what Noor and Li wrote, requests to both, and mails."""
    found = open_inbox(app, owner, slug="fern")
    second = outsider.create_project(slug="kiln")["_id"]
    (sent,) = found.receive("Noor", author_email=EMAIL)
    add_testimonial(app, second, author_email=EMAIL, text="Elsewhere too")
    answer = add_testimonial(app, second, author_email=None, text="An answer without an address")
    mixed = add_testimonial(app, second, author_email=OTHER, text="Words of Li")
    with app.app_context(), write():
        image = read_image(to_bytes(photo(80, 80), "PNG"), AVATAR)
        db.session.add(image)
        db.session.flush()
        db.session.get_one(models.Testimonial, sent).avatar_id = image.id
        batch = RequestBatch(
            project_id=second, actor="a", subject="s", message="m", language="en", size=2
        )
        db.session.add(batch)
        db.session.flush()
        for email, testimonial_id in ((EMAIL, answer), (OTHER, mixed)):
            db.session.add(
                MailedRequest(
                    project_id=second,
                    batch_id=batch.id,
                    email=email,
                    email_hash=hash_email(outsider.account_id, email),
                    testimonial_id=testimonial_id,
                )
            )
            values = {"language": "en", "people": [{"email": email}, {"email": "x@example.com"}]}
            for kind in (values, {"authorEmail": email, "text": f"Words of {email}"}):
                db.session.add(
                    Proposal(project_id=second, kind="k", values=kind, actor_kind="agent")
                )
            for purpose in ("author-link", "invitation", "invitation-reminder", "claim"):
                db.session.add(_mail(email, purpose))
        db.session.add(_mail(EMAIL, "invitation", state=MailState.SENDING))
        db.session.add(make_change(mixed, {"author_email": EMAIL, "rating": 4}, actor=owner.email))
        db.session.add(
            UnsubscribedAddress(
                account_id=outsider.account_id, email_hash=hash_email(outsider.account_id, EMAIL)
            )
        )
    return found


def _mail(recipient: str, purpose: str, **values: Any) -> OutboxMail:
    return OutboxMail(
        purpose=purpose, recipient=recipient, subject="s", text="t", html="h", **values
    )


def test_a_dry_run_tells_and_no_means_no(app, inbox):
    before = everything(app)
    told = json.loads(run_well(app, "authors", "erase", EMAIL, "--dry-run", "--json"))
    assert told == {
        "email": EMAIL, "removed": False, "testimonials": 3, "projects": {"fern": 1, "kiln": 2},
        "pictures": 1, "invitations": 1, "mails": 3, "changes": 1, "proposals": 2,
        "hasAccount": False,
    }  # fmt: skip
    text = run_well(app, "authors", "erase", EMAIL, "--dry-run")
    assert "3 testimonial(s) with their history (fern: 1, kiln: 2)" in text
    assert "Words of Noor" in text
    result = run(app, "authors", "erase", EMAIL, typed="n\n")
    assert result.exit_code == 1
    assert "Delete all of this permanently?" in result.output
    assert everything(app) == before


def test_nothing_about_the_address_is_left(app, inbox):
    result = run(app, "authors", "erase", EMAIL.upper(), typed="y\n")
    assert result.exit_code == 0, result.output
    assert "Deleted about noor@example.com:" in result.stdout
    after = everything(app)
    rows = [row for table, each in after.items() for row in each if table != "outbox_mail"]
    assert not [row for row in rows if EMAIL in row or "Words of Noor" in row]
    assert count_rows(app, Image) == 0
    # What others wrote is still there, and what belongs to no author.
    with app.app_context():
        texts = db.session.scalars(select(models.Testimonial.text)).all()
        mails = db.session.execute(select(OutboxMail.recipient, OutboxMail.purpose)).all()
    assert texts == ["Words of Li"]
    assert [change.before for change in read_history(app)] == [{"rating": 4}]
    assert [row for row in mails if row[0] == OTHER and row[1] != "claim"]
    assert sorted(purpose for email, purpose in mails if email == EMAIL) == ["claim", "invitation"]
    # The hash stays, so that nobody writes to the address again.
    assert (count_rows(app, UnsubscribedAddress), count_rows(app, MailedRequest)) == (1, 1)
    assert count_rows(app, Proposal) == 2
    assert inbox.counts()["pending"] == 0


def test_mails_lose_the_words_whatever_address_the_service_had(app, inbox):
    (sent,) = inbox.receive("Ada", author_email="ada@example.com")
    link = f"https://elsewhere.example/dashboard/projects/{inbox.project}/decide/{sent}"
    with app.app_context(), write():
        told = _mail(inbox.owner.email, "submissions")
        told.text = told.html = f"“Words of Ada” {link}"
        db.session.add(told)
    run_well(app, "authors", "erase", "ada@example.com", "--yes")
    assert not [row for row in everything(app)["outbox_mail"] if "Words of Ada" in row]


def test_words_of_strangers_steer_no_terminal(app, inbox):
    inbox.receive("Eve\x9b2J", author_email="eve@example.com", text="\x9b31m\u202eWords\u200d")
    erased = run_well(app, "authors", "erase", "eve@example.com", "--dry-run")
    for told in (erased, run_well(app, "testimonials", "list", "fern")):
        assert "\x9b" not in told
        assert "\u202e" not in told
        assert "Words\u200d" in told


def test_what_is_asked_stays_out_of_the_answer_in_json(app, inbox):
    for arguments in (
        ("authors", "erase", EMAIL),
        ("projects", "delete", "fern"),
        ("accounts", "delete", inbox.owner.email),
    ):
        result = run(app, *arguments, "--json", typed="y\n")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)
        assert "[y/N]" in result.stderr


def test_an_address_of_which_nothing_is_kept(app, owner):
    text = run_well(app, "authors", "erase", "nobody@example.com")
    assert text == "Nothing is stored about an author with the address nobody@example.com.\n"
    told = run_well(app, "authors", "erase", owner.email, "--yes")
    assert "This address also has an account; delete it with `accounts delete`." in told
    wrong = run(app, "authors", "erase", "no address")
    assert wrong.exit_code == 1
    assert wrong.stderr.startswith("Error: ")
