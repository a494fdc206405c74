"""Archives of projects: all of it comes back, and nothing that is wrong comes in."""

import json
import os
import re
import stat
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pictures
from sqlalchemy import select, update

from testimonials.collection.models import UnsubscribedAddress
from testimonials.core.data.database import Base
from testimonials.core.pictures.images import Image
from testimonials.extensions import begin_write, db
from testimonials.projects.configuration.dashboard_config import HAS_SHARED, KEYS
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.schemas import TwitterSchema
from testimonials.transfer.archives import writing as archives
from testimonials.transfer.archives.contents import CHANGE, LISTS, PROJECT, TESTIMONIAL
from testimonials.transfer.archives.opening import ArchiveRefused, open_archive
from testimonials.transfer.archives.values import StoredTwitterSchema
from testimonials.transfer.tables.headings import FIELDS
from testimonials.transfer.tables.table_export import COLUMNS
from tests.conftest import Caller
from tests.support.pictures import to_bytes, webp_of_size
from tests.support.rows import count_rows
from tests.transfer.archives.projects import (
    MODELS,
    VERSION_1,
    change_json,
    fill_project,
    read_rows,
    run,
    run_well,
)

PARTS = (PROJECT, CHANGE, *LISTS.values())
# Tables that no archive of a project has, or not as rows.
OTHER_TABLES = {
    "custom_domain": "A host name leads to one instance, and is proved to it.",
    "testimonial_tag": "The names of the tags are in the testimonial.",
    "unsubscribed_address": "It is in the request to the address, as `unsubscribedAt`.",
    "project_member": "People and their roles are in `team`, and get no access elsewhere.",
    "member_invitation": "The link in it belongs to one instance.",
    "workspace_member": "People and their roles belong to one instance.",
    "workspace_invitation": "The link in it belongs to one instance.",
    "ownership_offer": "It is answered within a week, on one instance.",
    "notification_choice": "It belongs to a person of one instance.",
    "abuse_report": "Visitors tell it to whoever runs one instance.",
    "share_picture": "It is drawn again.",
    "testimonial_picture": "It is drawn again.",
    "widget_script": "Versions of the widget's script belong to the instance that served them.",
    "access_token": "A credential belongs to one instance; of the token only a hash is known.",
    "table_import": "It can be undone only where it was made.",
    "waiting_archive": "It is gone within a day.",
    "idempotency_key": "It is gone within a day.",
    "testimonial_count": "Triggers count what an archive brings.",
    "tag_count": "Triggers count what an archive brings.",
    "day_count": "Triggers count what an archive brings.",
    "answer_count": "Triggers count what an archive brings.",
    "oauth_code": "It is gone within a minute.",
    "proposal": "An agent of one instance waits for its answer.",
    "webhook_endpoint": "Its receiver knows one instance, whose events it follows.",
    "webhook_delivery": "It belongs to an endpoint.",
    "account": "An account is exported by itself.",
    "event": "The record of what happened belongs to the account.",
    "link_request": "It is answered within seconds, by mail.",
    "session": "A signed-in browser belongs to one instance.",
    "passkey": "It works for the address of one instance.",
    "authenticator_app": "It belongs to the account of one instance.",
    "company_identity": "The operator of one instance chose the company that vouches for it.",
    "company_attempt": "It is gone within minutes.",
    "recovery_code": "It belongs to the account of one instance.",
    "billing_subscription": "It belongs to the account.",
    "insight_day": "What was counted happened on one instance.",
    "insight_testimonial_day": "What was counted happened on one instance.",
    "insight_funnel_day": "What was counted happened on one instance.",
    "outbox_mail": "The outbox stays where it is.",
    "erased": "It is of an instance; an import leaves out what it names.",
    "stored_backup": "Backups are of an instance, and know where they are.",
    "background_job": "It belongs to the processes of one instance.",
    "rate_limit_counter": "It is gone within an hour.",
    "secret_mark": "It tells the secret key of one instance.",
}
# What is told anew on the way in, table by table; all else is the same afterwards.
TOLD_ANEW = {
    "project": {
        "account_id",
        "feed_version",
        "last_testimonial_at",
        "deleted_at",
        "own_host",
        "purchase_secret",
    },
    "testimonial": {"import_id"},
    "testimonial_change": {"undone_at"},
    "invitation": {"email_hash", "mail_id"},
}


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    """A project with a value in every column."""
    return fill_project(app, owner)


@pytest.fixture
def archive(app: Flask, project: str, tmp_path: Path) -> Path:
    """Its archive."""
    path = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(path))
    return path


def same(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Leave out what is told anew."""
    return {
        table: [
            {key: value for key, value in row.items() if key not in TOLD_ANEW.get(table, ())}
            for row in each
        ]
        for table, each in rows.items()
    }


def test_each_table_and_column_is_in_the_archive_or_left_out_with_a_reason() -> None:
    tables = {part.table.name for part in PARTS}
    assert not tables & OTHER_TABLES.keys()
    assert tables | OTHER_TABLES.keys() >= Base.metadata.tables.keys()
    for part in PARTS:
        columns = {column.name for column in part.table.columns}
        assert set(part.columns) | part.left_out.keys() == columns
        assert all(part.left_out.values())


def test_an_author_on_x_has_the_fields_of_the_api() -> None:
    assert StoredTwitterSchema().fields.keys() == TwitterSchema().fields.keys()


def test_the_dashboard_keeps_nothing_that_no_archive_has(app: Flask, project: str) -> None:
    """The example has all that may be kept, so that the tests below notice what gets lost."""
    with app.app_context():
        found = db.session.get_one(Project, project)
        kept = found.dashboard_config
        assert kept.keys() == KEYS
        with pytest.raises(ValueError, match="dashboard_config has no brandNew"):
            found.dashboard_config = kept | {"brandNew": True}
        assert found.dashboard_config == kept


def test_what_a_newer_program_has_kept_stays(app: Flask, project: str) -> None:
    with app.app_context():
        begin_write()
        newer = {"ofTomorrow": True, HAS_SHARED: False}
        db.session.execute(update(Project).values(dashboard_config=newer))
        found = db.session.get_one(Project, project)
        found.dashboard_config = found.dashboard_config | {HAS_SHARED: True}
        db.session.commit()
        assert found.dashboard_config == {"ofTomorrow": True, HAS_SHARED: True}


def test_the_example_has_a_value_in_every_column(app: Flask, project: str) -> None:
    """Or the tests below would not notice a column that gets lost."""
    rows = read_rows(app, project)
    for model in MODELS:
        for column in model.__table__.columns:
            if (model.__tablename__, column.name) == ("project", "deleted_at"):
                continue
            found = [row[column.name] for row in rows[model.__tablename__]]
            assert any(value is not None for value in found), column


def test_a_project_comes_back_as_it_was(
    app: Flask, project: str, archive: Path, outsider: Caller
) -> None:
    before = read_rows(app, project)
    run_well(app, "projects", "delete", "fern", "--yes")
    with app.app_context():
        begin_write()
        for image in db.session.scalars(select(Image)):
            db.session.delete(image)
        db.session.commit()
    said = run_well(
        app, "projects", "import", str(archive), "--account", outsider.email, "--resume-requests"
    )
    assert "Imported fern with 11 testimonial(s) and 3 picture(s)" in said
    after = read_rows(app, project)
    assert same(after) == same(before)
    newest = max(row["created_at"] for row in after["testimonial"])
    (row,) = after["project"]
    assert row["account_id"] == outsider.account_id
    assert row["last_testimonial_at"] == newest
    assert row["feed_version"] > before["project"][0]["feed_version"]
    # Who wanted no more mail wants none from the new account either.
    with app.app_context():
        stored = db.session.scalars(select(UnsubscribedAddress.email_hash)).all()
        assert after["invitation"][0]["email_hash"] in stored
    assert [row["testimonials"] for row in json.loads(run_well(app, "projects", "list", "--json"))]


def narrow(new: Any, old: Any) -> Any:
    """Return what `new` says of all that `old` has."""
    if isinstance(old, dict):
        return {key: narrow(new[key], value) for key, value in old.items()}
    if isinstance(old, list):
        return [narrow(*pair) for pair in zip(new, old, strict=True)]
    return new


def test_an_archive_of_the_first_version_comes_in_and_goes_out_as_it_was(
    app: Flask, owner: Caller, tmp_path: Path
) -> None:
    again = tmp_path / "again.zip"
    arguments = ("--account", owner.email, "--resume-requests")
    run_well(app, "projects", "import", str(VERSION_1), *arguments)
    run_well(app, "projects", "export", "fern", str(again))
    # What came later than the first version may be there besides.
    assert narrow(read_json(again), read_json(VERSION_1)) == read_json(VERSION_1)
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(VERSION_1) as other:
        assert set(one.namelist()) == set(other.namelist())
        pictures = [name for name in one.namelist() if name != "project.json"]
        assert len(pictures) == 3
        assert all(one.read(name) == other.read(name) for name in pictures)


def test_an_older_archive_gets_the_usual_value_of_a_newer_column_or_setting(
    app: Flask, outsider: Caller, tmp_path: Path
) -> None:
    def make_older(described: dict[str, Any]) -> None:
        for row in described["testimonials"]:
            del row["isPinned"], row["returnedAt"]
        del described["project"]["pageConfig"]["collectFields"]["avatar"]
        del described["project"]["widgetConfig"]["palette"]

    older = change_json(VERSION_1, make_older, tmp_path / "older.zip")
    arguments = ("--account", outsider.email, "--json")
    told = json.loads(run_well(app, "projects", "import", str(older), *arguments))
    rows = read_rows(app, told["_id"])
    assert {(row["is_pinned"], row["returned_at"]) for row in rows["testimonial"]} == {
        (False, None)
    }
    (project,) = rows["project"]
    assert project["page_config"]["collectFields"]["avatar"] is True
    assert project["widget_config"]["palette"] == "neutral"


def test_beside_the_original_ids_are_new_and_all_else_is_the_same(
    app: Flask, project: str, archive: Path, owner: Caller
) -> None:
    arguments = ["projects", "import", str(archive), "--account", owner.account_id]
    refused = run(app, *arguments)
    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: The slug fern is already taken. Choose another, such as --slug fern-2.\n"
    )
    told = json.loads(run_well(app, *arguments, "--slug", "fern-2", "--json"))
    assert told["slug"] == "fern-2"
    assert told["lostSlugs"] == ["fern-before"]
    assert told["waitingRequests"] == 1
    assert told["renewedIds"] > 10
    first, second = read_rows(app, project), read_rows(app, told["_id"])
    ids = {
        "id",
        "project_id",
        "testimonial_id",
        "batch_id",
        "avatar_id",
        "logo_id",
        "cover_id",
        "portrait_id",
    }
    other = ids | {"slug", "submission_key", "before", "next_mail_at", "email_hash", "mail_id"}
    other |= {"widget_design", "widget_draft"}
    # One project of an account has it.
    assert [rows["project"][0]["external_id"] for rows in (first, second)] == ["shop-7", None]
    for table in ("project", "testimonial", "testimonial_tag", "testimonial_change", "invitation"):
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
    remembered = {row["before"].get("avatar_id") for row in second["testimonial_change"]} - {None}
    assert remembered
    assert not remembered & {row["before"].get("avatar_id") for row in first["testimonial_change"]}
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


def test_the_limit_of_projects_holds_unless_the_operator_says_otherwise(
    app: Flask, outsider: Caller
) -> None:
    run_well(app, "accounts", "set-limit", outsider.email, "0")
    arguments = ("projects", "import", str(VERSION_1), "--account", outsider.email)
    assert "at its limit of 0 projects" in run(app, *arguments).stderr
    assert count_rows(app, Project) == 0
    run_well(app, *arguments, "--ignore-limit")


def test_the_file_is_private_and_replaced_only_when_asked(
    app: Flask, archive: Path, tmp_path: Path
) -> None:
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


def test_an_archive_is_written_in_parts(
    app: Flask, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(archives, "IMAGES_AT_ONCE", 2)
    again = tmp_path / "again.zip"
    run_well(app, "projects", "export", "fern", str(again))
    assert read_json(again) == read_json(archive)


TEXTS = (
    st.text(
        st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\x85"),
        min_size=1,
        max_size=120,
    )
    .map(str.strip)
    .filter(bool)
)
TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2025, 1, 1), timezones=st.just(UTC)).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)
ROWS = st.fixed_dictionaries(
    {
        "author_name": TEXTS,
        "text": TEXTS,
        "rating": st.none() | st.floats(1, 5),
        "submitted_at": TIMES,
        "reviewed_at": st.none() | TIMES,
        "status": st.sampled_from(["pending", "approved", "rejected", "spam", "demo"]),
        "source": st.sampled_from(["public_page", "manual", "import", "demo"]),
        "author_company": st.none() | TEXTS,
        "author_role": TEXTS | st.just(""),
        "is_pinned": st.booleans(),
    }
)


@given(values=ROWS)
@settings(deadline=None)
def test_any_text_rating_and_time_comes_back(values: dict[str, Any]) -> None:
    row = models.Testimonial(**values | {"id": "a" * 24, "created_at": values["submitted_at"]})
    row.updated_at, row.kind, row.is_rewarded = row.created_at, "written", False
    written = json.loads(json.dumps(TESTIMONIAL.write(row))) | {"tags": [], "changes": []}
    read = TESTIMONIAL.read(written, "")
    assert {name: read[name] for name in values} == values


def first(name: str, **changes: Any) -> Callable[[dict[str, Any]], object]:
    """Change the first of a list of the archive."""
    return lambda described: described[name][0].update(changes)


def remember(**before: Any) -> Callable[[dict[str, Any]], object]:
    """Change what the one change in the archive remembers."""

    def change(described: dict[str, Any]) -> None:
        row = next(row for row in described["testimonials"] if row["changes"])
        row["changes"][0]["before"] = before

    return change


def page(**settings: Any) -> Callable[[dict[str, Any]], object]:
    """Change settings of the collection page."""
    return lambda described: described["project"]["pageConfig"].update(settings)


def dashboard(**settings: Any) -> Callable[[dict[str, Any]], object]:
    """Change what the dashboard keeps."""
    return lambda described: described["project"]["dashboardConfig"].update(settings)


NO_ID = "0" * 24


WRONG: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d.update(format="other"), "does not have the format “testimonials-project”"),
    (lambda d: d.update(version=2), "this program reads version 1"),
    (
        lambda d: d["project"].update({"\x1b[2J\ud83d": 1}),
        "project, \ufffd[2J\ufffd: Unknown field.",
    ),
    (lambda d: d.update(more=1), "project.json has an unknown key: 'more'"),
    (lambda d: d.pop("project"), "project: Must be an object."),
    (lambda d: d.update(testimonials={}), "testimonials: Must be a list."),
    (lambda d: d["testimonials"].append(1), "testimonials 12: Must be an object."),
    (first("testimonials", id="../../etc"), "testimonials 1, id: Must be an id"),
    (first("testimonials", text=5), "testimonials 1, text: Must be a string"),
    (first("testimonials", text="x" * 2001), "text: Must be at most 2000 characters"),
    (first("testimonials", text="a\0b"), "text: Must not contain control characters"),
    (first("testimonials", text="\ud800"), "text: Must not contain control characters"),
    (first("testimonials", text=" "), "text: Must not be empty"),
    (first("testimonials", authorName=None), "authorName: Must not be null."),
    (first("testimonials", rating=6), "rating: Must be a number from 1 to 5."),
    (first("testimonials", status="shown"), "status: Must be one of"),
    (first("testimonials", authorAvatar="javascript:alert(1)"), "authorAvatar: Must be an abs"),
    (first("testimonials", twitter={"avatarUrl": "data:x"}), "twitter, avatarUrl: Must be an abs"),
    (first("testimonials", twitter=[1]), "twitter: Must be an object."),
    (first("testimonials", isPinned=1), "isPinned: Must be true or false."),
    (first("testimonials", createdAt="2999-01-01T00:00:00.000Z"), "createdAt: Must not be so far"),
    (first("testimonials", createdAt="yesterday"), "createdAt: Must be a time"),
    (first("testimonials", createdAt=10**400), "createdAt: Must be a time"),
    (first("testimonials", createdAt="0001-01-01T00:00:00.000+23:59"), "Must be a time"),
    (first("testimonials", tags=["a"] * 11), "testimonials 1, tags: Must be at most 10"),
    (first("testimonials", tags=["a", " "]), "testimonials 1, tags 2: Must not be empty"),
    (first("testimonials", tags="a"), "testimonials 1, tags: Must be a list."),
    (first("testimonials", changes=[{}]), "testimonials 1, changes 1, id: Is missing."),
    (first("testimonials", avatarId=NO_ID), f"A picture is missing from images: {NO_ID}"),
    (remember(text=5), "changes 1, before, text: Must be a string"),
    (remember(projectId="x"), "before, projectId: Unknown field."),
    (remember(changes=[]), "before, changes: Unknown field."),
    (first("invitations", email="not one"), "invitations 1, email: Must be an email address."),
    (first("invitations", batchId=NO_ID), "The batch of a request is missing from invitation"),
    (first("invitations", testimonialId=NO_ID), "The answer to a request is missing from test"),
    (first("invitations", unsubscribedAt=5), "unsubscribedAt: Must be a time"),
    (first("invitationBatches", size="many"), "invitationBatches 1, size: Must be a whole number"),
    (first("oldSlugs", slug="Über uns"), "slug: Must be lower-case letters"),
    (first("widgetSightings", origin="javascript:1"), "origin: Must be the origin of a website."),
    (first("images", width=10**9), "images 1, width: Must be a whole number"),
    (first("images", width=10), "Its size is not the one in “images”."),
    (lambda d: d["images"].append(d["images"][0]), "images: Two of them have the same id."),
    (lambda d: d["oldSlugs"].append(d["oldSlugs"][0]), "oldSlugs: Two of them have the same slug"),
    (lambda d: d["project"].update(widgetConfig={"evil": 1}), "widgetConfig, evil: Unknown"),
    (page(website="javascript:1"), "project, pageConfig, website: Must be an absolute URL"),
    (page(buttonColor="url(x)"), "pageConfig, buttonColor: Must be a colour"),
    (page(logo="https://x.example/tracker"), "pageConfig, logo: Must be equal to None."),
    (dashboard(shareMessage=True), "dashboardConfig, shareMessage: Must be a string"),
    (dashboard(cta={"url": "javascript:1"}), "dashboardConfig, cta, url: Must be an absolute URL"),
    (dashboard(rated={"kind": "Spell", "name": "x"}), "rated, kind: Must be one of"),
    (dashboard(other=True), "dashboardConfig, other: Unknown field."),
]


@pytest.mark.parametrize(("change", "reason"), WRONG)
def test_a_wrong_archive_gets_a_sentence_that_names_the_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    refuse(change_json(VERSION_1, change, tmp_path / "wrong.zip"), reason)


def test_a_wrong_archive_gets_a_sentence_and_changes_nothing(
    app: Flask, owner: Caller, tmp_path: Path
) -> None:
    wrong = change_json(VERSION_1, first("images", width=10), tmp_path / "wrong.zip")
    result = run(app, "projects", "import", str(wrong), "--account", owner.email)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The archive can’t be imported. images/")
    assert result.stderr.count("\n") == 1
    assert count_rows(app, Project) == 0


def refuse(path: Path, reason: str) -> None:
    """Open an archive that must be refused with a reason."""
    with path.open("rb") as file, pytest.raises(ArchiveRefused) as raised, open_archive(file):
        pass
    assert reason in raised.value.message


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "project.json is missing."),
        ({"a.txt": b""}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "../../evil": b"x"}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "/etc/passwd": b"x"}, "It has a file that doesn’t belong there"),
        ({"project.json": b"{}", "images/../x.webp": b"x"}, "It has a file that doesn’t belong"),
        ({"project.json": b"nothing"}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"\xff"}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"[" * 100_000}, "project.json is not JSON in UTF-8."),
        ({"project.json": b'{"format":NaN}'}, "project.json is not JSON in UTF-8."),
        ({"project.json": b"[]"}, "does not have the format"),
    ],
)
def test_a_file_that_is_no_archive_gets_a_sentence(
    tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    refuse(make_zip(tmp_path / "wrong.zip", files), reason)


def test_what_is_no_zip_damaged_or_encrypted_gets_a_sentence(tmp_path: Path) -> None:
    content = VERSION_1.read_bytes()
    damaged = content[:200] + bytes([content[200] ^ 255]) + content[201:]
    encrypted = bytearray(make_zip(tmp_path / "zip", {"project.json": b"{}"}).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(mark) + place] |= 1
    for wrong in (b"", b"PK", content[:2000], damaged, b"\0" * 1000, bytes(encrypted)):
        (tmp_path / "wrong.zip").write_bytes(wrong)
        refuse(tmp_path / "wrong.zip", "The file is not an archive, or it is damaged")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testimonials.transfer.archives.opening.MAX_JSON_BYTES", 1024 * 1024)
    bomb = make_zip(tmp_path / "bomb.zip", {"project.json": b" " * 8_000_000})
    assert bomb.stat().st_size < 100_000
    refuse(bomb, "project.json is larger than 1 MB.")


def webp(**options: Any) -> bytes:
    return to_bytes(Pictures.new("RGB", (90, 60)), "WEBP", **options)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, ".webp is missing."),
        (webp_of_size(b"VP8X", 16384, 16384), "It has 16384 x 16384 pixels"),
        (webp_of_size(b"VP8L", 16000, 16000) + b"\0", "It is not a WebP picture."),
        (b"<svg onload=alert(1)>", "It is not a WebP picture."),
        (webp(exif=b"Exif\0\0secret"), "It contains more than a picture."),
        (webp() + b"<script>", "It is not a WebP picture."),
        (b"\x89PNG", "It is not a WebP picture."),
        (webp_of_size(b"VP8X", 90, 60), "It is damaged."),
        (b"x" * 3_000_000, "is larger than 2 MB."),
    ],
)
def test_a_wrong_picture_is_refused_before_it_is_decoded(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    with zipfile.ZipFile(VERSION_1) as old:
        files = {name: old.read(name) for name in old.namelist()}
    name = next(each for each in files if each.startswith("images/"))
    if content is None:
        del files[name]
    else:
        files[name] = content
    refuse(make_zip(tmp_path / "wrong.zip", files), reason)


def test_a_reserved_or_misspelt_slug_is_refused(app: Flask, outsider: Caller) -> None:
    arguments = ("projects", "import", str(VERSION_1), "--account", outsider.email, "--slug")
    assert "The slug login is reserved" in run(app, *arguments, "login").stderr
    assert "Write the slug as fern-co." in run(app, *arguments, "Fern & Co").stderr
    assert count_rows(app, Project) == 0


def test_a_change_names_no_picture_of_others(app: Flask, outsider: Caller, tmp_path: Path) -> None:
    changed = change_json(VERSION_1, remember(avatarId="f" * 24), tmp_path / "changed.zip")
    arguments = ("--account", outsider.email, "--json")
    told = json.loads(run_well(app, "projects", "import", str(changed), *arguments))
    (change,) = read_rows(app, told["_id"])["testimonial_change"]
    assert change["before"] == {"avatar_id": None}


def test_the_document_names_every_field_of_an_archive_and_of_a_table() -> None:
    text = Path("docs/import-export.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z]+)`", text))
    for part in PARTS:
        assert part.fields.keys() <= named, part.table
    assert set(COLUMNS) | FIELDS.keys() <= named
