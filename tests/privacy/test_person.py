"""One person's data across projects: by command, for an account, and for an author."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from testimonials.collection.authors.services import make_author_token
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.mail.outbox import OutboxMail
from testimonials.extensions import begin_write, db
from testimonials.projects.models import MemberInvitation
from testimonials.testimonials import models
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_recording, add_testimonial
from tests.transfer.archives.projects import run_well

pytestmark = pytest.mark.postgres

EMAIL, OTHER = "noor@example.com", "li@example.com"
SECRETS = ("hash", "nonce", "secret", "token_hash", "password_hash", "publicKey", "codeHash")


def fill(app: Flask, owner: Caller, outsider: Caller, email: str) -> str:
    """Write about an address, in two projects; return the first testimonial."""
    first, second = owner.create_project(slug="fern"), outsider.create_project(slug="kiln")
    written = add_testimonial(app, first["_id"], author_email=email, text="Xylophones")
    add_recording(app, written)
    held = add_testimonial(
        app, second["_id"], author_email=email, status="spam", held_for="links", text="Held"
    )
    others = add_testimonial(app, second["_id"], author_email=OTHER, text="Words of Li")
    with app.app_context():
        begin_write()
        batch = RequestBatch(
            project_id=second["_id"],
            actor="a@b.example",
            subject="Please",
            message="Write",
            language="en",
            size=1,
        )
        db.session.add(batch)
        db.session.flush()
        change = {"batch_id": new_identifier(), "actor": "boss@example.com", "action": "edit"}
        db.session.add_all(
            (
                MailedRequest(
                    project_id=second["_id"], batch_id=batch.id, email=email, email_hash="h",
                    name="Noor",
                ),
                models.TestimonialChange(
                    testimonial_id=written, before={"author_name": "Nor"}, **change
                ),
                models.TestimonialChange(
                    testimonial_id=held, before={"status": "spam"}, **change
                ),
                models.TestimonialChange(
                    testimonial_id=others, before={"author_email": email}, **change
                ),
                OutboxMail(
                    purpose="invitation", recipient=email, subject="Please", text="https://secret",
                    html="https://secret",
                ),
                UnsubscribedAddress(
                    account_id=owner.account_id, email_hash=hash_email(owner.account_id, email)
                ),
                MemberInvitation(
                    project_id=first["_id"], email=email, role="admin", nonce_hash="h",
                    invited_by=owner.email, expires_at=clock.now() + timedelta(days=7),
                ),
            )
        )  # fmt: skip
        db.session.commit()
    return written


def names_in(value: Any) -> set[str]:
    """Return the name of every member, however deep."""
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    if isinstance(value, dict):
        return value.keys() | set().union(*map(names_in, value.values()))
    return set()


def test_the_command_finds_an_address_in_all_projects(
    app: Flask, owner: Caller, outsider: Caller, tmp_path: Path
) -> None:
    fill(app, owner, outsider, EMAIL)
    file = tmp_path / "person.json"
    told = run_well(app, "privacy", "export", "Noor@Example.com", str(file))
    assert "testimonials: 2" in told
    assert "account: 0" in told
    assert file.stat().st_mode & 0o777 == 0o600
    found = json.loads(file.read_text())
    assert (found["format"], found["email"], found["account"]) == (
        "testimonials-person", EMAIL, None,
    )  # fmt: skip
    by_text = {each["text"]: each for each in found["testimonials"]}
    assert {text: each["project"]["slug"] for text, each in by_text.items()} == {
        "Xylophones": "fern",
        "Held": "kiln",
    }
    assert by_text["Xylophones"]["recording"]["url"].startswith("http")
    assert by_text["Xylophones"]["changes"][0]["before"] == {"author_name": "Nor"}
    assert [each["subject"] for each in found["requests"]] == ["Please"]
    assert [len(found[name]) for name in ("mails", "remembered", "teamInvitations")] == [1, 1, 1]
    assert found["unsubscribedFrom"] == [owner.account_id]
    # Neither whether it was taken for spam, nor links that work, nor who else works there.
    text = file.read_text()
    assert all(word not in text for word in ("spam", "https://secret", "boss@", "Words of Li"))
    assert not [each for each in names_in(found) if each.lower().endswith(SECRETS)]


def test_an_account_is_in_it_with_its_sessions_and_activity(
    app: Flask, owner: Caller, outsider: Caller, tmp_path: Path
) -> None:
    fill(app, owner, outsider, owner.email)
    run_well(app, "privacy", "export", owner.email, str(tmp_path / "person.json"))
    found = json.loads((tmp_path / "person.json").read_text())
    assert found["account"]["account"]["email"] == owner.email
    assert [each["slug"] for each in found["account"]["projects"]] == ["fern"]
    assert "project.created" in {each["type"] for each in found["account"]["activity"]}
    assert not [each for each in names_in(found) if each.lower().endswith(SECRETS)]
    events = run_well(app, "activity", "list", "--json")
    assert "author.exported" in events


def test_a_person_downloads_it_from_their_account(
    app: Flask, owner: Caller, outsider: Caller
) -> None:
    fill(app, owner, outsider, owner.email)
    answer = open_browser(app, owner).post("/dashboard/account/person", buffered=True)
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=testimonials-pe")
    assert {each["text"] for each in answer.json["testimonials"]} == {"Xylophones", "Held"}
    assert len(answer.json["account"]["sessions"]) == 1


def test_an_author_downloads_what_is_stored_about_one_testimonial(
    app: Flask, owner: Caller, outsider: Caller
) -> None:
    written = fill(app, owner, outsider, EMAIL)
    with app.app_context():
        token = make_author_token(db.session.get_one(models.Testimonial, written))
    visitor = app.test_client()
    assert f"/yours/{token}/data" in visitor.get(f"/yours/{token}").text
    answer = visitor.get(f"/yours/{token}/data")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.headers["Content-Disposition"] == "attachment; filename=testimonial.json"
    (own,) = answer.json["testimonials"]
    assert (own["text"], own["project"]["slug"], len(own["changes"])) == ("Xylophones", "fern", 1)
    assert visitor.get("/yours/made-up/data").status_code == 404
