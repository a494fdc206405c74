"""Archives that somebody edited: what their own record doesn't say is what the owner brought."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flask import Flask
from sqlalchemy import select, update

from testimonials.collection.author_rights import (
    correct,
    find_own,
    hash_words,
    make_author_token,
    sign,
    verify_email,
    withdraw,
)
from testimonials.core import clock
from testimonials.core.chain import chain, hash_entry, read_log, write_canonical
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.jobs import run_due
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.counts import read_numbers
from testimonials.testimonials.history import CONFIRM, OBJECT
from testimonials.testimonials.moderation import empty_trash
from testimonials.testimonials.record import note
from testimonials.testimonials.record_heads import add_up
from testimonials.transfer.archives.comparing import Differences
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.collection.authors.authors import Visitor
from tests.conftest import Caller
from tests.support.commands import run, run_json, run_well
from tests.support.rows import add_testimonial, read_testimonials
from tests.testimonials.counts.test_histories import find_differences
from tests.testimonials.moderation.test_setting_aside import decide
from tests.transfer.archives.projects import change_json

pytestmark = pytest.mark.postgres

Described = dict[str, Any]
STARS = {"Noor": "5", "Ada": "1", "Mia": "2", "Edit": "4"}


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    """A project with a visitor for each of STARS, of whom one was edited and one proved."""
    made = owner.create_project(slug="oat", businessName="Oat", skipDemoTestimonials=True)
    visitor = Visitor(app.test_client(), made["_id"], "oat")
    for at, (name, stars) in enumerate(STARS.items()):
        visitor.ip = f"10.3.{at}.1"
        words = f"{name} says: warm bread, a long queue, and a friendly face."
        visitor.write(name=name, text=words, rating=stars, email=f"{name.lower()}@example.com")
    agent = give_token(app, owner)
    with app.app_context(), write():
        (row,) = db.session.scalars(
            select(models.Testimonial).where(models.Testimonial.author_name == "Mia")
        )
        row.is_rewarded = True
        note(row.project, row, "proven")
    for row in read_testimonials(app, made["_id"]):
        decide(agent, made["_id"], row.id, decision="approve")
        path = f"/v1/projects/{made['_id']}/testimonials/{row.id}"
        if row.author_name == "Edit":
            assert agent.patch(path, {"text": "Warm bread."}).status_code == 200
        with app.app_context(), write():
            found = db.session.get_one(models.Testimonial, row.id)
            if row.author_name == "Noor":
                found.purchase_verified_at = clock.now()
                note(found.project, found, "proven")
    return str(made["_id"])


@pytest.fixture
def archive(app: Flask, project: str, tmp_path: Path) -> Path:
    run_well(app, "projects", "export", "oat", str(tmp_path / "oat.zip"))
    return tmp_path / "oat.zip"


def bring(app: Flask, owner: Caller, path: Path) -> Described:
    into = ("--account", owner.email, "--slug", "oat-2")
    told = run_json(app, "projects", "import", str(path), *into)
    with app.app_context():
        run_due("jobs")
    return dict(told)


def count(app: Flask, project_id: str) -> list[int]:
    """Return how many ratings of 1 to 5 stars count."""
    with app.app_context():
        return list(read_numbers(db.session.get_one(Project, project_id)).stars)


def of(name: str, **values: Any) -> Callable[[Described], object]:
    def change(described: Described) -> None:
        find(described, name).update(values)

    return change


def find(described: Described, name: str) -> Described:
    rows: list[Described] = described["testimonials"]
    return next(row for row in rows if row["authorName"] == name)


def remove(name: str) -> Callable[[Described], object]:
    def change(described: Described) -> None:
        described["testimonials"].remove(find(described, name))

    return change


def test_what_is_as_the_record_says_comes_as_it_is(app, owner, client, archive):
    told = bring(app, owner, archive)
    assert (told["differing"], told["missing"]) == ([], 0)
    rows = read_testimonials(app, told["_id"])
    assert {row.source for row in rows} == {"public_page"}
    assert [row.author_name for row in rows if row.purchase_verified_at] == ["Noor"]
    assert count(app, told["_id"]) == [1, 1, 0, 1, 1]
    # And from there again, with one from before there were records.
    add_testimonial(app, told["_id"], rating=3)
    second = archive.parent / "second.zip"
    run_well(app, "projects", "export", "oat-2", str(second))
    run_well(app, "projects", "delete", "oat-2", "--yes")
    told = bring(app, owner, second)
    assert (told["differing"], told["missing"]) == ([], 0)


def test_whatever_happens_to_it_a_testimonial_is_as_its_record_says(app, owner, project):
    agent, browser = give_token(app, owner), open_browser(app, owner)
    one = next(row.id for row in read_testimonials(app, project) if row.author_name == "Mia")
    path, page = f"/v1/projects/{project}/testimonials/{one}", f"/dashboard/projects/{project}"

    def author(do: Callable[..., object], *values: Any) -> None:
        with app.app_context(), write():
            token = make_author_token(db.session.get_one(models.Testimonial, one), is_mailed=True)
            own = find_own(token, for_update=True)
            do(own, *(each(own.row) if callable(each) else each for each in values))

    def edit(**values: Any) -> str:
        answer = agent.patch(path, values)
        assert answer.status_code == 200, answer.text
        return str(answer.json["data"]["text"])

    def date() -> None:
        form = {"author_name": "M.", "text": edit(reply="Thanks."), "submitted_on": "2020-01-02"}
        assert browser.post(f"{page}/testimonials/{one}", data=form).status_code == 303

    steps: list[Callable[[], object]] = [
        lambda: author(verify_email),
        lambda: edit(text="Warm bread."),
        lambda: author(sign, OBJECT, hash_words),
        lambda: edit(text="Warm."),
        lambda: browser.post(f"{page}/undo"),
        lambda: author(sign, CONFIRM, hash_words),
        lambda: edit(authorName="M."),
        lambda: author(correct, {"text": "Warm bread, long queue.", "rating": 3.0}),
        lambda: edit(text="Pan caliente.", translatedFrom="en"),
        date,
        lambda: decide(agent, project, one, decision="reject"),
        lambda: decide(agent, project, one, decision="set-aside", reason="off_topic"),
        lambda: author(withdraw),
    ]
    for at, step in enumerate(steps):
        step()
        assert find_differences(app, project) == Differences(), at


EDITS: dict[str, tuple[str, Callable[[Described], object]]] = {
    "one star is five": ("Ada", of("Ada", rating=5.0)),
    "no stars": ("Ada", of("Ada", rating=None)),
    "set aside": ("Ada", of("Ada", status="rejected", setAside="not_customer")),
    "held": ("Ada", of("Ada", status="spam")),
    "an order": ("Mia", of("Mia", purchaseVerifiedAt="2026-03-12T10:00:00.000Z")),
    "an address": ("Mia", of("Mia", emailVerifiedAt="2026-03-12T10:00:00.000Z")),
    "words": ("Mia", of("Mia", text="The best bread in town.")),
    "a name": ("Mia", of("Mia", authorCompany="Michelin")),
    "another day": ("Ada", of("Ada", submittedAt="2019-03-12T10:00:00.000Z")),
    "no salts": ("Mia", of("Mia", salts=[])),
    "other salts": ("Mia", of("Mia", salts=["0" * 32])),
    "not edited": ("Edit", of("Edit", originalText=None)),
    "no history": ("Edit", of("Edit", changes=[])),
    "no thank-you": ("Mia", of("Mia", isRewarded=False)),
    "brought in before": ("Ada", of("Ada", source="import")),
}


def test_what_differs_is_brought_in_and_the_stars_stay(app, owner, client, archive):
    for edit, (name, change) in EDITS.items():
        told = bring(app, owner, change_json(archive, change, archive.parent / "edited.zip"))
        rows = {row.author_name: row for row in read_testimonials(app, told["_id"])}
        row = rows[name]
        assert (told["differing"], told["missing"]) == ([row.id], 0), edit
        assert (row.source, row.rating, row.consented_at) == ("import", None, None), edit
        assert (row.purchase_verified_at, row.email_verified_at) == (None, None), edit
        others = {each.source for each in rows.values() if each is not row}
        assert others == {"public_page"}, edit
        assert count(app, told["_id"]) == [1, 1, 0, 1, 1], edit
        if row.is_visible:
            assert "Written in by the business" in client.get(f"/oat-2/{row.id}/record").text
            policy = client.get("/oat-2/how-we-collect").text
            assert "Imported from elsewhere: 1." in policy, edit
        log = read_log(client.get(f"/record/{told['_id']}/log").data)
        assert (add_up(log), log.entries[0]["differing"]) == ((4, 3.0), 1), edit
        run_well(app, "projects", "delete", "oat-2", "--yes")


def test_a_rating_that_was_taken_out_of_the_file_counts(app, owner, client, archive):
    told = bring(app, owner, change_json(archive, remove("Ada"), archive.parent / "edited.zip"))
    assert (told["differing"], told["missing"], told["testimonials"]) == ([], 1, 3)
    assert count(app, told["_id"]) == [1, 1, 0, 1, 1]
    assert "shown or not: 4." in client.get("/oat-2/how-we-collect").text
    # From there, it can't be left out either.
    second = archive.parent / "second.zip"
    run_well(app, "projects", "export", "oat-2", str(second))
    run_well(app, "projects", "delete", "oat-2", "--yes")
    without = change_json(second, lambda d: d.update(keptRatings=[]), archive.parent / "3.zip")
    told = bring(app, owner, without)
    assert told["missing"] == 1
    assert count(app, told["_id"]) == [1, 1, 0, 1, 1]


def test_what_was_set_aside_and_is_gone_counts_elsewhere_too(app, owner, client, project, tmp_path):
    agent = give_token(app, owner)
    for row in read_testimonials(app, project):
        if row.author_name in ("Ada", "Mia"):
            decide(agent, project, row.id, decision="set-aside", reason="off_topic")
            decide(agent, project, row.id, decision="delete")
    with app.app_context(), write():
        trash = update(models.Testimonial).where(models.Testimonial.deleted_at.is_not(None))
        db.session.execute(trash.values(deleted_at=clock.now() - timedelta(days=40)))
        empty_trash(100)
    said = "Set aside because they are off topic: 2."
    assert said in client.get("/oat/how-we-collect").text
    path, slug = tmp_path / "oat.zip", "oat"
    # Twice, as only the log of the last place comes along.
    for _ in range(2):
        run_well(app, "projects", "export", slug, str(path), "--force")
        run_well(app, "projects", "delete", slug, "--yes")
        told, slug = bring(app, owner, path), "oat-2"
        assert (told["differing"], told["missing"]) == ([], 0)
        assert said in client.get("/oat-2/how-we-collect").text
        assert count(app, told["_id"]) == [0, 0, 0, 1, 1]


def test_made_up_ones_are_brought_in_and_made_up_ratings_are_left_out(app, owner, archive):
    def add(described: Described) -> None:
        more = {"id": "a" * 24, "authorName": "Nobody", "changes": [], "submissionKey": None}
        described["testimonials"].append(find(described, "Noor") | more)
        described["keptRatings"] = [{"day": 20_000, "rating": 5.0, "number": 500}]

    told = bring(app, owner, change_json(archive, add, archive.parent / "edited.zip"))
    (row,) = (row for row in read_testimonials(app, told["_id"]) if row.author_name == "Nobody")
    assert (row.source, row.rating, row.purchase_verified_at) == ("import", 5.0, None)
    assert (told["differing"], told["missing"]) == ([row.id], 0)
    assert count(app, told["_id"]) == [1, 1, 0, 1, 2]


def test_a_log_that_was_cut_broken_or_is_anothers_is_refused(app, owner, archive):
    wrong = {
        "Its public record is not what was signed.": [
            lambda d: d["record"].pop(),
            lambda d: d["record"].pop(-2),
            lambda d: d["record"].pop(0),
            lambda d: d["record"].__setitem__(0, d["record"][0].replace('"stars":5', '"stars":4')),
        ],
        "Its public record is another project’s.": [lambda d: d["project"].update(id="b" * 24)],
    }
    for said, changes in wrong.items():
        for change in changes:
            path = change_json(archive, change, archive.parent / "edited.zip")
            into = ("--account", owner.email, "--slug", "oat-2")
            assert said in run(app, "projects", "import", str(path), *into).stderr


def test_a_log_of_ones_own_names_its_key(app, owner, client, archive):
    """Nobody can tell it from one of an unknown instance, but for its key, which is published."""
    key = Ed25519PrivateKey.generate()

    def forge(described: Described) -> None:
        find(described, "Ada")["rating"] = 5.0
        *lines, last = described["record"]
        rows = []
        for line in lines:
            entry = json.loads(line)
            del entry["seq"], entry["prev"]
            if entry["testimonial"] == find(described, "Ada")["id"]:
                entry["stars"] = 5
            rows.append({"entry": entry, "actor_kind": entry["by"], "created_at": clock.now()})
        chain(None, rows)
        head = json.loads(last)["head"] | {"hash": hash_entry(rows[-1]["entry"])}
        signed = {
            "head": head,
            "key": key.public_key().public_bytes_raw().hex(),
            "signature": key.sign(write_canonical(head).encode()).hex(),
        }
        described["record"] = [*(row["entry"] for row in rows), write_canonical(signed)]

    told = bring(app, owner, change_json(archive, forge, archive.parent / "forged.zip"))
    assert told["differing"] == []
    entry = read_log(client.get(f"/record/{told['_id']}/log").data).entries[0]
    assert entry["key"] == key.public_key().public_bytes_raw().hex()
    ours = [each["key"] for each in client.get("/record/keys").json["keys"]]
    assert entry["key"] not in ours


def test_what_was_signed_here_later_is_named(app, owner, client, project, archive):
    """An older archive in place of the project can't undo in silence what came after it."""
    Visitor(client, project, "oat", "10.9.9.9").write(name="Late", rating="1")
    head = client.get(f"/record/{project}/head").json
    run_well(app, "projects", "delete", "oat", "--yes")
    for change in (lambda _: None, lambda d: d.pop("record")):
        told = bring(app, owner, change_json(archive, change, archive.parent / "again.zip"))
        assert told["_id"] == project
        entry = read_log(client.get(f"/record/{project}/log").data).entries[0]
        assert (entry["kind"], entry["replaced"]) == ("continued", head["head"])
        head = client.get(f"/record/{project}/head").json
        run_well(app, "projects", "delete", "oat-2", "--yes")
