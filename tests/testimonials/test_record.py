"""The public record: its log, its heads, the record of one testimonial, and what erasing leaves."""

import gzip
import hashlib
import html
import json
import random
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from cryptography.exceptions import InvalidSignature
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, select

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.audit import Event, record_changes
from testimonials.core.chain import LogInvalid, read_log
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import delete_old_events
from testimonials.core.extensions import db
from testimonials.core.http.urls import own_hosts
from testimonials.core.jobs import run_due
from testimonials.projects.models import CustomDomain, Project
from testimonials.testimonials import models
from testimonials.testimonials.models import RecordHead
from testimonials.testimonials.record import begin_all, note, write_entry
from testimonials.testimonials.record_heads import add_up, sign_heads
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.collection.authors.authors import WORDS, Visitor
from tests.conftest import Caller
from tests.contracts.documents import DOCS
from tests.support.commands import run, run_json, run_well
from tests.support.racing import at_once
from tests.support.rows import add_testimonial, change_project, read_testimonials
from tests.support.sampling import rounds
from tests.testimonials.moderation.test_setting_aside import decide

pytestmark = pytest.mark.postgres


def get_log(client: FlaskClient, project_id: str) -> bytes:
    answer = client.get(f"/record/{project_id}/log")
    assert answer.status_code == 200, answer.text
    return answer.data


def list_kinds(log: bytes) -> list[tuple[str, str, str]]:
    entries = read_log(log).entries
    return [(each["kind"], each["by"], each["status"]) for each in entries]


@pytest.fixture
def project(owner: Caller) -> str:
    made = owner.create_project(slug="oat", businessName="Oat", skipDemoTestimonials=True)
    return str(made["_id"])


def test_a_log_is_compressed_and_not_sent_twice(client, owner, project):
    for number in range(40):
        owner.create_testimonial(project, text=f"Said {number}.")
    address, plain = f"/record/{project}/log", get_log(client, project)
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < len(plain) / 2
    assert gzip.decompress(packed.data) == plain
    known = {"If-None-Match": packed.headers["ETag"]}
    assert client.get(address, headers=known).status_code == 304
    owner.create_testimonial(project, text="Said later.")
    assert len(read_log(client.get(address, headers=known).data).entries) == 41


def test_each_step_is_an_entry(app, client, owner, project):
    helper = give_token(app, owner, *Scope)
    one = owner.create_testimonial(project, rating=5)["_id"]
    path = f"/v1/projects/{project}/testimonials/{one}"
    assert helper.patch(path, {"text": "Shorter."}).status_code == 200
    decide(helper, project, one, decision="reject")
    decide(helper, project, one, decision="set-aside", reason="off_topic")
    decide(helper, project, one, decision="approve")
    assert helper.delete(path).status_code == 200
    log = get_log(client, project)
    assert list_kinds(log) == [
        ("received", "agent", "approved"), ("changed", "agent", "approved"),
        ("decided", "agent", "rejected"), ("set-aside", "agent", "rejected"),
        ("decided", "agent", "approved"), ("deleted", "agent", "approved"),
    ]  # fmt: skip
    reasons = [each.get("reason") for each in read_log(log).entries]
    assert reasons == [None, None, None, "off_topic", None, None]
    assert b"Shorter" not in log


def test_what_is_shown_verifies_and_earlier_words_are_not_told(app, client, owner, project):
    one = owner.create_testimonial(project, text="Warm buns, and a very long queue.")["_id"]
    path = f"/v1/projects/{project}/testimonials/{one}"
    assert owner.get(path).status_code == 200
    assert give_token(app, owner, *Scope).patch(path, {"text": "Warm buns."}).status_code == 200
    told = client.get(f"/oat/{one}/record.json").json
    log = [line.decode() for line in get_log(client, project).splitlines()]
    assert "queue" not in json.dumps(told)
    words = json.dumps(told["words"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    salts = [each.get("salt") for each in told["entries"]]
    assert salts[0] is None
    hashed = hashlib.sha256((salts[1] + words).encode()).hexdigest()
    assert hashed == told["entries"][1]["entry"]["words"]
    for each, line in zip(told["entries"], log, strict=False):
        assert each["hash"] == hashlib.sha256(line.encode()).hexdigest()
        assert json.loads(line) == each["entry"]
    page = client.get(f"/oat/{one}/record").text
    # It is for whoever doubts a card, not for finding people by.
    assert '<meta name="robots" content="noindex">' in page
    assert "Warm buns." in page
    assert "Shortened by the business" in page
    assert "queue" not in page


PROOFS = {
    "order": "The shop’s system confirmed the purchase.",
    "request": "The author answered a request that the business emailed to them.",
    "email": "The author opened a link that was emailed to their address.",
}


def test_each_proof_has_its_words(app, client, project):
    for proof, said in PROOFS.items():
        one = add_testimonial(app, project)
        with app.app_context(), write():
            row = db.session.get_one(models.Testimonial, one)
            entry = write_entry(row, "received", proof, has_words=True)
            told = {"testimonial_id": one, "type": "", "before": None, "created_at": clock.now()}
            record_changes(row.project, [told | entry], batch_id=new_identifier())
        page = client.get(f"/oat/{one}/record").text
        assert re.findall("✓ ([^<]+)", page) == [said]
        assert page.count("Not here.") == 2


def test_what_is_not_shown_has_no_page(app, client, project):
    for status in ("pending", "rejected", "demo"):
        row = add_testimonial(app, project, status=status)
        for end in ("record", "record.json"):
            assert client.get(f"/oat/{row}/{end}").status_code == 404
    assert client.get(f"/record/{project}/log").status_code == 404


def test_a_changed_byte_is_noticed(app, client, owner, project):
    for number in range(12):
        owner.create_testimonial(project, rating=number % 5 + 1, text=f"Said {number}.")
    log = get_log(client, project)
    read_log(log)
    chance = random.Random(7)
    for _ in range(rounds(300, 10_000)):
        at = chance.randrange(len(log))
        other = chance.choice([byte for byte in range(256) if byte != log[at]])
        with pytest.raises(LogInvalid):
            read_log(log[:at] + bytes([other]) + log[at + 1 :])
    lines = log.splitlines(keepends=True)
    for wrong in (lines[1:], lines[:-2] + lines[-1:], lines[:-1], [lines[1], lines[0], *lines[2:]]):
        with pytest.raises(LogInvalid):
            read_log(b"".join(wrong))


def test_the_code_of_the_documents_notices_it_too(client, owner, project):
    one = owner.create_testimonial(project, text="Said “so” 🌿.", rating=4.5)["_id"]
    owner.create_testimonial(project)
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "record.md").read_text("utf-8"), re.DOTALL)
    told: dict[str, Any] = {"__name__": "documents"}
    exec(code, told)  # noqa: S102 - our own
    log = get_log(client, project)
    entries = told["verify"](log)
    shown = client.get(f"/oat/{one}/record.json").json
    (salt,) = (each["salt"] for each in shown["entries"])
    assert told["is_said"](entries[0]["words"], salt, shown["words"])
    assert not told["is_said"](entries[0]["words"], salt, shown["words"] | {"name": "Another"})
    for at in range(len(log)):
        with pytest.raises((ValueError, InvalidSignature, LookupError, TypeError)):
            told["verify"](log[:at] + bytes([log[at] ^ 1]) + log[at + 1 :])


def test_writers_at_once_make_one_chain(app, owner, project):
    owner.create_testimonial(project)
    callers = [replace(owner, client=app.test_client()) for _ in range(4)]
    browser, other = open_browser(app, owner), open_browser(app, owner)

    def add(number: int) -> None:
        for turn in range(5):
            if number < 4:
                callers[number].create_testimonial(project)
            elif number == 4:
                # This locks the account, and nobody who writes to its record may wait for that.
                path, name = "/dashboard/account/name", {"display_name": f"Name {turn}"}
                assert browser.post(path, data=name).status_code == 303
            else:
                # This locks nothing.
                assert other.post("/dashboard/account/export", buffered=True).status_code == 200

    at_once(6, add)
    assert len(read_log(get_log(owner.client, project)).entries) == 21


def read_file(app: Flask, instance: Path) -> bytes:
    """Return the bytes of SQLite's files, in lower case; nothing of PostgreSQL."""
    with app.app_context():
        if db.engine.dialect.name != "sqlite":
            return b""
    return b"".join(each.read_bytes().lower() for each in instance.glob("testimonials.db*"))


def test_erasing_leaves_an_entry_without_salt_or_words(app, client, project, instance):
    visitor = Visitor(app.test_client(), project, "oat")
    path = visitor.write()
    said = " ".join(WORDS[name] for name in ("text", "name", "company", "email")).lower()
    words = [word.encode() for word in re.findall(r"[^\s.]{4,}", said)]
    with app.app_context():
        salts = db.session.scalars(select(Event.salt).where(Event.salt.is_not(None))).all()
    before, words = read_file(app, instance), [*words, *(salt.encode() for salt in salts)]
    assert len(salts) == 1
    assert not before or all(word in before for word in words)
    visitor.post(f"{path}/delete")
    with app.app_context():
        run_due("jobs")
    log = get_log(client, project)
    assert list_kinds(log) == [
        ("received", "author", "pending"), ("erased", "author", "pending"),
    ]  # fmt: skip
    assert add_up(read_log(log)) == (0, 0)
    after = read_file(app, instance)
    assert [word for word in words if word in after] == []
    with app.app_context():
        assert not db.session.scalars(select(Event.salt).where(Event.salt.is_not(None))).all()


def test_what_was_there_before_gets_its_entry_once(app, client, project):
    add_testimonial(app, project, text="Old words.")
    add_testimonial(app, project, status="spam", held_for="links")
    add_testimonial(app, project, status="demo", source="demo")
    for _ in range(2):
        with app.app_context():
            begin_all()
            run_due("jobs")
    entries = read_log(get_log(client, project)).entries
    assert [each["status"] for each in entries] == ["approved", "spam"]
    for entry in entries:
        assert (entry["backfilled"], entry["by"], entry["kind"]) == (True, "author", "received")


def test_what_is_held_as_spam_is_received_at_once(app, client, owner, project):
    helper = give_token(app, owner, *Scope)
    paths = []
    for number in range(3):
        visitor = Visitor(app.test_client(), project, "oat", f"10.4.{number}.1")
        text = f"Buy {number} at https://a.test/ https://b.test/ https://c.test/"
        paths.append(visitor.write(text=text, rating="1"))
    log = read_log(get_log(client, project))
    assert {(each["kind"], each["status"]) for each in log.entries} == {("received", "spam")}
    assert (len(log.entries), add_up(log)) == (3, (0, 0))
    one, two, _ = (each["testimonial"] for each in log.entries)
    decide(helper, project, one, decision="release")
    decide(helper, project, one, decision="approve")
    decide(helper, project, two, decision="delete")
    visitor.post(f"{paths[2]}/delete")
    kinds = [(each["kind"], each["status"]) for each in read_log(get_log(client, project)).entries]
    assert kinds[3:] == [
        ("decided", "pending"), ("decided", "approved"), ("deleted", "spam"), ("erased", "spam"),
    ]  # fmt: skip
    assert add_up(read_log(get_log(client, project))) == (1, 1.0)


def test_heads_are_signed_soon_and_stay(app, owner, project):
    owner.create_testimonial(project)
    with app.app_context():
        sign_heads()
        head = db.session.get_one(RecordHead, project)
        assert head.seq == 1
    shown = owner.client.get(f"/record/{project}/head").json
    with app.app_context(), write():
        db.session.delete(db.session.get_one(Project, project))
    assert owner.client.get(f"/record/{project}/head").json == shown
    assert owner.client.get(f"/record/{project}/log").status_code == 404


def test_an_old_key_still_verifies(app, client, owner, project, tmp_path):
    owner.create_testimonial(project)
    files = []
    for number in range(2):
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_bytes(get_log(client, project))
        run_well(app, "record", "rotate-key")
        owner.create_testimonial(project)
    keys = [each["key"] for each in client.get("/record/keys").json["keys"]]
    assert len(keys) == 3
    for file in files:
        assert run_json(app, "verify", str(file))["key"] in keys
        assert run(app, "verify", str(file), "--key", keys[0]).exit_code == 1
    files[0].write_bytes(files[0].read_bytes().replace(b'"stars":', b'"Stars":', 1))
    assert run(app, "verify", str(files[0])).exit_code == 1


def test_an_archive_brings_the_head_along(app, client, owner, project, tmp_path):
    owner.create_testimonial(project, text="Said there.")
    head = client.get(f"/record/{project}/head").json
    file, wrong = tmp_path / "oat.zip", tmp_path / "wrong.zip"
    run_well(app, "projects", "export", "oat", str(file))
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(wrong, "w") as new:
        new.writestr("project.json", old.read("project.json").replace(b"received", b"recEived"))
    into = ["--account", owner.email, "--slug", "oat-2"]
    refused = run(app, "projects", "import", str(wrong), *into)
    assert "Its public record is not what was signed." in refused.output
    run_well(app, "projects", "import", str(file), *into)
    with app.app_context():
        run_due("jobs")
        copy = db.session.scalars(select(Project.id).where(Project.slug == "oat-2")).one()
    first, second = read_log(get_log(client, copy)).entries
    assert (first["kind"], first["head"], first["key"]) == ("continued", head["head"], head["key"])
    assert (second["kind"], second["backfilled"]) == ("received", True)
    said = "It existed before this record began"
    assert said in client.get(f"/oat-2/{second['testimonial']}/record").text
    (original,) = (row.id for row in read_testimonials(app, project))
    assert said not in client.get(f"/oat/{original}/record").text


def test_another_day_leaves_an_entry(app, client, owner, project):
    """A bad one that is said to be old stands far below, but not unnoticed."""
    one, browser = add_testimonial(app, project, rating=1), open_browser(app, owner)
    path = f"/dashboard/projects/{project}/testimonials/{one}"
    form = {"author_name": "Noor", "text": "Stale.", "submitted_on": "2019-01-01"}
    assert browser.post(path, data=form).status_code == 303
    assert browser.post(path, data=form | {"submitted_on": "2018-01-01"}).status_code == 303
    entries = read_log(get_log(client, project)).entries
    assert [each["kind"] for each in entries][-2:] == ["changed", "changed"]
    assert "words" not in entries[-1]


def test_an_order_that_the_business_listed_is_told_apart(app, client, project):
    one = add_testimonial(app, project, purchase_verified_at=clock.now())
    with app.app_context(), write():
        row = db.session.get_one(models.Testimonial, one)
        note(row.project, row, "received", hashes={})
    by_shop = "The shop’s system confirmed the purchase."
    assert f"✓ {by_shop}" in client.get(f"/oat/{one}/record").text
    with app.app_context(), write():
        row = db.session.get_one(models.Testimonial, one)
        told = {"testimonial_id": one, "type": "", "before": None, "created_at": clock.now()}
        entry = told | write_entry(row, "received", "request")
        record_changes(row.project, [entry], batch_id=new_identifier())
    page = client.get(f"/oat/{one}/record").text
    assert by_shop not in page
    assert "✓ The business emailed its request to this author about their order." in page


def test_of_old_events_of_what_was_deleted_only_the_entry_stays(
    app, client, owner, project, moved_clock
):
    gone, kept = (owner.create_testimonial(project)["_id"] for _ in range(2))
    log = get_log(client, project)
    with app.app_context(), write():
        db.session.execute(delete(models.Testimonial).where(models.Testimonial.id == gone))
        moved_clock.move(days=401)
        delete_old_events(250)
        delete_old_events(250)
        moved_clock.move(days=-401)
        events = db.session.scalars(select(Event).where(Event.entry.is_not(None))).all()
        told = {each.testimonial_id: (each.type, each.actor_name) for each in events}
    assert told[gone] == ("", None)
    assert told[kept] == ("testimonial.created", owner.api_key[-4:])
    assert get_log(client, project) == log


def follow_all(client: FlaskClient, url: str) -> None:
    """Open the record at an address, and whatever its page and its JSON link."""
    page = client.get(urlsplit(url).path, base_url=url_root(url))
    assert page.status_code == 200, url
    told = client.get(f"{urlsplit(url).path}.json", base_url=url_root(url)).json
    links = re.findall(r'(?:href|src)="([^"#]+)"', html.unescape(page.text))
    assert {f"{url}.json", url} < {urljoin(url, each) for each in links}
    for link in {*links, told["log"], told["log"].replace("/log", "/head")}:
        target = urljoin(url, link)
        with client.get(target, base_url=url_root(target), follow_redirects=True) as answer:
            assert answer.status_code == 200, target


def url_root(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


def test_each_link_leads_on_from_a_host_of_its_own_and_below_a_path(
    app, client, owner, project, make_app
):
    one = owner.create_testimonial(project)["_id"]
    host = {"host": "reviews.oat.example", "token": "t", "is_held": True}
    change_project(app, project, own_host=host["host"])
    with app.app_context(), write():
        db.session.add(CustomDomain(project_id=project, **host))
    with app.app_context():
        own_hosts().forget()
    follow_all(client, f"https://reviews.oat.example/{one}/record")
    below = make_app(base_url="https://shop.example/said")
    change_project(below, project, own_host=None)
    follow_all(below.test_client(), f"https://shop.example/said/oat/{one}/record")


def test_another_secret_key_makes_another_signing_key(app, owner, project, make_app, tmp_path):
    owner.create_testimonial(project)
    files = [tmp_path / f"{number}.jsonl" for number in range(3)]
    files[0].write_bytes(get_log(owner.client, project))
    other = make_app(secret_key="another-secret-key-of-this-instance")
    # What was signed stands until there is more to sign.
    assert get_log(other.test_client(), project) == files[0].read_bytes()
    add_testimonial(other, project, text="Later.")
    with other.app_context():
        begin_all()
        run_due("jobs")
    files[1].write_bytes(get_log(other.test_client(), project))
    run_well(other, "record", "rotate-key")
    owner.create_testimonial(project)
    files[2].write_bytes(get_log(other.test_client(), project))
    keys = [each["key"] for each in other.test_client().get("/record/keys").json["keys"]]
    signed = [run_json(other, "verify", str(file))["key"] for file in files]
    assert signed == keys[::-1]
    assert len(set(keys)) == 3
