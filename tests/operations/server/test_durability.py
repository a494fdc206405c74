"""What was acknowledged is there after any end, and many visitors at once are all heard."""

import contextlib
import shutil
import sqlite3
import sys
import threading
from collections import Counter

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from testimonials.core.extensions import db, limiter
from testimonials.core.http import rate_limits
from testimonials.core.http.rate_limits import Limit
from testimonials.core.settings.table import current_settings
from tests.operations.server.power_cut import prepare_power_cut
from tests.support.load import Load
from tests.support.rows import read_testimonials
from tests.support.visitors import Visitors, form_token, words_of

pytestmark = [pytest.mark.process, pytest.mark.thorough]


def test_everything_acknowledged_survives_kill_9(start, tmp_path):
    service = start(min_form_seconds="0")
    headers = service.sign_up()
    created = service.make_project(headers, slug="kiln")
    token = form_token(service.call("GET", "/kiln").body.decode())
    form = f"text=Hello&name=Noor&consent=yes&token={token}".encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    # The client follows the redirect to the thanks.
    assert b"Thank you" in service.call("POST", "/kiln", form, kind).body
    path = f"/v1/projects/{created}/testimonials"
    load = Load(service, headers, 4, project=created)
    load.go_on(40)
    service.kill()
    load.end()
    assert load.lost() == set()
    acknowledged = set(load.acknowledged)
    again = start()
    items: list[dict[str, str]] = []
    while page_of_items := again.call(
        "GET", f"{path}?limit=100&offset={len(items)}", headers=headers
    ).data["items"]:
        items += page_of_items
    assert acknowledged <= {item["_id"] for item in items}
    times = [item["createdAt"] for item in items]
    assert times == sorted(set(times), reverse=True)
    # What was in flight is whole or not there at all: at most one for each stream.
    assert len(items) - len(acknowledged) <= 4
    assert again.call("GET", f"/widget/{created}/feed").json["total"] == len(items)
    # The form is there, once, also when it is sent again.
    assert b"Thank you" in again.call("POST", "/kiln", form, kind).body
    with contextlib.closing(sqlite3.connect(tmp_path / "service" / "testimonials.db")) as database:
        query = "SELECT text FROM testimonial WHERE status = 'pending'"
        assert database.execute(query).fetchall() == [("Hello",)]


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs Linux and a C compiler",
)
def test_everything_acknowledged_survives_a_power_cut(start, tmp_path, monkeypatch):
    for name, value in prepare_power_cut(tmp_path).items():
        monkeypatch.setenv(name, value)
    service = start(workers="2")
    load = Load(service, service.sign_up(), 4)
    load.go_on(60)
    service.kill()
    load.end()
    assert load.lost(tmp_path / "synced/testimonials.db") == set()


def test_what_follows_a_count_on_its_connection_waits_for_the_disk(app, monkeypatch):
    def sync() -> object:
        return db.session.scalar(text("PRAGMA synchronous"))

    with app.app_context():
        full = sync()
        limiter.count(Limit("here", 5, "tests"), "key")
        assert sync() == full == 2
        monkeypatch.setattr(rate_limits, "_COUNT", text("INSERT INTO nowhere VALUES (1)"))
        with pytest.raises(OperationalError):
            limiter.count(Limit("here", 5, "tests"), "key")
        assert sync() == full


def test_the_log_says_what_the_one_file_lacks(start, tmp_path):
    file = tmp_path / "service" / "testimonials.db"
    service = start()
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM account").fetchone()
        service.sign_up("second@example.com")
        assert service.stop() == 0
    assert "the newest changes are in testimonials.db-wal" in "".join(service.output)


VISITORS = 200


def test_of_two_hundred_visitors_who_all_send_twice_each_is_there_once(app, owner, start, smtp):
    project = owner.create_project(slug="kiln")["_id"]
    service = start(
        instance=current_settings(app).instance_path,
        database_url=current_settings(app).database_url,
        smtp_url=smtp.url,
        trusted_proxies="1",
        min_form_seconds="0",
    )
    visitors = Visitors(f"{service.url}/kiln", VISITORS, 20)
    visitors.open_forms()
    added: list[int] = []

    def add_others() -> None:
        # An agent works on the same project meanwhile.
        path = f"/v1/projects/{project}/testimonials"
        for number in range(20):
            body = {"authorName": f"Agent {number}", "text": "Added."}
            added.append(service.call("POST", path, body, owner.headers).status)

    agent = threading.Thread(target=add_others)
    agent.start()
    visitors.send_forms(times=2)
    agent.join()
    assert (Counter(visitors.statuses), added) == ({303: 2 * VISITORS}, [200] * 20)
    rows = read_testimonials(app, project)
    sent = [row for row in rows if row.source == "public_page"]
    assert Counter(row.text for row in sent) == Counter(map(words_of, range(VISITORS)))
    # Past a hundred within the hour the project's folder takes them.
    assert Counter((row.status, row.held_for) for row in sent) == {
        ("pending", None): 100,
        ("spam", "flood"): VISITORS - 100,
    }
    assert len({row.created_at for row in rows}) == VISITORS + 20
    assert [mail.recipients for mail in smtp.wait()] == [[owner.email]]
