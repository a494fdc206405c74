"""Projects and accounts as archives: taking them along, and importing a project."""

import csv
import html
import io
import json
import re
import zipfile
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.models import Account
from testimonials.collection.request_mail import has_due_mails
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.clock import iso
from testimonials.core.db.engine import Base, list_columns
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.transfer.archives.writing import OF_ACCOUNT
from testimonials.transfer.tables.export import shield, unshield
from tests.auth.browsers import open_browser
from tests.collection.authors.authors import Visitor
from tests.dashboard.transfer.imports import text_of
from tests.support.commands import run_well
from tests.support.rows import (
    add_member,
    add_testimonial,
    count_rows,
    read_account,
    read_testimonials,
)
from tests.transfer.archives.projects import VERSION_1, change_json, fill_project, read_rows


def open_zip(content: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(content))


def test_an_archive_from_the_dashboard_is_the_one_of_the_command(app, owner, tmp_path, moved_clock):
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


def test_a_table_from_the_dashboard_has_no_formula_and_sample(app, owner):
    project = owner.create_project(slug="fern", skipDemoTestimonials=False)["_id"]
    add_testimonial(app, project, author_name="@SUM(A1)", text="=1+1")
    answer = open_browser(app, owner).post(
        f"/dashboard/projects/{project}/export/csv", buffered=True
    )
    assert answer.mimetype == "text/csv"
    (row,) = csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"), newline=""))
    assert (row["authorName"], row["text"]) == ("'@SUM(A1)", "'=1+1")


def test_what_is_exported_as_json_is_imported_elsewhere(app, owner):
    project = owner.create_project(slug="fern")["_id"]
    browser = open_browser(app, owner)
    path = f"/dashboard/projects/{project}"
    assert browser.post(f"{path}/export/json", buffered=True).json == []
    add_testimonial(app, project, author_name="@Mia", text="=1+1", rating=4.5)
    add_testimonial(app, project, author_name="Li", text="Good.")
    answer = browser.post(f"{path}/export/json", buffered=True)
    assert [each["text"] for each in answer.json] == ["=1+1", "Good."]
    other = owner.create_project(slug="other")["_id"]
    file = (io.BytesIO(answer.data), "fern.json")
    target = f"/dashboard/projects/{other}/import"
    page = browser.post(target, data={"file": file}, follow_redirects=True)
    assert "Import 2 testimonials?" in page.text
    for name in ("csv", "json", "archive"):
        assert f'action="{path}/export/{name}"' in browser.get(f"{path}/settings/transfer").text


def test_what_a_table_program_would_calculate_is_shielded():
    for sign in (*"=+-@\t\r＝＋－＠﹦−", " =", "\u200b=", "'=", "''＝"):
        cell = f"{sign}1+1"
        assert (shield(cell), unshield(shield(cell))) == (f"'{cell}", cell)


def test_an_account_takes_no_secret_along():
    for model in (Account, *OF_ACCOUNT.values()):
        shown = list_columns(model)
        assert shown
        # An id of a token is no token.
        names = {name.removesuffix("token_id") for name in shown}
        assert not [name for name in names if re.search("hash|token|secret|nonce", name)]
    # Each table of one account alone is in its archive, or its rows are there in another form.
    others = {"project", "member", "event"}
    others |= {"unsubscribed_address"}
    # How somebody signs in stays here.
    others |= {"passkey", "authenticator_app", "recovery_code", "company_identity"}
    # Gone within minutes.
    others |= {"company_attempt"}
    # Gone within a minute.
    others |= {"oauth_code"}
    # Of what is there besides, as long as it waits.
    others |= {"job"}
    # Gone within a day, and what it came to is in the projects.
    others |= {"table_import"}
    owned = {name for name, table in Base.metadata.tables.items() if "account_id" in table.columns}
    assert owned - {model.__tablename__ for model in OF_ACCOUNT.values()} <= others


def test_an_account_has_it_all(app, owner, outsider, tmp_path):
    project = fill_project(app, owner)
    trashed = owner.create_project(slug="trashed")["_id"]
    add_member(app, outsider.create_project(slug="theirs")["_id"], owner, "admin")
    browser = open_browser(app, owner)
    browser.post(f"/dashboard/projects/{trashed}/settings/delete", data={"confirm": "trashed"})
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
        assert [each["role"] for each in told["memberships"]] == ["admin"]
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


PATH = "/dashboard/projects/import"
LAST = "f" * 24
# Whoever has one of these is asked no more.
OVER = "answeredAt", "declinedAt", "remindedAt", "unsubscribedAt"


def bring(browser: FlaskClient, content: bytes, slug: str = "fern") -> TestResponse:
    """Import an archive; return the page to which that leads."""
    part = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n'
    body = part.format("slug").encode() + slug.encode() + b"\r\n"
    body += part.format('file"; filename="fern.zip').encode() + content + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    return browser.post(PATH, data=body, content_type=kind, follow_redirects=True)


def test_nobody_elses_archive_shows_in_the_widget_of_a_project_that_is_gone(
    app, client, owner, browser, outsider, tmp_path
):
    project = owner.create_project(slug="fern")["_id"]
    Visitor(client, project, "fern").write()
    assert client.get(f"/record/{project}/head").status_code == 200
    archive = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(archive))
    for comer, keeps in ((open_browser(app, outsider), False), (browser, True)):
        run_well(app, "projects", "delete", "fern", "--yes")
        assert bring(comer, archive.read_bytes()).status_code == 200
        assert (client.get(f"/widget/{project}/feed").status_code == 200) is keeps


def test_a_project_is_back(app, owner, browser, tmp_path):
    assert f'href="{PATH}"' in browser.get("/dashboard/projects/new").text
    assert "Project imported" in bring(browser, VERSION_1.read_bytes(), "").text
    (project,) = owner.get("/v1/projects").json["data"]  # type: ignore[index]
    assert project["publicPageConfig"]["slug"] == "fern"
    # Here again, it needs another address.
    path = tmp_path / "fern.zip"
    run_well(app, "projects", "export", "fern", str(path))
    for slug, said in (
        ("", "This address is taken. Choose another."),
        ("B 2", "Use this form of the address: b-2."),
    ):
        refused = bring(browser, path.read_bytes(), slug)
        assert (refused.status_code, said in refused.text) == (422, True)
    without = browser.post(PATH, data={"slug": "b-2"})
    assert "Choose a file." in without.text
    assert 'value="b-2"' in without.text
    assert bring(browser, path.read_bytes(), "b-2").status_code == 200
    assert count_rows(app, Project) == 2


def test_the_limit_of_projects_holds(app, owner, browser):
    run_well(app, "accounts", "set-limit", owner.email, "0")
    assert "You have used all of your projects." in browser.get(PATH).text
    assert bring(browser, VERSION_1.read_bytes()).status_code == 422
    assert count_rows(app, Project) == 0


def _zip(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()


def test_hostile_archives_are_refused_as_by_the_command(app, browser):
    hostile = (
        (b"", "The file isn’t an archive, or is damaged"),
        (_zip(("../evil", b"")), "It has a file that doesn’t belong there"),
        # 80 MB of pictures, in a few hundred kB.
        (
            _zip(*((f"images/{n:024x}.webp", bytes(2_000_000)) for n in range(40))),
            "It unpacks to more than 64 MB.",
        ),
        (b"PK" + b"x" * (15 * 1024 * 1024), "larger than 14 MB"),
    )
    for content, reason in hostile:
        answer = bring(browser, content)
        assert answer.status_code == 422
        assert reason in text_of(answer)
    assert count_rows(app, Project) == 0


def test_an_archive_of_somebodys_own_making_mails_nobody_and_shows_what_a_page_holds(
    app, browser, tmp_path
):
    now, words = iso(clock.now()), "Has a long history."

    def change(described: dict[str, Any]) -> None:
        described["project"]["status"] = "active"
        for row in described["invitations"]:
            row.update(dict.fromkeys(OVER), nextMailAt=now)
        row = next(row for row in described["testimonials"] if row["changes"])
        example = row["changes"][0]
        row["changes"] = [example | {"id": f"{n:024x}"} for n in range(1000)]
        row["text"] = words
        empty = dict.fromkeys(("submissionKey", "importKey", "deletedAt"))
        empty |= {"text": "Others.", "changes": [], "status": "approved"}
        described["testimonials"] += [
            row | empty | {"id": f"{n:024x}", "tags": [f"tag-{n}-{k}" for k in range(10)]}
            for n in range(25)
        ]

    inbox = bring(browser, change_json(VERSION_1, change, tmp_path / "long.zip").read_bytes())
    with app.app_context():
        assert not has_due_mails()
        query = select(models.Testimonial.id).where(models.Testimonial.text == words)
        one = db.session.scalars(query).one()
    page = browser.get(f"{inbox.request.path.removesuffix('/inbox')}/testimonials/{one}").text
    assert "200 changes" in page
    assert len(set(re.findall(r'<option value="(tag-[^"]+)', inbox.text))) == 200


def test_what_comes_without_a_record_counts_as_imported(app, owner, browser, tmp_path):
    path = tmp_path / "fern.zip"

    def change(described: dict[str, Any]) -> None:
        described["project"]["status"] = "active"
        described["keptRatings"] = [{"day": 20000, "rating": 5.0, "number": 100_000}]
        for row in described["testimonials"]:
            row.update(source="public_page", status="approved", purchaseVerifiedAt=row["createdAt"])

    inbox = bring(browser, change_json(VERSION_1, change, path).read_bytes())
    rows = read_testimonials(app, inbox.request.path.split("/")[3])
    assert {(row.source, row.purchase_verified_at) for row in rows} == {("import", None)}
    assert "100,0" not in app.test_client().get("/fern/how-we-collect").text


def test_changes_with_ids_of_tomorrow_let_those_of_today_be_recorded(app, browser, tmp_path):
    def change(described: dict[str, Any]) -> None:
        next(row for row in described["testimonials"] if row["changes"])["changes"][0]["id"] = LAST

    inbox = bring(browser, change_json(VERSION_1, change, tmp_path / "late.zip").read_bytes())
    path = f"{inbox.request.path.removesuffix('/inbox')}/testimonials/new"
    form = {"author_name": "Maya", "text": "Words.", "submitted_on": "2024-01-01"}
    assert browser.post(path, data=form).status_code == 303


def test_undoing_what_an_archive_names_undoes_nothing_of_others(
    app, owner, outsider, browser, tmp_path
):
    project = owner.create_project(slug="oat")["_id"]
    one = owner.create_testimonial(project)["_id"]
    path = f"/dashboard/projects/{project}/decide/{one}"
    assert browser.post(path, data={"action": "reject"}).status_code == 303
    with app.app_context():
        batch = db.session.scalars(select(Event.batch_id).where(Event.action == "reject")).one()

    def change(described: dict[str, Any]) -> None:
        row = next(row for row in described["testimonials"] if row["changes"])
        later = {"id": new_identifier(), "batchId": f"{batch}0001", "actor": outsider.email}
        later |= {"action": "reject", "createdAt": iso(clock.now())}
        row["changes"] = [row["changes"][0] | later]

    comer = open_browser(app, outsider)
    inbox = bring(comer, change_json(VERSION_1, change, tmp_path / "evil.zip").read_bytes())
    assert inbox.status_code == 200
    assert comer.post(f"{inbox.request.path}/undo").status_code == 303
    assert [row.status for row in read_testimonials(app, project) if row.id == one] == ["rejected"]


def test_words_of_an_archive_are_text(browser, tmp_path):
    def change(described: dict[str, dict[str, str]]) -> None:
        described["project"]["businessName"] = "<img src=x onerror=alert(1)>"

    page = bring(browser, change_json(VERSION_1, change, tmp_path / "evil.zip").read_bytes()).text
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page


def test_what_was_edited_is_told(app, owner, client, browser, tmp_path):
    project = owner.create_project(slug="oat", skipDemoTestimonials=True)["_id"]
    Visitor(client, project, "oat").write(name="Ada", text="Ada waited long.", rating="1")
    path, edited = tmp_path / "oat.zip", tmp_path / "edited.zip"
    run_well(app, "projects", "export", "oat", str(path))
    change_json(path, lambda described: described["testimonials"][0].update(rating=5), edited)
    run_well(app, "projects", "delete", "oat", "--yes")
    for file, is_told in ((edited, True), (path, False)):
        page = html.unescape(bring(browser, file.read_bytes(), file.stem).text)
        assert "Project imported" in page
        assert ("What differs from its record counts as imported" in page) is is_told
