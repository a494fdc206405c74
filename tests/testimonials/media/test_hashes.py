"""Photos and recordings in the public record: as hashes, which anybody can check."""

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from testimonials.auth.tokens import Scope
from testimonials.core.audit import Event
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.images.uploads import Image
from testimonials.core.jobs import run_due
from testimonials.testimonials import models
from testimonials.testimonials.record import begin_all, hash_salted
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.commands import run, run_well
from tests.support.pictures import photo, to_bytes
from tests.support.rows import change_project
from tests.testimonials.media.conftest import row_of
from tests.testimonials.media.recorded import as_file, send, upload
from tests.testimonials.moderation.test_setting_aside import decide

pytestmark = pytest.mark.postgres
PNG = to_bytes(photo(300, 200), "PNG")


@pytest.fixture
def helper(app: Flask, owner: Caller) -> Caller:
    return give_token(app, owner, *Scope)


@pytest.fixture
def one(app: Flask, client: FlaskClient, page: str, helper: Caller) -> str:
    """One that is shown, with a photo and a video."""
    fields = {"avatar": True, "rating": True, "role": True, "company": True, "email": True}
    with app.app_context():
        config = db.session.get_one(models.Project, page).page_config
    change_project(app, page, page_config=config | {"collectFields": fields})
    sent = send(client, recording=upload(client), photo=as_file(PNG, "me.png"))
    assert sent.status_code == 303
    decide(helper, page, id := str(row_of(app, page).id), decision="approve")
    return id


def read(client: FlaskClient, one: str) -> dict[str, Any]:
    answer = client.get(f"/bakery/{one}/record.json")
    assert answer.status_code == 200, answer.text
    return dict(answer.json or {})


def verify(app: Flask, page: str, record: dict[str, Any], folder: Path) -> int:
    """Check a record by the command, against the log as it is now."""
    log, file = folder / "log.jsonl", folder / "record.json"
    log.write_bytes(app.test_client().get(f"/record/{page}/log").data)
    file.write_text(json.dumps(record))
    return run(app, "verify", str(log), "--record", str(file)).exit_code


def test_an_entry_has_the_hashes_of_what_is_served(app, client, page, one, tmp_path):
    told = read(client, one)
    received = told["entries"][0]
    assert set(told["media"]) == set(received["entry"]["media"]) == {"photo", "recording"}
    for name, each in told["media"].items():
        url = urlsplit(each["url"])
        with client.get(f"{url.path}?{url.query}") as served:
            assert hashlib.sha256(served.data).hexdigest() == each["sha256"]
        assert hash_salted(received["salt"], each["sha256"]) == received["entry"]["media"][name]
        assert each["sha256"] not in json.dumps(received["entry"])
    assert verify(app, page, told, tmp_path) == 0
    for wrong in (
        told | {"words": told["words"] | {"text": "Other."}},
        told | {"media": told["media"] | {"photo": {"sha256": "0" * 64}}},
        told | {"media": {}},
        told | {"entries": told["entries"][:1]},
        told | {"entries": [], "testimonial": "0" * 24},
        told | {"entries": [{"entry": each["entry"]} for each in told["entries"]]},
        {"media": 1},
    ):
        assert verify(app, page, wrong, tmp_path) == 1, wrong


def test_a_change_of_media_is_an_entry(app, client, page, one, helper, tmp_path):
    path = f"/v1/projects/{page}/testimonials/{one}"
    assert helper.delete(f"{path}/avatar").status_code == 200
    told = read(client, one)
    assert [each["entry"]["kind"] for each in told["entries"]] == ["received", "decided", "changed"]
    received, _, changed = told["entries"]
    # Whoever has the former photo can't try whether it was this.
    assert "salt" not in received
    assert set(changed["entry"]["media"]) == {"recording"} == set(told["media"])
    assert verify(app, page, told, tmp_path) == 0


def test_what_is_from_before_gets_its_digest_before_its_entry(app, client, page, one):
    told = read(client, one)["media"]
    with app.app_context():
        with write():
            db.session.execute(update(Image).values(digest=None))
            db.session.execute(update(models.Recording).values(digest=None))
            db.session.execute(update(Event).values(entry=None, salt=None))
        begin_all()
        run_due("jobs")
    again = read(client, one)
    assert again["media"] == told
    assert set(again["entries"][0]["entry"]["media"]) == {"photo", "recording"}


def test_an_import_hashes_them_again(app, client, page, one, owner, tmp_path):
    told = read(client, one)["media"]
    file = str(tmp_path / "bakery.zip")
    run_well(app, "projects", "export", "bakery", file)
    run_well(app, "projects", "import", file, "--account", owner.email, "--slug", "bakery-2")
    with app.app_context():
        run_due("jobs")
        digests = set(db.session.scalars(select(Image.digest)))
        digests |= set(db.session.scalars(select(models.Recording.digest)))
        salts = select(Event.entry).where(Event.entry.contains('"media"'))
        entries = [json.loads(str(each)) for each in db.session.scalars(salts)]
    assert digests == {each["sha256"] for each in told.values()}
    assert {each["testimonial"] for each in entries} - {one}
