"""The hottest path: the widget's data, answered from memory before Flask is reached.

Each page view on an owner's site makes one such request, almost always for the same data. All that
is left to do is to ask the database whether the cached bytes are still current. Everything else
(nothing cached, another version, an unknown project) goes to the view in `feed`.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import Flask
from sqlalchemy import make_url

from testimonials.core.counting import Ticker
from testimonials.core.data.versioned_cache import VersionedCache
from testimonials.core.web.languages import PARAMETER
from testimonials.settings.current import current_settings
from testimonials.widget.design.words import read_language
from testimonials.widget.feed import EXTENSION, FEED_CACHING, choose_answer
from testimonials.widget.selection import WHOLE, read_selection
from testimonials.widget.sightings import Sightings, init_sightings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CACHE_BYTES = 64 * 1024 * 1024
# The name under which the application keeps the number of answers from memory.
TICKER = "testimonials_widget_answers"
PREFIX, SUFFIX = "/widget/", "/feed"

# The same condition as `projects.services.is_shown`; a test compares the two.
VERSION_QUERY = """
SELECT project.feed_version FROM project JOIN account ON account.id = project.account_id
WHERE project.id = ? AND project.deleted_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > ?)
"""


def init_feed(app: Flask) -> None:
    """Attach to `app` the cache of widget data, its sightings and, on SQLite, the fast path.

    With PostgreSQL the network takes the time, not Flask, so the view answers.
    """
    bodies = VersionedCache(CACHE_BYTES)
    app.extensions[EXTENSION] = bodies
    sightings = init_sightings(app)
    settings = current_settings(app)
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite":
        app.extensions[TICKER] = ticker = Ticker()
        # Proxies' headers are not read here, so the settings tell whether clients use https.
        policy = settings.hsts if settings.base_url.startswith("https://") else ""
        hsts = [("Strict-Transport-Security", policy)] if policy else []
        fast = FastFeed(app.wsgi_app, bodies, sightings, url.database or "", ticker, hsts)
        app.wsgi_app = fast  # type: ignore[method-assign]


class FastFeed:
    """Wraps the application; answers feed requests whose bytes are cached and current."""

    def __init__(
        self,
        application: "WSGIApplication",
        bodies: VersionedCache,
        sightings: Sightings,
        database: str,
        ticker: Ticker,
        more_headers: list[tuple[str, str]],
    ) -> None:
        self._application = application
        self._bodies = bodies
        self._sightings = sightings
        self._database = f"file:{quote(database)}?mode=ro"
        self._ticks = ticker.ticks
        self._more_headers = more_headers
        self._local = threading.local()

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        path: str = environ["PATH_INFO"]
        if (
            path.startswith(PREFIX)
            and path.endswith(SUFFIX)
            and environ["REQUEST_METHOD"] == "GET"
            and (key := _read_key(path, environ["QUERY_STRING"])) is not None
            and (body := self._bodies.peek(key)) is not None
            and body.version == self._find_version(key[0])
        ):
            status, headers, content = choose_answer(
                body,
                "application/json",
                FEED_CACHING,
                environ.get("HTTP_IF_NONE_MATCH", ""),
                environ.get("HTTP_ACCEPT_ENCODING", ""),
            )
            if (origin := environ.get("HTTP_ORIGIN")) is not None:
                self._sightings.note(key[0], origin)
            next(self._ticks)
            start_response(status, headers + self._more_headers)
            return [content]
        return self._application(environ, start_response)

    def _find_version(self, project_id: str) -> int | None:
        """Return the project's version; each thread has a connection of its own."""
        try:
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = sqlite3.connect(self._database, uri=True, isolation_level=None)
                connection.execute("PRAGMA busy_timeout=5000")
                self._local.connection = connection
            row = connection.execute(
                VERSION_QUERY, (project_id, time.time_ns() // 1_000_000)
            ).fetchone()
        except sqlite3.Error:
            # The view asks again, and its error is logged and answered as usual.
            return None
        return row[0] if row else None


def _read_key(path: str, query: str) -> tuple[Any, ...] | None:
    """Return the cache's key for the simple forms of a feed URL, None for any other.

    They are those that the script asks for: a saved widget, a language, or a further page.
    """
    after, lang, widget = None, None, None
    for part in query.split("&") if query else ():
        name, _, value = part.partition("=")
        if not value.replace("-", "").replace("_", "").isalnum():
            return None
        if name == "after" and after is None:
            after = value
        elif name == PARAMETER and lang is None:
            lang = value
        elif name == "widget" and widget is None:
            widget = value
        else:
            return None
    language = read_language(lang) if after is None else None
    selection = read_selection({"widget": widget}) if widget else WHOLE
    key = (path[len(PREFIX) : -len(SUFFIX)], after, language)
    return key if selection == WHOLE else (*key, selection)
