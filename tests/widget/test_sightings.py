"""Where widgets were seen: noted in memory by the feed, written down by the background work."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.operations.expiry import sweep
from testimonials.projects import models
from testimonials.projects.settings import move_to_trash
from testimonials.widget.cache import MAX_NOTED, MAX_ORIGINS, Sightings
from testimonials.widget.sightings import find_newest_sighting, write_sightings

pytestmark = pytest.mark.postgres


def see(client: FlaskClient, project: str, origin: str) -> None:
    assert client.get(f"/widget/{project}/feed", headers={"Origin": origin}).status_code == 200


def stored(app: Flask) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    with app.app_context():
        for row in db.session.scalars(select(models.WidgetSighting)):
            found.setdefault(row.project_id, set()).add(row.origin)
    return found


def run_sweep(app: Flask) -> None:
    with app.app_context():
        sweep()
        write_sightings()


def test_what_is_no_website_of_others_is_not(app, client, project):
    for origin in (
        "null", "file://", "https://testimonials.example.com", "https://fern.example/path",
        "https://fern.example?query", "https://user@fern.example", "chrome-extension://abcdefgh",
        "javascript:alert(1)", "https://", "https://fern.example:port", "https://[::1",
        "https://fern .example", "https://" + "a" * 300 + ".example", "",
    ):  # fmt: skip
        see(client, project, origin)
        run_sweep(app)
        assert stored(app) == {}, origin
    for unknown in ("0" * 24, "x"):
        answer = client.get(f"/widget/{unknown}/feed", headers={"Origin": "https://a.example"})
        assert answer.status_code == 404
    run_sweep(app)
    assert stored(app) == {}
    # The first answer comes from the view, those after it from memory, where there is one.
    for origin in ("https://fern.example", "http://localhost:3000", "https://fern.example"):
        see(client, project, origin)
    assert stored(app) == {}
    run_sweep(app)
    assert stored(app) == {project: {"https://fern.example", "http://localhost:3000"}}


def test_the_newest_one_is_found_at_once_and_later(app, client, project, moved_clock):
    def newest() -> str | None:
        with app.app_context():
            found = find_newest_sighting(project)
            return found and found[0]

    assert newest() is None
    see(client, project, "https://one.example")
    assert newest() == "https://one.example"
    run_sweep(app)
    moved_clock.move(minutes=5)
    see(client, project, "https://two.example")
    assert newest() == "https://two.example"
    run_sweep(app)
    moved_clock.move(minutes=5)
    see(client, project, "https://one.example")
    run_sweep(app)
    assert newest() == "https://one.example"
    moved_clock.move(days=91)
    assert newest() is None


def test_they_are_forgotten_after_ninety_days(app, client, project, moved_clock):
    see(client, project, "https://old.example")
    see(client, project, "https://kept.example")
    run_sweep(app)
    moved_clock.move(days=89)
    see(client, project, "https://kept.example")
    run_sweep(app)
    assert stored(app)[project] == {"https://old.example", "https://kept.example"}
    moved_clock.move(days=2)
    run_sweep(app)
    assert stored(app)[project] == {"https://kept.example"}
    with app.app_context(), write():
        move_to_trash(db.session.get_one(models.Project, project))
    moved_clock.move(days=8)
    run_sweep(app)
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(models.WidgetSighting)) == 0


def test_no_flood(app, client, project, moved_clock):
    see(client, project, "https://true.example")
    run_sweep(app)
    for round_number in range(3):
        moved_clock.move(minutes=1)
        for number in range(50):
            see(client, project, f"https://{round_number}-{number}.example")
        run_sweep(app)
        kept = stored(app)[project]
        assert len(kept) == MAX_ORIGINS
        assert "https://true.example" in kept


def test_a_full_list_makes_room_for_a_new_website_after_a_day(app, client, project, moved_clock):
    for number in range(MAX_ORIGINS):
        see(client, project, f"https://{number}.example")
    run_sweep(app)
    see(client, project, "https://new.example")
    run_sweep(app)
    assert "https://new.example" not in stored(app)[project]
    moved_clock.move(days=1, minutes=1)
    see(client, project, "https://new.example")
    see(client, project, "https://0.example")
    run_sweep(app)
    kept = stored(app)[project]
    assert len(kept) == MAX_ORIGINS
    assert {"https://new.example", "https://0.example"} <= kept


def test_memory_is_bounded():
    sightings = Sightings()
    for number in range(MAX_NOTED + 500):
        sightings.note(f"project {number // 15}", f"https://{number}.example")
    sightings.note("long", "https://" + "a" * 300)
    taken = sightings.take()
    assert sum(len(origins) for origins in taken.values()) == MAX_NOTED
    assert sightings.take() == {}
    sightings.note("after", "https://a.example")
    assert list(sightings.take()) == ["after"]


def test_deleted_hinders_none(app, client, owner, project):
    gone = owner.create_project()["_id"]
    see(client, gone, "https://gone.example")
    see(client, project, "https://fern.example")
    with app.app_context(), write():
        db.session.delete(db.session.get_one(models.Project, gone))
    run_sweep(app)
    assert stored(app) == {project: {"https://fern.example"}}


def test_the_owner_is_told_where(app, browser, client, project, moved_clock):

    def seen() -> str:
        path = f"/dashboard/projects/{project}/widget/add-to-site/seen"
        return str((browser.get(path).json or {}).get("text"))

    assert seen() == "None"
    see(client, project, "https://fern.example:8443")
    assert seen() == "Seen just now on fern.example:8443"
    run_sweep(app)
    moved_clock.move(minutes=6)
    assert seen() == "Seen 6 minutes ago on fern.example:8443"
    moved_clock.move(days=1)
    assert seen() == "Seen yesterday on fern.example:8443"
    moved_clock.move(days=29)
    assert re.fullmatch(r"Seen on \d+ \w{3} \d{4} on fern\.example:8443", seen())
