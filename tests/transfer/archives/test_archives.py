"""Archives of projects: all of it comes back."""

import json
import os
import re
import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from testimonials.collection.models import UnsubscribedAddress
from testimonials.core.audit import IS_HISTORY, Event
from testimonials.core.db.engine import Base
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.images.uploads import Image
from testimonials.projects.defaults import IS_HIDDEN, KEYS
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.fields import COLUMNS
from testimonials.testimonials.schemas import TwitterSchema
from testimonials.testimonials.undo import list_steps
from testimonials.transfer.archives import writing
from testimonials.transfer.archives.format import (
    CHANGE,
    LISTS,
    PROJECT,
    TESTIMONIAL,
    StoredTwitterSchema,
)
from testimonials.transfer.tables.columns import FIELDS
from testimonials.transfer.tables.rows import RowSchema
from tests.conftest import Caller
from tests.support.commands import run, run_json, run_well
from tests.support.rows import count_rows
from tests.transfer.archives.projects import MODELS, VERSION_1, change_json, fill_project, read_rows

PARTS = (PROJECT, CHANGE, *LISTS.values())
# Why no archive of a project has these tables, or not as rows.
OTHER_TABLES = {
    "A host name leads to one instance, and is proved to it.": "custom_domain",
    "The names of the tags are in the testimonial.": "testimonial_tag",
    "It is in the request to the address, as `unsubscribedAt`.": "unsubscribed_address",
    "People and their roles are in `team`, and get no access elsewhere.": "member",
    "The link in it belongs to one instance.": "team_invitation",
    "It is answered within a week, on one instance.": "ownership_offer",
    "It belongs to a person of one instance.": "notification_choice",
    "Visitors tell it to whoever runs one instance.": "abuse_report",
    "It is drawn again.": "share_picture testimonial_picture",
    "Versions of the widget's script belong to the instance that served them.": "widget_script",
    "It is signed by one instance; the record begins anew.": "signing_key record_head",
    "A credential belongs to one instance; of the token only a hash is known.": "access_token",
    "It can be undone only where it was made.": "table_import",
    "It is gone within a day.": "idempotency_key",
    "Triggers count what an archive brings.": "testimonial_count tag_count day_count answer_count",
    "It is gone within a minute.": "oauth_code",
    "An agent of one instance waits for its answer.": "proposal",
    "Its receiver knows one instance, whose events it follows.": "webhook_endpoint",
    "It belongs to an endpoint.": "webhook_delivery",
    "An account is exported by itself.": "account",
    "A signed-in browser belongs to one instance.": "session",
    "It works for the address of one instance.": "passkey",
    "It belongs to the account of one instance.": "authenticator_app recovery_code",
    "The operator of one instance chose the company that vouches for it.": "company_identity",
    "It is gone within minutes.": "company_attempt",
    "It belongs to the account.": "billing_subscription",
    "What was counted happened on one instance.":
        "insight_day insight_testimonial_day insight_path_day insight_visit",
    "The outbox stays where it is.": "outbox_mail",
    "It is of an instance; an import leaves out what it names.": "erased",
    "Backups are of an instance, and know where they are.": "stored_backup",
    "It belongs to the processes of one instance.": "job",
    "It is gone within an hour.": "rate_limit_counter",
    "It tells the secret key of one instance.": "secret_mark",
}  # fmt: skip
# What is told anew on the way in, table by table; all else is the same afterwards.
TOLD_ANEW = {
    "project": {
        "account_id", "feed_version", "last_testimonial_at", "deleted_at", "own_host",
        "purchase_secret", "old_purchase_secret", "old_purchase_secret_until",
        "old_numbers", "numbers_from", "event_number",
    },
    "testimonial": {"import_id", "visit"},
    "event": {"id", "batch_id", "undone_at", "number", "account_id"},
    "invitation": {"email_hash", "mail_id"},
}  # fmt: skip


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    return fill_project(app, owner)


@pytest.fixture
def archive(app: Flask, project: str, tmp_path: Path) -> Path:
    path = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(path))
    return path


def bring(app: Flask, path: Path, account: Caller, *options: str) -> Any:
    """Import an archive into an account; return what the command tells."""
    into = ("--account", account.account_id, *options)
    return run_json(app, "projects", "import", str(path), *into)


def same(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Leave out what is told anew."""
    return {
        table: [
            {key: value for key, value in row.items() if key not in TOLD_ANEW.get(table, ())}
            for row in each
        ]
        for table, each in rows.items()
    }


def test_each_table_and_column_is_in_the_archive_or_left_out_with_a_reason():
    tables = {part.table.name for part in PARTS}
    others = {name for names in OTHER_TABLES.values() for name in names.split()}
    assert not tables & others
    assert tables | others >= Base.metadata.tables.keys()
    for part in PARTS:
        columns = {column.name for column in part.table.columns}
        assert set(part.columns) | part.left_out.keys() == columns
        assert all(part.left_out.values())
    # An author on X has the fields of the API.
    assert StoredTwitterSchema().fields.keys() == TwitterSchema().fields.keys()


def test_the_dashboard_keeps_nothing_that_no_archive_has(app, project):
    """The example has all that may be kept, so that the tests below notice what gets lost."""
    with app.app_context():
        found = db.session.get_one(Project, project)
        kept = found.dashboard_config
        assert kept.keys() == KEYS
        with pytest.raises(ValueError, match="dashboard_config has no brandNew"):
            found.dashboard_config = kept | {"brandNew": True}
        assert found.dashboard_config == kept
        # What a newer program has kept stays.
        db.session.rollback()
        lock_for_writing()
        newer = {"ofTomorrow": True, IS_HIDDEN: False}
        db.session.execute(update(Project).values(dashboard_config=newer))
        found = db.session.get_one(Project, project)
        found.dashboard_config = found.dashboard_config | {IS_HIDDEN: True}
        db.session.commit()
        assert found.dashboard_config == {"ofTomorrow": True, IS_HIDDEN: True}


def test_the_example_has_a_value_in_every_column(app, project):
    """Or the tests below would not notice a column that gets lost."""
    rows = read_rows(app, project)
    for model in MODELS:
        for column in model.__table__.columns:
            if model is Project and column.name in ("deleted_at", "old_numbers", "numbers_from"):
                continue
            if model is Event and column.name in CHANGE.left_out:
                continue
            found = [row[column.name] for row in rows[model.__tablename__]]
            assert any(value is not None for value in found), column


def test_what_was_changed_in_parts_comes_back(app, project, tmp_path, outsider):
    with app.app_context(), write():
        db.session.execute(update(Event).where(IS_HISTORY).values(batch_id="a" * 24 + "0001"))
    path = tmp_path / "parts.zip"
    run_well(app, "projects", "export", "fern", str(path))
    told = bring(app, path, outsider, "--slug", "fern-2")
    (change, *_) = read_rows(app, told["_id"])["event"]
    assert change["batch_id"].endswith("0001")


def test_a_project_comes_back(app, project, archive, outsider):
    before = read_rows(app, project)
    run_well(app, "projects", "delete", "fern", "--yes")
    with app.app_context(), write():
        for image in db.session.scalars(select(Image)):
            db.session.delete(image)
    said = run_well(
        app, "projects", "import", str(archive), "--account", outsider.email, "--resume-requests"
    )
    assert "Imported fern with 11 testimonial(s) and 3 picture(s)" in said
    after = read_rows(app, project)
    assert same(after) == same(before)
    newest = max(row["created_at"] for row in after["testimonial"])
    (row,) = after["project"]
    assert (row["account_id"], row["last_testimonial_at"]) == (outsider.account_id, newest)
    assert row["feed_version"] > before["project"][0]["feed_version"]
    # Who wanted no more mail wants none from the new account either.
    with app.app_context():
        stored = db.session.scalars(select(UnsubscribedAddress.email_hash)).all()
        assert after["invitation"][0]["email_hash"] in stored
    assert [row["testimonials"] for row in run_json(app, "projects", "list")]


def narrow(new: Any, old: Any) -> Any:
    """Return what `new` says of all that `old` has."""
    if isinstance(old, dict):
        return {key: narrow(new[key], value) for key, value in old.items()}
    if isinstance(old, list):
        return [narrow(*pair) for pair in zip(new, old, strict=True)]
    return new


def test_an_archive_of_the_first_version_comes_in_and_goes_out_as_it_was(app, owner, tmp_path):
    again = tmp_path / "again.zip"
    bring(app, VERSION_1, owner, "--resume-requests")
    run_well(app, "projects", "export", "fern", str(again))
    # What came later than the first version may be there besides.
    assert narrow(read_json(again), read_json(VERSION_1)) == read_json(VERSION_1)
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(VERSION_1) as other:
        assert set(one.namelist()) == set(other.namelist())
        pictures = [name for name in one.namelist() if name != "project.json"]
        assert len(pictures) == 3
        assert all(one.read(name) == other.read(name) for name in pictures)


def test_an_older_archive_gets_the_usual_value_of_a_newer_column_or_setting(
    app, outsider, tmp_path
):
    def make_older(described: dict[str, Any]) -> None:
        for row in described["testimonials"]:
            del row["isPinned"], row["returnedAt"]
        del described["project"]["pageConfig"]["collectFields"]["avatar"]
        del described["project"]["widgetConfig"]["palette"]

    older = change_json(VERSION_1, make_older, tmp_path / "older.zip")
    rows = read_rows(app, bring(app, older, outsider)["_id"])
    assert {(row["is_pinned"], row["returned_at"]) for row in rows["testimonial"]} == {
        (False, None)
    }
    (project,) = rows["project"]
    assert project["page_config"]["collectFields"]["avatar"] is True
    assert project["widget_config"]["palette"] == "neutral"


@pytest.mark.parametrize(
    ("palette", "button", "color"),
    [
        ("neutral", "#4F46E5", None), ("rose", "#4F46E5", "#E11D48"),
        ("rose", "#2F5D50", "#2F5D50"),
    ],
)  # fmt: skip
def test_an_archive_from_before_the_brand_gets_the_color_that_was_chosen(
    app, outsider, tmp_path, palette, button, color
):
    def choose(described: dict[str, Any]) -> None:
        described["project"]["widgetConfig"]["palette"] = palette
        described["project"]["pageConfig"]["buttonColor"] = button

    older = change_json(VERSION_1, choose, tmp_path / "older.zip")
    (project,) = read_rows(app, bring(app, older, outsider)["_id"])["project"]
    assert project["brand"].get("color") == color


def test_of_many_old_addresses_the_newest_come_along(app, outsider, archive, tmp_path):
    def rename_often(described: dict[str, Any]) -> None:
        (before,) = described["oldSlugs"]
        described["oldSlugs"] = [
            before | {"slug": f"fern-{day:02}", "renamedAt": f"2026-03-{day:02}T00:00:00.000Z"}
            for day in range(1, 23)
        ]

    often = change_json(archive, rename_often, tmp_path / "often.zip")
    told = bring(app, often, outsider, "--slug", "fern-3")
    kept = sorted(row["slug"] for row in read_rows(app, told["_id"])["old_slug"])
    assert kept == [f"fern-{day:02}" for day in range(3, 23)]


def test_beside_the_original_ids_are_new_and_all_else_is_the_same(app, project, archive, owner):
    refused = run(app, "projects", "import", str(archive), "--account", owner.email)
    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: The slug fern is already taken. Choose another, such as --slug fern-2.\n"
    )
    told = bring(app, archive, owner, "--slug", "fern-2")
    assert (told["slug"], told["lostSlugs"]) == ("fern-2", ["fern-before"])
    assert told["waitingRequests"] == 1
    assert told["renewedIds"] > 10
    first, second = read_rows(app, project), read_rows(app, told["_id"])
    ids = {
        "id", "project_id", "testimonial_id", "batch_id", "avatar_id", "logo_id", "cover_id",
        "portrait_id", "brand_logo_id",
    }  # fmt: skip
    other = ids | {"slug", "submission_key", "before", "next_mail_at", "email_hash", "mail_id"}
    other |= {"widget_design", "widget_draft"}
    # One project of an account has it.
    assert [rows["project"][0]["external_id"] for rows in (first, second)] == ["shop-7", None]
    for table in ("project", "testimonial", "testimonial_tag", "event", "invitation"):
        left_out = other | TOLD_ANEW.get(table, set())
        left_out |= {"external_id"} if table == "project" else set()
        without = [
            sorted(
                repr({key: row[key] for key in row if key not in left_out}) for row in rows[table]
            )
            for rows in (first, second)
        ]
        assert without[0] == without[1], table
        if "id" in first[table][0]:
            assert not {row["id"] for row in first[table]} & {row["id"] for row in second[table]}
    # The picture that a change remembers is the copy's own, and nothing is mailed twice.
    remembered = {row["before"].get("avatar_id") for row in second["event"]} - {None}
    assert remembered
    assert not remembered & {row["before"].get("avatar_id") for row in first["event"]}
    # The testimonials that its widgets choose, too.
    ours = {row["id"] for row in second["testimonial"]}
    for row, names in (
        (second["project"][0], ("widget_design", "widget_draft")),
        (second["saved_widget"][0], ("design", "draft")),
    ):
        design, draft = (row[name] for name in names)
        assert set(design["chosen"] + draft["design"]["chosen"]) <= ours
        assert (design["brandColor"], draft["cta"]) == ("#C2410C", {"label": "Go"})
    assert [row["next_mail_at"] for row in second["invitation"]] == [None]
    assert count_rows(app, Image) == 6
    # What was done long ago can't be undone, though the ids say that it was now.
    with app.app_context():
        assert not any(list_steps(told["_id"], row["actor"]) for row in second["event"])


def test_the_limit_of_projects_holds_unless_it_is_ignored(app, outsider):
    run_well(app, "accounts", "set-limit", outsider.email, "0")
    arguments = ("projects", "import", str(VERSION_1), "--account", outsider.email)
    assert "at its limit of 0 projects" in run(app, *arguments).stderr
    assert count_rows(app, Project) == 0
    run_well(app, *arguments, "--ignore-limit")


def test_the_file_is_private_and_kept_unless_told(app, archive, tmp_path):
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    again = run(app, "projects", "export", "fern", str(archive))
    assert again.exit_code == 1
    assert "already exists; --force replaces it." in again.stderr
    run_well(app, "projects", "export", "fern", str(archive), "--force")
    unknown = run(app, "projects", "export", "nobody", str(tmp_path / "nothing.zip"))
    assert unknown.exit_code == 1
    missing = run(app, "projects", "export", "fern", str(tmp_path / "no" / "folder.zip"))
    assert "can’t be written: No such file or directory." in missing.stderr
    long = run(app, "projects", "export", "fern", str(tmp_path / ("x" * 300)))
    assert "can’t be written: File name too long." in long.stderr
    # To replace a device would break the machine for everybody.
    os.mkfifo(tmp_path / "pipe")
    pipe = run(app, "projects", "export", "fern", str(tmp_path / "pipe"), "--force")
    assert "is not a file that can be replaced." in pipe.stderr
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.glob("*.zip")] == ["fern.zip"]
    assert list(tmp_path.glob(".*")) == []


def read_json(path: Path) -> dict[str, Any]:
    """Return what an archive says, but for when, by which program and in which team it was made."""
    with zipfile.ZipFile(path) as opened:
        described: dict[str, Any] = json.loads(opened.read("project.json"))
    return described | {"exportedAt": "", "program": "", "team": []}


def test_an_archive_is_written_in_parts(app, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(writing, "IMAGES_AT_ONCE", 2)
    again = tmp_path / "again.zip"
    run_well(app, "projects", "export", "fern", str(again))
    assert read_json(again) == read_json(archive)


SIGNS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\x85")
TEXTS = st.text(SIGNS, min_size=1, max_size=120).map(str.strip).filter(bool)
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC)).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)
ROWS = st.fixed_dictionaries(
    {
        "author_name": TEXTS, "text": TEXTS, "rating": st.none() | st.floats(1, 5),
        "submitted_at": TIMES, "reviewed_at": st.none() | TIMES,
        "status": st.sampled_from(["pending", "approved", "rejected", "spam", "demo"]),
        "source": st.sampled_from(["public_page", "manual", "import", "demo"]),
        "author_company": st.none() | TEXTS, "author_role": TEXTS | st.just(""),
        "is_pinned": st.booleans(),
    }
)  # fmt: skip


@given(values=ROWS)
@settings(deadline=None)
def test_any_text_rating_and_time_comes_back(values):
    row = models.Testimonial(**values | {"id": "a" * 24, "created_at": values["submitted_at"]})
    row.updated_at, row.kind = row.created_at, "written"
    row.is_rewarded = row.is_insider = row.is_overdue = row.shows_earlier = False
    written = json.loads(json.dumps(TESTIMONIAL.write(row))) | {"tags": [], "changes": []}
    read = TESTIMONIAL.read(written, "")
    assert {name: read[name] for name in values} == values


def test_the_document_names_every_field_of_an_archive_and_of_a_table():
    text = Path("docs/import-export.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z]+)`", text))
    for part in PARTS:
        assert part.fields.keys() <= named, part.table
    assert set(COLUMNS) | FIELDS.keys() <= named


# What a table says of a testimonial and an import takes no notice of, and why.
NOT_IMPORTED = {
    **dict.fromkeys(("id", "source", "createdAt", "reviewedAt"), "It begins anew here."),
    **dict.fromkeys(("kind", "transcript"), "A table has no recordings."),
    "deletedAt": "What was in the trash is not imported.",
    **dict.fromkeys(("consentText", "consentedAt"), "It was given to another project."),
    **dict.fromkeys(("rewarded", "order"), "A table proves neither."),
    # Beside the columns that people choose from.
    "form": "It is read from our own tables.",
}


def test_a_column_of_a_table_comes_back_or_has_a_reason_not_to():
    assert COLUMNS.keys() - FIELDS.keys() == NOT_IMPORTED.keys()
    assert FIELDS.keys() <= COLUMNS.keys()
    assert FIELDS.keys() - RowSchema().fields.keys() == {"submittedAt", "repliedAt", "status"}
