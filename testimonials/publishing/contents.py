"""What is published of a project: what the service itself answers, in every language.

The files are made by asking the service's own views, so that they can't say anything else.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from flask import Response, current_app
from werkzeug.test import EnvironBuilder

from testimonials.core.logs.lines import IS_OWN
from testimonials.core.urls import base_url
from testimonials.core.web.languages import ENGLISH, LANGUAGES, PARAMETER
from testimonials.extensions import db
from testimonials.publishing.rewriting import move_page, move_pictures, name_file
from testimonials.widget.selection import SHAPES

# Further pages of a widget, after which its button asks the service.
MOST_PAGES = 20
# Crawlers don't count as readers.
USER_AGENT = "testimonials-publishing (bot)"
CODES = tuple(language.code for language in LANGUAGES)
# What walls load beside their cards, in the folder of static files.
STATIC_PARTS = ("css/widget/*.css", "widget/**/*.js", "js/widget/*.js", "img/mark.svg")

Texts = Iterator[tuple[str, str]]
Batch = list[tuple[str, bytes]]


class Refused(Exception):
    """The service answered with an error where it should have shown something."""


class Gone(Exception):
    """The project isn't shown any more."""


def make_batches(
    project_id: str, slug: str, widgets: list[str], known: set[str]
) -> tuple[Iterator[Batch], Iterator[Batch]]:
    """Return the files of a project in batches: what its widgets show, and all else.

    The files of a batch go out in any order, and what names others after those. `widgets` are the
    names of the saved ones. Pictures never change: what is `known` already has no content (b"").
    """
    queries = ({}, *({"widget": name} for name in widgets))
    data = (part for query in queries for part in _read_data(project_id, query))
    fragments = (_read_fragments(project_id, query) for query in queries)
    rest = (_read_walls(slug), *fragments, _read_shapes(project_id))
    seen = set(known)
    return _add_pictures(project_id, data, seen), _add_pictures(project_id, rest, seen)


def _add_pictures(project_id: str, parts: Iterable[Texts], seen: set[str]) -> Iterator[Batch]:
    for texts in parts:
        pictures: set[str] = set()
        files = []
        for name, text in texts:
            moved, found = move_pictures(text, project_id)
            files.append((name, moved.encode()))
            pictures |= found
        yield [(name, b"" if name in seen else _read_picture(name)) for name in sorted(pictures)]
        yield files
        seen |= pictures


def _read_data(project_id: str, query: dict[str, str]) -> tuple[Texts, Texts]:
    """Return the further pages of a widget, and what it shows first, which names those."""
    spoken = (query | {PARAMETER: code} for code in CODES)
    return _read_pages(project_id, query), _read_feeds(project_id, spoken)


def _read_feeds(project_id: str, queries: Iterable[dict[str, str]]) -> Texts:
    values = {"project_id": project_id}
    for query in queries:
        yield name_file("feed", query, ".json"), _text(_ask("feed.get_feed", values, query))


def _read_fragments(project_id: str, query: dict[str, str]) -> Texts:
    for code in CODES:
        spoken = query | {PARAMETER: code}
        fragment = _text(_ask("rendered.get_fragment", {"project_id": project_id}, spoken))
        yield name_file("fragment", spoken, ".html"), fragment
        if code == ENGLISH.code:
            yield name_file("fragment", query, ".html"), fragment


def _read_shapes(project_id: str) -> Texts:
    spoken = ({"shape": shape, PARAMETER: code} for shape in SHAPES for code in CODES)
    return _read_feeds(project_id, spoken)


def _read_pages(project_id: str, query: dict[str, str]) -> Texts:
    cursor = _ask("feed.get_feed", {"project_id": project_id}, query).json["next"]  # type: ignore[index]
    for _ in range(MOST_PAGES):
        if not cursor:
            return
        asked = query | {"after": cursor}
        page = _ask("feed.get_feed", {"project_id": project_id}, asked)
        yield name_file("feed", asked, ".json"), _text(page)
        cursor = page.json["next"]  # type: ignore[index]


def _read_walls(slug: str) -> Texts:
    for code in CODES:
        wall = _ask("wall.show_wall", {"slug": slug}, {PARAMETER: code})
        page = move_page(_text(wall), slug, wall.headers["Content-Security-Policy"])
        yield name_file("wall", {PARAMETER: code}, ".html"), page
        if code == ENGLISH.code:
            yield "wall.html", page


def _read_picture(name: str) -> bytes:
    answer = _ask("media.get_image", {"image_id": name.removesuffix(".webp")}, {})
    return answer.get_data()


def list_static() -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the style sheets and scripts of walls, under their version."""
    app = current_app
    folder = Path(str(app.static_folder))
    for part in STATIC_PARTS:
        for path in sorted(folder.glob(part)):
            values = {"filename": path.relative_to(folder).as_posix()}
            app.inject_url_defaults("static", values)
            yield f"static/{values['filename']}", path.read_bytes()


def _text(answer: Response) -> str:
    return answer.get_data(as_text=True)


def _ask(endpoint: str, values: dict[str, str], query: dict[str, str]) -> Response:
    """Return what the service's own view answers; raise `Gone` or `Refused`."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    builder = EnvironBuilder(
        path=app.url_map.bind("").build(endpoint, values),
        base_url=base_url(),
        query_string=query,
        headers=[("User-Agent", USER_AGENT)],
        environ_base={"REMOTE_ADDR": "127.0.0.1", IS_OWN: True},
    )
    # One connection for each thread: this look waits for the view's.
    db.session.remove()
    with app.app_context(), app.request_context(builder.get_environ()):
        response: Response = app.full_dispatch_request()
        response.get_data()
    if response.status_code == 404:
        raise Gone
    if response.status_code != 200:
        raise Refused(f"{endpoint} answered {response.status}")
    return response
