"""Taking one's data along from the dashboard."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from flask import Flask

from testimonials.auth.models import Account
from testimonials.core.data.database import Base
from testimonials.transfer.archives.accounts import LISTS, list_columns
from testimonials.transfer.tables.table_export import shield, unshield
from tests.auth.browsers import open_browser
from tests.conftest import Caller, MovableClock
from tests.support.rows import add_member, add_testimonial, read_account
from tests.transfer.archives.projects import fill_project, read_rows, run_well


def open_zip(content: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(content))


def test_an_archive_from_the_dashboard_is_the_one_of_the_command(
    app: Flask, owner: Caller, tmp_path: Path, moved_clock: MovableClock
) -> None:
    project = fill_project(app, owner)
    moved_clock.move(minutes=1)
    browser = open_browser(app, owner)
    answer = browser.post(f"/dashboard/projects/{project}/export/archive", buffered=True)
    assert (answer.status_code, answer.mimetype) == (200, "application/zip")
    day = moved_clock.time.date().isoformat()
    assert answer.headers["Content-Disposition"] == f"attachment; filename=fern-{day}.zip"
    assert answer.headers["Cache-Control"] == "no-store"
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    path = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(path))
    with open_zip(answer.data) as one, zipfile.ZipFile(path) as other:
        assert one.namelist() == other.namelist()
        assert one.read("project.json") == other.read("project.json")


def test_a_table_from_the_dashboard_has_no_formula_and_sample(app: Flask, owner: Caller) -> None:
    project = owner.create_project(slug="fern", skipDemoTestimonials=False)["_id"]
    add_testimonial(app, project, author_name="@SUM(A1)", text="=1+1")
    answer = open_browser(app, owner).post(
        f"/dashboard/projects/{project}/export/csv", buffered=True
    )
    assert answer.mimetype == "text/csv"
    (row,) = csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"), newline=""))
    assert (row["authorName"], row["text"]) == ("'@SUM(A1)", "'=1+1")


def test_what_a_table_program_would_calculate_is_shielded() -> None:
    for sign in (*"=+-@\t\r＝＋－＠﹦−", " =", "\u200b=", "'=", "''＝"):
        cell = f"{sign}1+1"
        assert (shield(cell), unshield(shield(cell))) == (f"'{cell}", cell)


def test_an_account_takes_no_secret_along() -> None:
    for model in (Account, *LISTS.values()):
        shown = list_columns(model)
        assert shown
        # An id of a token is no token.
        names = {name.removesuffix("token_id") for name in shown}
        assert not [name for name in names if re.search("hash|token|secret|nonce", name)]
    # Each table of one account alone is in its archive, or its rows are there in another form.
    others = {"project", "project_member", "workspace_member", "event"}
    others |= {"unsubscribed_address"}
    # How somebody signs in stays here.
    others |= {"passkey", "authenticator_app", "recovery_code", "company_identity"}
    # Gone within minutes.
    others |= {"company_attempt"}
    # Gone within a minute.
    others |= {"oauth_code"}
    # Gone within a day, and what it came to is in the projects.
    others |= {"waiting_archive", "table_import"}
    owned = {name for name, table in Base.metadata.tables.items() if "account_id" in table.columns}
    assert owned - {model.__tablename__ for model in LISTS.values()} <= others


def test_an_account_takes_everything_along(
    app: Flask, owner: Caller, outsider: Caller, tmp_path: Path
) -> None:
    project = fill_project(app, owner)
    trashed = owner.create_project(slug="trashed")["_id"]
    add_member(app, outsider.create_project(slug="theirs")["_id"], owner, "admin")
    browser = open_browser(app, owner)
    browser.post(f"/dashboard/projects/{trashed}/delete", data={"confirm": "trashed"})
    answer = browser.post("/dashboard/account/export", buffered=True)
    assert answer.status_code == 200
    path = tmp_path / "all.zip"
    run_well(app, "accounts", "export", owner.email, str(path))
    for content in (answer.data, path.read_bytes()):
        with open_zip(content) as opened:
            told: dict[str, Any] = json.loads(opened.read("account.json"))
            text = opened.read("account.json").decode()
            inner = opened.read("projects/fern.zip")
            assert "created trashed" in opened.read("activity.csv").decode("utf-8-sig")
            names = opened.namelist()
        projects = ["projects/fern.zip", "projects/trashed.zip"]
        assert names == ["account.json", *projects, "activity.csv"]
        assert told["account"]["email"] == owner.email
        assert [each["slug"] for each in told["memberships"]] == ["theirs"]
        assert len(told["sessions"]) == 1
        assert "tokenHash" not in told["sessions"][0]
        account = read_account(app, owner.account_id)
        for secret in (account.key_hash, account.password_hash):
            assert secret
            assert secret not in text
    # Each project in it can be taken back.
    before = read_rows(app, project)
    run_well(app, "projects", "delete", "fern", "--yes")
    back = tmp_path / "fern.zip"
    back.write_bytes(inner)
    run_well(app, "projects", "import", str(back), "--account", outsider.email)
    assert len(read_rows(app, project)["testimonial"]) == len(before["testimonial"])
