"""A service that holds one of everything, and much of what there can be much of."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Flask
from jinja2 import BytecodeCache

from testimonials import create_app
from testimonials.collection.forms import create_form, update_page_design
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from testimonials.projects.page_design import PageDesignSchema
from testimonials.projects.projects import lock_project
from testimonials.testimonials.media import recordings
from tests.attacks.world import Door, World, build_world, find_doors
from tests.auth.links import ORIGIN
from tests.browser.conftest import Site, serve_site
from tests.conftest import start_caller
from tests.dashboard.insights.counted import add_reads, add_views, add_visits
from tests.support.rows import add_recording, add_testimonial, change_project
from tests.support.servers import free_port
from tests.testimonials.media.recorded import VIDEO

LONG = "An unbroken" + "word" * 480
# As long as people have them, so that what is too wide is found.
ADDRESS = f"{'a' * 60}@{'b' * 60}.example.com"
QUESTIONS = [
    {"kind": "text", "text": "Who sent you?", "isPublic": True},
    {"kind": "choice", "text": LONG[:160], "choices": ["Bread", "Buns"]},
    {"kind": "scale", "text": "Will you come back?", "low": "Never", "high": "Certainly"},
    {"kind": "consent", "text": "You may print my words on bread bags"},
]
DESIGN = {
    "prompts": ["What changed?"],
    "questions": QUESTIONS,
    "signature": "Mira, who bakes it",
    "video": True,
    "voice": True,
    "steps": [
        {"kind": "link", "title": "Say it there too", "url": "https://a.example", "copies": True},
        {"kind": "code", "title": "A bun", "code": "BUN-7K2F", "until": "2126-12-31"},
    ],
}


@dataclass
class RichSite:
    site: Site
    world: World
    # None where nobody sees a page.
    pages: list[tuple[Door, str | None]]


def fill_project(app: Flask, project_id: str, name: str) -> None:
    """Give a project all that its pages can show, in the greatest length."""
    with app.app_context(), write():
        row = lock_project(project_id)
        update_page_design(row, PageDesignSchema().check(DESIGN))
        create_form(row, {"title": f"After the course {'x' * 40}"})
    change_project(app, project_id, business_name=name)
    asked = {"id": "aaaaaaaa", "question": "Who sent you?", "kind": "text", "answer": LONG[:200]}
    now = clock.now()
    much: dict[str, Any] = {
        "author_role": "R" * 100, "author_company": "C" * 100, "rating": 4.5, "text": LONG,
        "tags": ["x" * 40, "وسم"], "reply": LONG[:300], "replied_at": now, "highlights": [[0, 11]],
        "is_pinned": True, "is_rewarded": True, "purchase_verified_at": now,
        "answers": [asked | {"isPublic": True}], "author_email": ADDRESS, "email_verified_at": now,
        "twitter": {"handle": "maya"},
    }  # fmt: skip
    for status, values in {
        "approved": much | {"author_name": "N" * 100},
        "pending": much | {"author_name": "ليلى منصور", "text": "صالون هادئ ونظيف."},
        "rejected": {"consent_withdrawn_at": now, "set_aside": "off_topic"},
        "spam": {"held_for": "links", "text": "https://a.example " * 9},
        "trash": {"status": "approved", "deleted_at": now},
    }.items():
        add_testimonial(app, project_id, **{"status": status} | values)
    for kind in ("video", "voice"):
        told = add_testimonial(app, project_id, author_name=f"Theo {kind}")
        recording = add_recording(app, told, kind, transcript="I came for rye.")
        with app.app_context():
            recordings.media_folder().mkdir(exist_ok=True)
            recordings.path_of(recording).write_bytes(VIDEO)
    for ago in range(30):
        add_views(app, project_id, 400 + 13 * ago, website="fern.example", ago=ago, clicks=9)
        add_views(app, project_id, 40 + ago, ago=ago)
    for number in range(6):
        add_views(app, project_id, 3, website=f"{'long' * 9}{number}.fern.example", clicks=1)
        said = add_testimonial(app, project_id, author_name="Ida Sørensen", rating=5 - number / 2)
        add_reads(app, project_id, said, 9000 - number, 3000 - number)
    add_visits(app, project_id, 212, 61)


@contextlib.contextmanager
def serve_rich_site(template: Path, compiled_templates: BytecodeCache) -> Iterator[RichSite]:
    """Build the world in a copy of an empty database, and serve it where passkeys work."""
    made: dict[str, Any] = {}
    operators = {"operators": "owner@example.com"}

    def prepare(folder: Path) -> None:
        shutil.copy(template, folder / "testimonials.db")
        settings = {"instance_path": str(folder), "base_url": ORIGIN, "min_form_seconds": 0}
        app = create_app(load_settings({}, settings | operators))
        # Compiling them would take half of the time in which the world is built.
        app.jinja_env.bytecode_cache = compiled_templates
        world = build_world(app, lambda email, **how: start_caller(app, email, **how))
        fill_project(app, world.ids["project_id"], f"صالون السرخس {'x' * 90}")
        made["pages"] = find_pages(app, world)
        made["world"] = world
        with app.app_context():
            db.engine.dispose()

    port = free_port()
    address = {"base_url": f"http://localhost:{port}", "port": str(port)}
    with serve_site(prepare=prepare, **address, **operators) as site:
        yield RichSite(site, **made)


def path_at(rich: "RichSite", door: Door) -> str:
    """Return the path of a page, as a program asks for it that knows where the service is."""
    origin, url = (quote(each, safe="") for each in (ORIGIN, rich.site.url))
    return rich.world.path(door).replace(origin, url)


def find_pages(app: Flask, world: World) -> list[tuple[Door, str | None]]:
    """Find each address that answers people with a page, and the first who sees it."""
    return [
        (door, visitor)
        for door in sorted(find_doors(app), key=lambda each: (each.rule.rule, str(each.words)))
        if door.method == "GET"
        for is_page, visitor in [_find_visitor(app, world, world.path(door))]
        if is_page
    ]


def _find_visitor(app: Flask, world: World, path: str) -> tuple[bool, str | None]:
    for visitor in ("nobody", "owner", "moderator", "admin", "outsider"):
        with world.open(app, visitor).get(path) as answer:
            if answer.mimetype != "text/html":
                return False, None
            if answer.status_code == 200:
                return True, visitor
    return True, None
