"""`testimonials testimonials import`: files of other services and of table programs, each once."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from testimonials.cli import testimonials
from testimonials.core import clock
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.extensions import db
from testimonials.testimonials import models
from testimonials.transfer.tables import jobs
from testimonials.transfer.tables import plan as importing
from testimonials.transfer.tables.columns import guess_mapping
from testimonials.transfer.tables.export import shield, unshield
from testimonials.transfer.tables.files import read_table
from testimonials.transfer.tables.rows import Reading, read_row
from testimonials.transfer.tables.values import read_date
from tests.conftest import Caller
from tests.core.events import read_history
from tests.dashboard.inbox.inbox import open_inbox
from tests.support.commands import run, run_well
from tests.support.rows import add_testimonial, change_testimonial, count_rows, read_testimonials

HEAD = "Name,Quote,Stars,Date,Job title,Company,Email,Photo"
MAYA = 'Maya Kowalski,"It ""simply"", works.\nTruly.",5,2024-03-12,CTO,Fern,m@example.com,'


@pytest.fixture
def project(owner: Caller) -> str:
    identifier: str = owner.create_project(slug="fern")["_id"]
    return identifier


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def import_lines(app: Flask, file: Path, *lines: str) -> Any:
    """Import CSV lines; return what the command tells, and its exit code as `code`."""
    file.write_text("\n".join(lines), encoding="utf-8")
    return import_file(app, file)


def import_file(app: Flask, file: Path, *options: str) -> Any:
    result = run(app, "testimonials", "import", "fern", str(file), "--json", *options)
    assert result.stdout, result.stderr
    return json.loads(result.stdout) | {"code": result.exit_code}


def refusal(app: Flask, file: Path, *options: str) -> str:
    """Import a file that is refused as a whole; return the sentence."""
    result = run(app, "testimonials", "import", "fern", str(file), *options)
    assert (result.exit_code, result.stdout) == (1, "")
    return str(result.stderr)


def test_a_table_becomes_testimonials(app, project, file):
    lines = (HEAD, MAYA, 'Li,Good,4/5,"Mar 3, 2024",,,,https://x.example/p')
    told = import_lines(app, file, *lines)
    assert (told["code"], told["new"], told["refused"]) == (0, 2, 0)
    li, maya = read_testimonials(app, project)
    assert (maya.author_name, maya.text) == ("Maya Kowalski", 'It "simply", works.\nTruly.')
    assert (maya.author_role, maya.author_company, maya.rating) == ("CTO", "Fern", 5)
    assert (maya.author_email, maya.status, maya.source) == ("m@example.com", "approved", "import")
    assert maya.submitted_at == datetime(2024, 3, 12, 12, tzinfo=UTC)
    assert (li.rating, li.author_avatar) == (4, "https://x.example/p")
    assert li.created_at < maya.created_at <= clock.now()
    assert (li.author_role, li.author_company, li.author_email) == ("", None, None)
    assert li.reviewed_at is not None


def test_what_was_imported_shows_with_its_source(app, owner, file):
    inbox = open_inbox(app, owner, slug="fern")
    import_lines(app, file, HEAD, MAYA)
    assert inbox.shown() == ["Maya Kowalski"]
    answer = owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]  # type: ignore[index]
    assert [item["source"] for item in answer["items"]] == ["import"]
    page = inbox.get("inbox?status=approved&source=import").text
    assert "Maya Kowalski" in page
    assert "Imported" in inbox.get(f"testimonials/{inbox.find(page, 'Maya Kowalski')}").text


def test_nothing_is_imported_twice(app, project, file):
    add_testimonial(app, project, author_name="Noor", text="From the page")
    lines = (
        HEAD, MAYA, "noor,from  the PAGE,,,,,,", 'maya kowalski,"it ""Simply"", works. TRULY.",',
    )  # fmt: skip
    told = import_lines(app, file, *lines)
    assert (told["code"], told["new"], told["there"]) == (0, 1, 2)
    assert [(each["line"], each["reason"]) for each in told["lines"]] == [
        (4, "The project already has it."),
        (5, "Line 2 has it too."),
    ]
    again = import_lines(app, file, *lines)
    assert (again["new"], again["there"]) == (0, 3)
    (noor, maya) = read_testimonials(app, project)
    # Also after it was edited, and after it was deleted.
    change_testimonial(app, maya.id, text="Edited", deleted_at=clock.now())
    change_testimonial(app, noor.id, text="Edited too", original_text=noor.text)
    last = import_lines(app, file, *lines)
    assert last["new"] == 0
    assert "It is in the project’s trash." in last["lines"][0]["reason"]
    assert len(read_testimonials(app, project)) == 2


def test_a_cell_of_any_length_is_refused_alone(app, project, file):
    told = import_lines(app, file, "sep=,", "Name,Review", "A," + "x" * 200_000, "B,Fine")
    assert (told["new"], told["refused"], told["lines"][0]["line"]) == (1, 1, 3)
    assert "Shorten this to 2000 characters" in told["lines"][0]["reason"]


def test_a_bad_line_stops_no_good_one(app, project, file):
    bad = {
        ",No name,,,,,,": "Name: The cell is empty.",
        "No words,,,,,,,": "Text: The cell is empty.",
        "A,Six,6,,,,,": "Rating: Must be a number from 1 to 5, or empty for none.",
        "B,None,none,,,,,": "Rating: Must be a number from 1 to 5, or empty for none.",
        "C,Old,,1066-10-14,,,,": "Use a day from 1990 until today.",
        "D,Future,,2999-01-01,,,,": "Use a day from 1990 until today.",
        "E,No day,,2024-02-30,,,,": "This date or time doesn’t exist.",
        "F,Soon,,soon,,,,": "Use a date like 2026-03-12.",
        f"{'G' * 121},Long,,,,,,": "Name: Shorten this to 120 characters; it has 121.",
        f"H,{'x' * 2001},,,,,,": "Text: Shorten this to 2000 characters; it has 2001.",
        "I,Address,,,,,nobody,": "Email address: Enter an email address like name@example.com.",
        "J,Photo,,,,,,javascript:alert(1)": "Photo URL: Enter the full address",
        "K,More,,,,,,,extra": "The line has more cells than there are headings.",
        "L,Bell\a,,,,,,": "Text: Remove the control characters",
    }
    told = import_lines(app, file, HEAD, *bad, MAYA)
    assert (told["code"], told["new"], told["refused"]) == (1, 1, len(bad))
    for line, reason in zip(told["lines"], bad.values(), strict=True):
        assert reason in line["reason"]
    assert [row.author_name for row in read_testimonials(app, project)] == ["Maya Kowalski"]


def test_a_dry_run_tells_each_line_and_writes_nothing(app, project, file):
    file.write_text("\n".join((HEAD, MAYA, "A,Six,6,,,,,", "Li,Good,,,,,,")), encoding="utf-8")
    result = run(app, "testimonials", "import", "fern", str(file), "--dry-run")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Columns: text = Quote, authorName = Name, authorRole = Job title, authorCompany = Company,"
        " authorEmail = Email, authorAvatar = Photo, rating = Stars, submittedAt = Date",
        'line 2: new. Maya Kowalski: It "simply", works. Truly. (5 stars, 2024-03-12)',
        "line 4: refused. Rating: Must be a number from 1 to 5, or empty for none.",
        "line 5: new. Li: Good",
        "1 refused line(s) have something optional that can’t be used; --leave-out imports them "
        "without it.",
        "2 would be imported, 0 already there, 1 refused.",
    ]
    assert read_testimonials(app, project) == []


def test_columns_can_be_named(app, project, file):
    lines = ("Wer,Was,Vor,Nach,Rating", "x,Sehr gut,Mia,Öz,9")
    file.write_text("\n".join(lines), encoding="utf-8")
    assert "Which column has the text and name?" in refusal(app, file)
    said = ("--map", "text=Was", "--map", "authorName=Vor", "--map", "authorName=Nach")
    told = import_file(app, file, *said, "--map", "rating=")
    assert told["new"] == 1
    (row,) = read_testimonials(app, project)
    assert (row.author_name, row.text, row.rating) == ("Mia Öz", "Sehr gut", None)
    assert "There is no column “Wo”. The columns are: Wer, Was" in refusal(
        app, file, "--map", "text=Wo"
    )
    assert "There is no field words. The fields are: text," in refusal(
        app, file, "--map", "words=Was"
    )
    assert "Write --map FIELD=COLUMN instead of text." in refusal(app, file, "--map", "text")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("\ufeffName;Review\nZoë;\"a;b\nc\"\n".encode(), "Zoë"),
        ("Name\tReview\r\nZoë\tFine\r\n".encode(), "Zoë"),
        ("\n\nName,Review\n\n,\nZoë,Fine".encode(), "Zoë"),
        ("Name,Review\nZoë,Fine".encode("utf-16"), "Zoë"),
        (b'[{"name": "Zo\\u00eb", "review": "Fine", "rating": 5.0, "x": {"y": [1]}}]', "Zoë"),
        ('{"data": {"items": [{"authorName": "Zoë", "text": "Fine"}]}}'.encode(), "Zoë"),
        ('{"name": "Zoë", "review": "Fi\u2028ne"}\r\n\n'.encode() * 2, "Zoë"),
        ("sep=;\r\nName;Review,\r\nZoë;\"Fine, really\"".encode(), "Zoë"),
        ("First name,Last name,Review\nZoë,Ng,Fine".encode(), "Zoë Ng"),
    ],
)  # fmt: skip
def test_files_of_many_kinds_are_read(content, name):
    table = read_table(content)
    mapping = guess_mapping(table.headings)
    row = read_row(table.lines[0].cells, Reading(table, mapping))
    assert row.columns["author_name"] == name
    assert "\r" not in row.columns["text"]


def test_a_file_in_an_encoding_that_is_named_is_read(app, project, file):
    file.write_bytes("Name,Review\nZoë,Fine".encode("cp1252"))
    assert "The file seems to be in windows-1252, not UTF-8." in refusal(app, file)
    named = ("--encoding", "windows-1252", "--status", "pending")
    assert import_file(app, file, *named)["new"] == 1
    (row,) = read_testimonials(app, project)
    assert (row.author_name, row.status, row.reviewed_at) == ("Zoë", "pending", None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "The file is empty."),
        (b"\xef\xbb\xbf\n", "The file is empty."),
        (b"Name,Review\n", "The file has only headings."),
        (b'Name,Review\nA,"open', "Line 2 can’t be read as CSV: unexpected end"),
        (b'Name,Review\nA,"x"y', "Line 2 can’t be read as CSV"),
        ("Name,Review\nA,B\n".encode("utf-16-le"), "The file seems to be in utf-16, not UTF-8."),
        (b"Name,Review" + b",a" * 100_000 + b"\nA,B", "The file has more than 200 columns."),
        (b"[1", "The file isn’t valid JSON"),
        (b"[" * 50_000, "The file isn’t valid JSON"),
        (b'{"a": 1}', "The JSON has no list of testimonials."),
        (b"PK\x03\x04", "with the command `projects import`"),
        (b"Name,Review\n" + b"A,B\n" * 50_001, "more than 50,000 lines"),
    ],
)
def test_a_file_that_can_not_be_read_gets_a_sentence(content, reason):
    with pytest.raises(TableUnreadable) as raised:
        read_table(content)
    assert reason in raised.value.message


def test_nothing_in_a_file_steers_the_terminal(app, project, file):
    file.write_text('Name,Review\n\x1b]0;evil\x07,\x9b31mred\nA,"\x1b[2J"\n')
    for options in ((), ("--dry-run",), ("--map", "text=no")):
        result = run(app, "testimonials", "import", "fern", str(file), *options)
        assert result.exit_code == 1
        assert "\x1b" not in result.output
        assert "\x9b" not in result.output


def test_what_json_alone_can_write_is_refused_alone(app, project, file):
    deep = "[" * 900 + "]" * 900
    lines = [
        '{"name": "A\\ud83d", "text": "Cut off"}',
        f'{{"name": "B", "text": "Fine", "tags": {deep}, "cut \\ud83d": 1}}',
        f'{{"name": "C", "text": {deep}}}',
    ]
    file.write_text(f"[{', '.join(lines)}, 5]")
    told = import_file(app, file)
    assert (told["new"], told["refused"]) == (1, 3)
    assert [each["reason"] for each in told["lines"]] == [
        "Name: Remove the control characters.",
        "Text: The cell is empty.",
        "This isn’t a JSON object.",
    ]
    assert [row.author_name for row in read_testimonials(app, project)] == ["B"]


def test_days_and_months_are_never_guessed(app, project, file):
    lines = ("Name,Review,Date", "A,One,03/04/2024", "B,Two,05/06/2024")
    file.write_text("\n".join(lines))
    assert "Add --dates dmy if the day comes first" in refusal(app, file)
    assert read_testimonials(app, project) == []
    for order, day in (("dmy", "2024-04-03"), ("mdy", "2024-03-04")):
        assert read_date("03/04/2024", order).date().isoformat() == day
    # Another line of the file can tell.
    import_lines(app, file, *lines, "C,Three,25/12/2023")
    found = {row.author_name: row.submitted_at.date() for row in read_testimonials(app, project)}
    assert (found["A"].isoformat(), found["C"].isoformat()) == ("2024-04-03", "2023-12-25")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-12", "2024-03-12T12:00:00.000Z"),
        ("2024-03-12T08:30:15.123456Z", "2024-03-12T08:30:15.123Z"),
        ("2024-03-12 08:30:15 +0200", "2024-03-12T06:30:15.000Z"),
        ("2024-03-12T08:30:15-05:00", "2024-03-12T13:30:15.000Z"),
        ("2024/03/12", "2024-03-12T12:00:00.000Z"), ("12.03.2024", "2024-03-12T12:00:00.000Z"),
        ("3.4.2024, 08:05", "2024-04-03T08:05:00.000Z"),
        ("12 Mar 2024", "2024-03-12T12:00:00.000Z"),
        ("12th March 2024", "2024-03-12T12:00:00.000Z"),
        ("March 12, 2024 at 3:04 PM", "2024-03-12T15:04:00.000Z"),
        ("Mar 12, 2024, 12:04 a.m.", "2024-03-12T00:04:00.000Z"),
        ("Tue, 12 Mar 2024 08:30:15 GMT", "2024-03-12T08:30:15.000Z"),
        ("Tue Mar 12 2024 08:30:15 GMT+0100 (CET)", "2024-03-12T07:30:15.000Z"),
        ("1710232215", "2024-03-12T08:30:15.000Z"), ("1710232215123", "2024-03-12T08:30:15.123Z"),
        ("13/01/2024", "2024-01-13T12:00:00.000Z"), ("01/13/2024", "2024-01-13T12:00:00.000Z"),
        ("05/05/2024", "2024-05-05T12:00:00.000Z"),
    ],
)  # fmt: skip
def test_dates_in_common_forms(text, expected):
    assert clock.iso(read_date(text, None)) == expected


def test_files_of_senja_are_known(app, project, file):
    head = "id,type,title,text,rating,date,approved,customer_name,customer_email,customer_avatar,"
    head += "customer_company,customer_tagline,tags"
    told = import_lines(
        app,
        file,
        head,
        '1,text,Wow!,Great,5,2024-01-02T03:04:05Z,true,Ann,,https://x.example/a,Kiln,CEO,"a,b"',
        "2,text,,Hm,,2024-01-02T03:04:05Z,false,Bob,,,,,",
        "3,video,,,,2024-01-02T03:04:05Z,true,Cy,,,,,",
    )
    assert (told["service"], told["new"], told["refused"]) == ("Senja", 2, 1)
    assert told["lines"][0]["reason"] == "This is a recording; only text can be imported."
    rows = {row.author_name: row for row in read_testimonials(app, project)}
    assert (rows["Ann"].author_role, rows["Ann"].author_company) == ("CEO", "Kiln")
    assert (rows["Ann"].status, rows["Bob"].status) == ("approved", "pending")
    with app.app_context():
        tags = db.session.scalars(select(models.TestimonialTag.name)).all()
        assert sorted(tags) == ["a", "b"]


def test_files_of_testimonial_to_are_known():
    mapping = guess_mapping(["name", "email", "title", "testimonial", "rating", "avatarURL"])
    assert mapping.service == "Testimonial.to"
    assert mapping.columns["text"] == ("testimonial",)
    assert mapping.columns["authorRole"] == ("title",)
    assert mapping.columns["authorAvatar"] == ("avatarURL",)


def test_our_own_csv_is_taken_back(app, project, owner, tmp_path):
    texts = {"=cmd|' /C calc'!A0": "approved", "'-5": "pending", "+1": "rejected", "@x": "spam"}
    answered = clock.now() - timedelta(days=40)
    public = {"highlights": [[0, 1], [2, 4]], "reply": "-Thanks", "replied_at": answered}
    public |= {"is_pinned": True, "form_name": "after-class", "tags": ["=a", "press"]}
    public |= {"is_insider": True, "translated_from": "pt-BR"}
    for number, (text, status) in enumerate(texts.items()):
        values = public if number == 0 else {}
        add_testimonial(app, project, author_name=f"-P{number}", text=text, status=status, **values)
    add_testimonial(app, project, text="Sample", status="demo", source="demo")
    add_testimonial(app, project, text="Deleted", deleted_at=clock.now())
    path = tmp_path / "fern.csv"
    run_well(app, "projects", "export", "fern", str(path), "--csv")
    with path.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 5
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    other = owner.create_project(slug="other")["_id"]
    result = run(app, "testimonials", "import", "other", str(path), "--json")
    told = json.loads(result.stdout)
    assert (told["service"], told["new"], told["refused"]) == ("Testimonials", 3, 2)
    reasons = {line["reason"] for line in told["lines"]}
    assert reasons == {
        "Status: Testimonials that are “spam” are not imported.",
        "This was in the trash.",
    }
    imported = {row.text: row for row in read_testimonials(app, other)}
    found = {text: row.status for text, row in imported.items()}
    assert found == {text: status for text, status in texts.items() if status != "spam"}
    first = imported[next(iter(texts))]
    assert (first.highlights, first.reply) == ([[0, 1], [2, 4]], "-Thanks")
    assert (first.is_insider, first.translated_from) == (True, "pt-BR")
    assert (first.replied_at, first.is_pinned, first.kind) == (answered, True, "written")
    assert (first.form_name, [row.is_pinned for row in imported.values()].count(True)) == (
        "after-class",
        1,
    )
    with app.app_context():
        tags = select(models.TestimonialTag.name).where(models.TestimonialTag.project_id == other)
        assert set(db.session.scalars(tags)) == {"=a", "press"}
    run_well(app, "projects", "export", "fern", str(path), "--csv", "--samples", "--force")
    assert "Sample" in path.read_text(encoding="utf-8-sig")


@given(st.text(max_size=30))
def test_shielding_a_cell_loses_nothing(text):
    shielded = shield(text)
    assert not shielded.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unshield(shielded) == text


def test_many_lines_are_written_in_short_transactions(app, project, file, monkeypatch):
    monkeypatch.setattr(jobs, "BATCH_ROWS", 10)
    days = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day * 7 % 27) for day in range(27)]
    lines = [f"Person {place},Words {place},{day.isoformat()}" for place, day in enumerate(days)]
    assert import_lines(app, file, "Name,Review,Date", *lines)["new"] == 27
    rows = read_testimonials(app, project)
    times = [row.created_at for row in rows]
    assert times == sorted(set(times))
    assert times[-1] <= clock.now()
    assert [row.submitted_at for row in rows] == sorted(days)
    batches = {change.batch_id for change in read_history(app)}
    actions = {change.action for change in read_history(app)}
    # Each transaction has its own, for who hears of one while the next is written.
    assert (len(batches), actions) == (3, {"import"})


def test_an_interrupted_import_can_be_finished(app, project, file, monkeypatch):
    monkeypatch.setattr(jobs, "BATCH_ROWS", 2)
    steps = iter([jobs.write_batch, jobs.write_batch])
    with monkeypatch.context() as patched:
        # The third transaction dies before it writes anything.
        patched.setattr(jobs, "write_batch", lambda *arguments: next(steps)(*arguments))
        lines = ("Name,Review,Tags", *(f"P{number},Words {number},x" for number in range(7)))
        file.write_text("\n".join(lines))
        assert run(app, "testimonials", "import", "fern", str(file)).exit_code == 1
    assert count_rows(app, models.Testimonial) == 4
    assert len(read_history(app)) == 4
    assert count_rows(app, models.TestimonialTag) == 4
    told = import_file(app, file)
    assert (told["new"], told["there"]) == (3, 4)


def test_two_imports_at_once_add_each_testimonial_once(app, project, file, monkeypatch):
    def plan_and_be_late(*arguments: Any) -> importing.Plan:
        """Plan, and let another import of the same file come first."""
        plan = importing.plan_import(*arguments)
        monkeypatch.undo()
        run_well(app, "testimonials", "import", "fern", str(file))
        return plan

    monkeypatch.setattr(testimonials, "plan_import", plan_and_be_late)
    told = import_lines(app, file, HEAD, MAYA)
    assert (told["new"], told["there"], len(read_testimonials(app, project))) == (0, 1, 1)
