"""One person's data across projects, as docs/privacy.md says, and that what was erased stays so."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, text

from testimonials.auth.tokens import Scope
from testimonials.collection.author_rights import make_author_token
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core import clock
from testimonials.core.db.engine import Base
from testimonials.core.db.erasure import Erased
from testimonials.core.db.sqlite import copy_database, find_damage
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import run_due
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.settings.table import Settings, current_settings
from testimonials.projects.models import Proposal, TeamInvitation
from testimonials.testimonials import models
from testimonials.transfer.erasure import NAME, read_list
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.collection.authors.authors import Visitor
from tests.conftest import Caller, MakeApp, MakeCaller
from tests.core.events import make_change
from tests.operations.instances import back_up, query, refused_here, restore_here
from tests.support.commands import run_well
from tests.support.rows import add_recording, add_testimonial, count_rows
from tests.testimonials.media.recorded import VIDEO
from tests.testimonials.moderation.test_setting_aside import decide

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
    with app.app_context(), write():
        words = {"actor": "a@b.example", "subject": "Please", "message": "Write"}
        batch = RequestBatch(project_id=second["_id"], language="en", size=1, **words)
        db.session.add(batch)
        db.session.flush()
        boss = "boss@example.com"
        db.session.add_all(
            (
                MailedRequest(
                    project_id=second["_id"], batch_id=batch.id, email=email, email_hash="h",
                    name="Noor",
                ),
                make_change(written, {"author_name": "Nor"}, actor=boss),
                make_change(held, {"status": "spam", "set_aside": "spam"}, actor=boss),
                make_change(others, {"author_email": email}, actor=boss),
                OutboxMail(
                    purpose="invitation", recipient=email, subject="Please", text="https://secret",
                    html="https://secret",
                ),
                UnsubscribedAddress(
                    account_id=owner.account_id, email_hash=hash_email(owner.account_id, email)
                ),
                TeamInvitation(
                    project_id=first["_id"], email=email, role="admin", nonce_hash="h",
                    invited_by=owner.email, expires_at=clock.now() + timedelta(days=7),
                ),
            )
        )  # fmt: skip
    return written


def names_in(value: Any) -> set[str]:
    """Return the name of every member, however deep."""
    if isinstance(value, list):
        return set().union(*map(names_in, value))
    if isinstance(value, dict):
        return value.keys() | set().union(*map(names_in, value.values()))
    return set()


@pytest.mark.postgres
def test_the_command_finds_all(app, owner, outsider, tmp_path):
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
    hidden = ("spam", '"held"', "https://secret", "boss@", "Words of Li")
    assert all(word not in text for word in hidden)
    assert not [each for each in names_in(found) if each.lower().endswith(SECRETS)]


@pytest.mark.postgres
def test_an_account_is_in_it_with_its_sessions_and_activity(app, owner, outsider, tmp_path):
    fill(app, owner, outsider, owner.email)
    run_well(app, "privacy", "export", owner.email, str(tmp_path / "person.json"))
    found = json.loads((tmp_path / "person.json").read_text())
    assert found["account"]["account"]["email"] == owner.email
    assert [each["slug"] for each in found["account"]["projects"]] == ["fern"]
    assert "project.created" in {each["type"] for each in found["account"]["activity"]}
    assert not [each for each in names_in(found) if each.lower().endswith(SECRETS)]
    assert "author.exported" in run_well(app, "activity", "list", "--json")
    # They download the same from their account.
    answer = open_browser(app, owner).post("/dashboard/account/person", buffered=True)
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=testimonials-pe")
    assert {each["text"] for each in answer.json["testimonials"]} == {"Xylophones", "Held"}
    assert answer.json["account"]["sessions"]


@pytest.mark.postgres
def test_an_author_downloads_what_is_stored(app, owner, outsider):
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


class Kept:
    """An instance, what was written in it, and its backup."""

    def __init__(self, app: Flask, owner: Caller, folder: Path) -> None:
        self.app, self.folder = app, folder
        self.instance = Path(current_settings(app).instance_path)
        self.project = owner.create_project(slug="fern")["_id"]
        self.account = owner.account_id
        self.noors = add_testimonial(app, self.project, author_email=EMAIL, text="Xylophones")
        self.lis = add_testimonial(app, self.project, author_email=OTHER, text="Words of Li")
        self.recording = add_recording(app, self.noors)
        media = self.instance / "media"
        media.mkdir(exist_ok=True)
        (media / self.recording).write_bytes(b"v")
        with app.app_context(), write():
            db.session.add(make_change(self.lis, {"author_email": EMAIL, "rating": 4}))
            words = {"actor": "a@b.example", "subject": "Please", "message": "Write"}
            batch = RequestBatch(project_id=self.project, language="en", size=1, **words)
            db.session.add(batch)
            db.session.flush()
            asked = {"email": EMAIL, "email_hash": hash_email(self.account, EMAIL)}
            db.session.add(MailedRequest(project_id=self.project, batch_id=batch.id, **asked))
            values = {"people": [{"email": EMAIL}]}
            by = {"actor_kind": "agent", "kind": "request"}
            db.session.add(Proposal(project_id=self.project, values=values, **by))
        self.backup = folder / "backup.tar.gz"
        back_up(self.instance, self.backup)
        change(self, "UPDATE invitation SET testimonial_id = :id")


@pytest.fixture
def kept(make_app: MakeApp, make_caller: MakeCaller, tmp_path: Path) -> Kept:
    folder = tmp_path / "kept"
    folder.mkdir()
    app = make_app(backup_path=str(folder))
    return Kept(app, make_caller("keeper@example.com", is_claimed=True, on=app), folder)


def erase_by_page(kept: Kept) -> None:
    """The author deletes it by the link that was mailed."""
    with kept.app.app_context():
        token = make_author_token(db.session.get_one(models.Testimonial, kept.noors))
    answer = kept.app.test_client().post(f"/yours/{token}/delete")
    assert answer.status_code == 303, answer.text


def erase_by_command(kept: Kept) -> None:
    run_well(kept.app, "authors", "erase", EMAIL, "--yes")


def delete_project(kept: Kept) -> None:
    run_well(kept.app, "projects", "delete", "fern", "--yes")


def delete_account(kept: Kept) -> None:
    run_well(kept.app, "accounts", "delete", kept.account, "--yes")


def change(kept: Kept, statement: str) -> None:
    with kept.app.app_context(), write():
        db.session.execute(text(statement), {"id": kept.noors})


def texts(folder: Path) -> list[str]:
    return [row[0] for row in query(folder, "SELECT text FROM testimonial ORDER BY text")]


SALTS = (
    "SELECT count(*) FROM event WHERE salt IS NOT NULL AND testimonial_id NOT IN "
    "(SELECT id FROM testimonial)"
)


@pytest.mark.parametrize(
    ("erase", "left"),
    [
        (erase_by_page, ["Words of Li"]), (erase_by_command, ["Words of Li"]), (delete_project, []),
        (delete_account, []),
    ],
)  # fmt: skip
def test_no_older_backup_brings_it_back(kept, tmp_path, erase, left):
    """Neither where the data still is, nor on a new machine that has the backups alone."""
    erase(kept)
    here = tmp_path / "here"
    here.mkdir()
    copy_database(kept.instance / "testimonials.db", here / "testimonials.db")
    elsewhere = tmp_path / "elsewhere"
    assert restore_here(elsewhere, kept.backup)["erasedAgain"] == 0
    assert len(texts(elsewhere)) == 2, "Nothing there has heard of it."
    run_well(kept.app, "prune")
    for folder in (here, tmp_path / "new"):
        if folder == here:
            (kept.folder / NAME).rename(tmp_path / NAME)
        else:
            (tmp_path / NAME).rename(kept.folder / NAME)
        done = restore_here(folder, kept.backup, "--replace")
        assert done["erasedAgain"] > 0
        assert texts(folder) == left
        assert query(folder, "SELECT email FROM invitation") == []
        if erase is not erase_by_page:
            assert query(folder, "SELECT id FROM proposal") == []
        if left:
            assert len(query(folder, "SELECT email_hash FROM unsubscribed_address")) == 1
        assert [path.name for path in (folder / "media").iterdir()] == []
        assert b"Xylophones" not in (folder / "testimonials.db").read_bytes()
        words = "SELECT count(*) FROM testimonial_search WHERE words MATCH 'xylophones'"
        assert query(folder, words) == [(0,)]
        # Without the salt, nobody can find out that a hash in the public record is of the words.
        assert query(folder, SALTS) == [(0,)]
        assert find_damage(folder / "testimonials.db") == []


def test_no_older_backup_brings_back_what_quotes_it(kept, make_caller, tmp_path):
    """Mails that still wait, kept answers, proposals and messages to endpoints; the log says it."""
    app, words = kept.app, ("zanzibar", "xerxes", "quimby")
    owner = make_caller("second@example.com", is_claimed=True, on=app)
    project = owner.create_project(slug="oat")["_id"]
    helper, agent = give_token(app, owner, *Scope), give_token(app, owner, Scope.READ, Scope.DRAFT)
    helper.post(f"/v1/projects/{project}/webhooks", {"url": "https://example.com/hook"})
    visitor = Visitor(app.test_client(), project, "oat")
    own = visitor.write(text="Zanzibar.", name="Xerxes Quimby", email="xerxes@example.com")
    one = visitor.row().id
    path = f"/v1/projects/{project}/testimonials/{one}"
    headers = {**helper.headers, "Idempotency-Key": "once"}
    assert (
        helper.client.patch(path, json={"reply": "Thank you!"}, headers=headers).status_code == 200
    )
    assert agent.patch(path, {"text": "Zanzibar!"}).status_code == 202
    decide(helper, project, one, decision="approve")
    with app.app_context():
        run_due("webhooks")
    backup = tmp_path / "backup.tar.gz"
    back_up(kept.instance, backup)
    visitor.post(f"{own}/delete")
    run_well(app, "prune")
    (kept.folder / NAME).rename(tmp_path / NAME)
    there = tmp_path / "there"
    assert restore_here(there, backup)["erasedAgain"] == 1
    content = (there / "testimonials.db").read_bytes().lower()
    assert [word for word in words if word.encode() in content] == []
    entries = query(there, "SELECT entry FROM event WHERE entry NOTNULL ORDER BY number DESC")
    newest = next(each for (entry,) in entries if (each := json.loads(entry))["kind"] == "erased")
    assert (newest["testimonial"], newest["reason"]) == (one, "withdrawn")
    assert query(there, "SELECT count(*) FROM kept_rating") == [(0,)]


def author_posts(kept: Kept, page: str, *, is_mailed: bool = False) -> None:
    with kept.app.app_context():
        row = db.session.get_one(models.Testimonial, kept.noors)
        token = make_author_token(row, is_mailed=is_mailed)
    answer = kept.app.test_client().post(f"/yours/{token}/{page}")
    assert answer.status_code == 303, answer.text


@pytest.mark.parametrize("has_words", [True, False])
def test_a_removed_recording_stays_so(kept, tmp_path, has_words):
    if not has_words:
        change(kept, "UPDATE testimonial SET text = '' WHERE id = :id")
        kept.backup = kept.folder / "wordless.tar.gz"
        back_up(kept.instance, kept.backup)
        change(kept, "UPDATE testimonial SET text = 'Xylophones' WHERE id = :id")
    author_posts(kept, "recording")
    run_well(kept.app, "prune")
    restored = tmp_path / "restored"
    assert restore_here(restored, kept.backup)["erasedAgain"] == 1
    rows = query(restored, "SELECT kind, text FROM testimonial ORDER BY text DESC")
    # Without its recording nothing would be left of one that had no words.
    assert rows == [("written", "Xylophones")] * has_words + [("written", "Words of Li")]
    assert query(restored, "SELECT count(*) FROM recording") == [(0,)]
    assert list((restored / "media").iterdir()) == []


def test_an_address_that_was_disowned_stays_so(kept, tmp_path):
    archive = tmp_path / "fern.zip"
    (kept.instance / "media" / kept.recording).write_bytes(VIDEO)
    run_well(kept.app, "projects", "export", "fern", str(archive))
    author_posts(kept, "not-mine", is_mailed=True)
    run_well(kept.app, "prune")
    restored = tmp_path / "restored"
    assert restore_here(restored, kept.backup)["erasedAgain"] == 1
    select = "SELECT author_email, status, held_for FROM testimonial ORDER BY text DESC"
    expected = [(None, "spam", "disowned"), (OTHER, "approved", None)]
    assert query(restored, select) == expected
    assert query(restored, "SELECT count(*) FROM unsubscribed_address") == [(1,)]
    delete_project(kept)
    run_well(kept.app, "prune")
    run_well(kept.app, "projects", "import", str(archive), "--account", "keeper@example.com")
    assert query(kept.instance, select) == expected


def test_what_a_person_writes_later_stays(moved_clock, kept, tmp_path):
    moved_clock.move(days=1)
    erase_by_command(kept)
    moved_clock.move(days=1)
    add_testimonial(kept.app, kept.project, author_email=EMAIL, text="Anew")
    run_well(kept.app, "prune")
    later = kept.folder / "later.tar.gz"
    back_up(kept.instance, later)
    assert restore_here(tmp_path / "restored", later)["erasedAgain"] == 0
    assert texts(tmp_path / "restored") == ["Anew", "Words of Li"]


def test_a_dry_run_changes_nothing_and_others_history_forgets(kept, tmp_path):
    erase_by_command(kept)
    run_well(kept.app, "prune")
    restored = tmp_path / "restored"
    told = restore_here(restored, kept.backup, "--dry-run")
    assert (told["restored"], told["erasedAgain"]) == (False, 3)
    assert not (restored / NAME).exists()
    restore_here(restored, kept.backup)
    found = query(restored, "SELECT before FROM event WHERE before IS NOT NULL")
    assert found == [('{"rating": 4}',)]


def test_a_damaged_list_is_refused_and_never_passed_over(kept, tmp_path):
    (kept.folder / NAME).write_text('{"format": "testimonials-erased", "erased": [1]}')
    said = refused_here("restore", tmp_path / "restored", kept.backup)
    assert f"{kept.folder / NAME} is damaged. Nothing was changed." in said
    assert not (tmp_path / "restored" / "testimonials.db").exists()


def test_a_database_from_before_the_table_learns_it_from_the_file(kept):
    erase_by_command(kept)
    run_well(kept.app, "prune")
    # Of a person it keeps a salted hash alone.
    assert EMAIL not in (kept.folder / NAME).read_text()
    assert (kept.folder / NAME).stat().st_mode & 0o777 == 0o600
    known = read_list(kept.instance / NAME)
    with kept.app.app_context(), write():
        db.session.execute(delete(Erased))
    run_well(kept.app, "prune")
    assert count_rows(kept.app, Erased) == 3
    assert read_list(kept.instance / NAME) == known == read_list(kept.folder / NAME)


def test_an_archive_brings_back_a_deleted_project_but_nothing_that_its_author_erased(
    kept, tmp_path
):
    archive = tmp_path / "fern.zip"
    (kept.instance / "media" / kept.recording).write_bytes(VIDEO)
    run_well(kept.app, "projects", "export", "fern", str(archive))
    erase_by_command(kept)
    delete_project(kept)
    run_well(kept.app, "prune")
    said = run_well(kept.app, "projects", "import", str(archive), "--account", "keeper@example.com")
    assert "1 testimonial(s) and request(s) are left out: they were erased here." in said
    run_well(kept.app, "prune")
    assert texts(kept.instance) == ["Words of Li"]
    assert EMAIL not in str(
        query(kept.instance, "SELECT before FROM event WHERE before IS NOT NULL")
    )
    kinds = {kind for kind, _ in read_list(kept.folder / NAME)}
    assert kinds == {"testimonial", "person", "request"}, "The project is there again."


TEXT = (Path(__file__).parents[2] / "docs/privacy.md").read_text(encoding="utf-8")


def test_every_table_is_named(app):
    """A new one can't be forgotten where people ask what is kept about them."""
    named = re.findall(r"`([a-z_]+)`", TEXT)
    assert sorted(named) == sorted(Base.metadata.tables)


def test_its_settings_exist():
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", TEXT))
    assert named <= {name.upper() for name in Settings.__dataclass_fields__}
    days = {name.upper() for name in Settings.__dataclass_fields__ if name.endswith("_days")}
    # Of numbers, and of proofs and backups.
    assert days - named <= {"INSIGHT_DAYS", "BACKUP_VERIFY_DAYS"}
