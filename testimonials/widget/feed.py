"""The widget's public endpoints: its script and its data, open to every origin."""

from dataclasses import replace
from typing import Any

from flask import Response, current_app, request

from testimonials.core.db.cache import Body, VersionedCache
from testimonials.core.http.answers import dump_json
from testimonials.core.http.blueprints import widget
from testimonials.core.http.errors import NotFound, ValidationFailed
from testimonials.core.http.i18n import PARAMETER, speaking
from testimonials.widget import cache
from testimonials.widget.container import SELECTING, WHOLE, Selection, read_selection
from testimonials.widget.script import WALL, current_script, find_script
from testimonials.widget.settings import (
    describe_feed,
    find_feed_version,
    find_settings,
    find_shown_project,
)
from testimonials.widget.sightings import note_sighting
from testimonials.widget.words import describe_writing, read_language, write_words


@widget.get("/widget/v1.js")
def get_script() -> Response:
    """Serve the widget's script; this path never changes.

    ``?project=`` and the parameters of a selection name the widget whose pieces are included; the
    script can draw all other widgets too.
    """
    try:
        body = _find_script(request.args.get("project", ""))
    except (NotFound, ValidationFailed):
        body = current_script(*WALL)
    return _answer(body, cache.SCRIPT_HEADERS)


def _find_script(project_id: str) -> Body:
    version = find_feed_version(project_id)
    project, selection = find_shown_project(project_id), read_selection(request.args)
    _, *pieces = describe_feed(project, None, selection=selection)["draw"].split(" ")
    body = replace(current_script(*pieces), version=version, owner=project_id)
    # With arbitrary other parameters, anybody could fill the cache.
    if request.args.keys() <= {"project", *SELECTING}:
        bodies: VersionedCache = current_app.extensions[cache.EXTENSION]
        bodies.put((cache.SCRIPT_TYPE, request.query_string.decode()), body)
    return body


@widget.get("/widget/v1-<digest>.js")
def get_pinned_script(digest: str) -> Response:
    """Serve a version of the script or of one of its pieces, cacheable for a year."""
    return _answer(find_script(digest), cache.PINNED_HEADERS)


@widget.get("/widget/<project_id>/feed")
def get_feed(project_id: str) -> Response:
    """Serve the settings and the first page of testimonials, or the one of ``?after=``.

    ``?widget=``, ``?shape=``, ``?id=``, ``?tag=`` and ``?min=`` are the container's attributes;
    ``?lang=`` adds the widget's own words in that language.
    """
    after = request.args.get("after")
    selection = read_selection(request.args)
    # Only the first page has the words.
    language = read_language(request.args.get(PARAMETER)) if after is None else None
    version = find_feed_version(project_id)
    note_sighting(project_id, request.headers.get("Origin"))
    bodies: VersionedCache = current_app.extensions[cache.EXTENSION]
    body = bodies.get(
        (project_id, after, language, *([] if selection == WHOLE else [selection])),
        version,
        lambda: dump_json(_describe(project_id, after, selection, language)),
    )
    return _answer(body, cache.FEED_HEADERS)


def _describe(
    project_id: str, after: str | None, selection: Selection, language: str | None
) -> dict[str, Any]:
    project = find_shown_project(project_id)
    with speaking(language):
        settings = find_settings(project, selection.widget)
        described = describe_feed(project, after, selection=selection, settings=settings)
        if settings.design["dateStyle"] == "relative":
            # The script counts days from the time, so a day alone is sent as its midnight.
            for item in described["items"]:
                item["submittedAt"] = item["submittedAt"].replace("T12:00:00.000", "T00:00:00.000")
        if language is not None:
            # Further pages, which get no words, may have extras too.
            has_extras = described["next"] or any("extras" in item for item in described["items"])
            words = write_words(
                settings.design["labels"],
                described.get("header"),
                name=project.name,
                has_extras=bool(has_extras),
            )
            described |= {"lang": language, "words": words} | describe_writing(described)
        return described


def _answer(body: Body, headers: cache.Headers) -> Response:
    conditions = (request.headers.get(each, "") for each in ("If-None-Match", "Accept-Encoding"))
    status, written, content = cache.choose_answer(body, headers, *conditions)
    response = Response(content, status=status)
    if status.startswith("304"):
        del response.headers["Content-Type"]
    response.headers.update(written)
    return response
