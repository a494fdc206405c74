"""Complete answers kept in memory until the project changes, and sent without Flask."""

import hmac
import itertools
import re
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flask import Flask, request

from testimonials.core import clock
from testimonials.core.db.cache import LIST_PAGES, Answer, Body, VersionedCache, make_body
from testimonials.core.db.identifiers import KEY_PREFIX, hash_secret, is_credential
from testimonials.core.extensions import READER
from testimonials.core.http.i18n import PARAMETER, match_language
from testimonials.core.http.security import DATA_POLICY
from testimonials.core.http.urls import AT_ROOT, OwnHost
from testimonials.core.logs import log_request
from testimonials.core.settings.table import current_settings
from testimonials.widget.container import WHOLE, read_selection
from testimonials.widget.script import WALL, current_script, peek_script
from testimonials.widget.versions import STALE, PushedVersions, SqliteVersions, make_versions
from testimonials.widget.words import read_language

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from testimonials.projects.models import Project


# Answers from kept bytes: compressed, plain, or 304.

# The key of the bytes among the application's extensions.
EXTENSION = "testimonials_feed"
SCRIPT_TYPE = "text/javascript; charset=utf-8"

Headers = list[tuple[str, str]]


def _public_headers(content_type: str, caching: str) -> Headers:
    return [
        ("Cache-Control", caching),
        ("Vary", "Accept-Encoding"),
        ("Access-Control-Allow-Origin", "*"),
        ("Cross-Origin-Resource-Policy", "cross-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", DATA_POLICY),
        ("Content-Type", content_type),
    ]


# A change shows at the next load; without one, the answer is 304.
FEED_HEADERS = _public_headers("application/json", "public, no-cache")
SCRIPT_HEADERS = _public_headers(SCRIPT_TYPE, "public, max-age=3600, stale-while-revalidate=86400")
PINNED_HEADERS = _public_headers(SCRIPT_TYPE, "public, max-age=31536000, immutable")
# For the API's list, which no shared cache may store.
LIST_HEADERS = [
    ("Content-Type", "application/json"),
    ("Cache-Control", "private, no-cache"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("Content-Security-Policy", DATA_POLICY),
]

_GZIP_REFUSED = re.compile(r"gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


def choose_answer(
    body: Body, headers: Headers, if_none_match: str, accept_encoding: str = ""
) -> Answer:
    """Return status, headers and bytes: compressed if the client accepts it, 304 if it has them.

    `headers` are added to those of the body. `if_none_match` and `accept_encoding` are the request
    headers, empty if missing.
    """
    # Our ETags contain no comma, so a substring search is as good as parsing the list.
    if if_none_match and (body.etag[2:] in if_none_match or if_none_match.strip() == "*"):
        variant = "304"
    elif "gzip" in accept_encoding and not _GZIP_REFUSED.search(accept_encoding):
        variant = "gzip"
    else:
        variant = "plain"
    # Built once per variant, since the same few answers are sent many thousands of times.
    answer = body.answers.get(variant)
    if answer is None:
        answer = body.answers[variant] = _build_answer(body, variant, headers)
    return answer


def _build_answer(body: Body, variant: str, headers: Headers) -> Answer:
    headers = [("ETag", body.etag), *body.headers, *headers]
    if variant == "304":
        return "304 NOT MODIFIED", [each for each in headers if each[0] != "Content-Type"], b""
    content = body.gzipped if variant == "gzip" else body.plain
    headers.append(("Content-Length", str(len(content))))
    if variant == "gzip":
        headers.append(("Content-Encoding", "gzip"))
    return "200 OK", headers, content


# Whole pages kept in memory.
#
# A view that calls `keep_page` promises that its page depends only on the URL, the visitor's
# language, whether it is in a frame, and the project up to its feed version. People who are signed
# in are never answered from memory.

KEPT = "testimonials.kept_page"
# Values of Sec-Fetch-Dest for a page in a frame.
FRAMES = frozenset({"iframe", "frame", "embed", "object"})
LONGEST_QUERY, LONGEST_HEADER, LONGEST_PAGE = 500, 200, 1024 * 1024
# Headers that are not kept, but set for each answer.
DROPPED = frozenset(
    {"content-length", "etag", "strict-transport-security", "vary", "x-request-id", "cache-control"}
)

PageKey = tuple[str, str, str, bool]


def keep_page(project: "Project") -> None:
    """Keep the answer to this request until the project changes."""
    request.environ[KEPT] = project.id, project.feed_version


def read_page_key(environ: "WSGIEnvironment") -> PageKey | None:
    """Return the key of a page; None for requests that are never answered from memory."""
    own: OwnHost | None = environ.get(AT_ROOT)
    # A page links to the host on which it is shown.
    path: str = (own.name if own else "") + environ["PATH_INFO"]
    query: str = environ["QUERY_STRING"]
    languages: str = environ.get("HTTP_ACCEPT_LANGUAGE", "")
    if (
        # Even the body of a GET may name a language.
        environ.get("CONTENT_LENGTH", "0") not in ("", "0")
        or len(query) > LONGEST_QUERY
        or len(languages) > LONGEST_HEADER
        # It is part of the name of the session's cookie.
        or "testimonials" in environ.get("HTTP_COOKIE", "")
    ):
        return None
    language = match_language(languages)
    is_framed = environ.get("HTTP_SEC_FETCH_DEST") in FRAMES
    return path, query, language.code if language else "", is_framed


def make_page(project_id: str, version: int, headers: Headers, content: bytes) -> Body | None:
    """Return the page to keep; None if it must not be kept."""
    values = {name.lower(): value for name, value in headers}
    if "set-cookie" in values or "content-encoding" in values or len(content) > LONGEST_PAGE:
        return None
    vary = ", ".join(filter(None, [values.get("vary"), "Accept-Encoding"]))
    return replace(
        make_body(version, content, level=6),
        owner=project_id,
        headers=(
            ("Cache-Control", values.get("cache-control", "no-cache")),
            ("Vary", vary),
            *((name, value) for name, value in headers if name.lower() not in DROPPED),
        ),
    )


# The hottest paths, answered from memory before Flask is reached.
#
# Each page view on an owner's site requests the widget's script and data, which are almost always
# the same. So it only has to be checked that the cached bytes are current, and for the script not
# even that. The same applies to pages with `keep_page` and to the API's list. All other requests
# (nothing cached, another version, an unknown project) go to the views.

# The key of the counter of answers from memory among the application's extensions.
TICKER = "testimonials_widget_answers"
PREFIX, SUFFIX = "/widget/", "/feed"
SCRIPT, SCRIPT_END = "/widget/v1", ".js"
LIST, LIST_END = "/v1/projects/", "/testimonials"
# Headers that only the first answer with a page has, and kept ones don't.
OF_ONE_REQUEST = ("X-Request-Id", "Strict-Transport-Security")
# For answers while the database is away.
STALE_HEADERS = [("Warning", '110 - "Response is Stale"')]

# The key of the sightings (`widget/sightings.py`) among the application's extensions.
SIGHTINGS = "testimonials_sightings"
MAX_NOTED = 1_000
# Per project, both in memory and in the database.
MAX_ORIGINS = 20

Noted = dict[str, dict[str, datetime]]


class Sightings:
    """Origins of requests since the last round of background work, by project."""

    def __init__(self) -> None:
        self._noted: Noted = {}
        self._count = 0
        self._lock = threading.Lock()

    def note(self, project_id: str, origin: str) -> None:
        """Note a request's Origin header; one noted before costs two look-ups and no lock."""
        origins = self._noted.get(project_id)
        if origins is not None and (origin in origins or len(origins) >= MAX_ORIGINS):
            return
        if self._count >= MAX_NOTED or len(origin) > 300:
            return
        with self._lock:
            origins = self._noted.setdefault(project_id, {})
            is_full = self._count >= MAX_NOTED or len(origins) >= MAX_ORIGINS
            if origin not in origins and not is_full:
                origins[origin] = clock.now()
                self._count += 1

    def look(self, project_id: str) -> dict[str, datetime]:
        """Return the Origin headers noted for a project, with their times."""
        with self._lock:
            return dict(self._noted.get(project_id, {}))

    def take(self) -> Noted:
        with self._lock:
            taken, self._noted, self._count = self._noted, {}, 0
        return taken


def init_feed(app: Flask) -> None:
    """Attach the caches, sightings and fast path; on PostgreSQL it waits for `begin_versions`."""
    app.extensions[EXTENSION] = bodies = VersionedCache(64 * 1024 * 1024)
    app.extensions[SIGHTINGS] = sightings = Sightings()
    settings = current_settings(app)
    reader = app.extensions.get(READER)
    versions = SqliteVersions(reader) if reader else make_versions(app)
    app.extensions[TICKER] = ticker = Ticker()
    # The headers of proxies aren't read here, so the settings decide whether clients use https.
    policy = settings.hsts if settings.base_url.startswith("https://") else ""
    hsts = [("Strict-Transport-Security", policy)] if policy else []
    app.extensions[LIST_PAGES] = pages = VersionedCache(32 * 1024 * 1024)
    fast = FastFeed(app.wsgi_app, bodies, pages, sightings, versions, ticker, hsts)
    app.wsgi_app = fast  # type: ignore[method-assign]


class Ticker:
    """A counter that threads increment by `next(ticker.ticks)`, which is atomic without a lock.

    Reading increments it too, which `read` subtracts.
    """

    def __init__(self) -> None:
        self.ticks = itertools.count()
        self._reads = 0
        self._lock = threading.Lock()

    def read(self) -> int:
        with self._lock:
            count = next(self.ticks) - self._reads
            self._reads += 1
            return count


@dataclass
class FastFeed:
    """Wraps the application, and answers GET requests whose bytes are cached and current."""

    application: "WSGIApplication"
    bodies: VersionedCache
    pages: VersionedCache
    sightings: Sightings
    versions: SqliteVersions | PushedVersions
    ticker: Ticker
    more_headers: Headers

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET":
            return self.application(environ, start_response)
        path: str = environ["PATH_INFO"]
        if path.startswith(PREFIX) and path.endswith(SUFFIX):
            answer = self._find_feed(path, environ)
        elif path.startswith(SCRIPT) and path.endswith(SCRIPT_END):
            answer = self._find_script(path[len(SCRIPT) : -len(SCRIPT_END)], environ)
        elif path.startswith(LIST) and path.endswith(LIST_END):
            answer = self._find_list(path[len(LIST) : -len(LIST_END)], environ)
        elif (key := read_page_key(environ)) is not None:
            page = self.bodies.peek(key)
            if page is None or (marks := self._check(page, page.owner)) is None:
                return self._pass_on(key, environ, start_response)
            answer = _add(choose_answer(page, [], *_read_conditions(environ)), marks)
        else:
            answer = None
        if answer is None:
            return self.application(environ, start_response)
        status, headers, content = answer
        next(self.ticker.ticks)
        start_response(status, headers + self.more_headers)
        return [content]

    def _find_feed(self, path: str, environ: "WSGIEnvironment") -> Answer | None:
        key = _read_key(path, environ["QUERY_STRING"])
        body = self.bodies.peek(key) if key is not None else None
        if key is None or body is None or (marks := self._check(body, key[0])) is None:
            return None
        if (origin := environ.get("HTTP_ORIGIN")) is not None:
            self.sightings.note(key[0], origin)
        conditions = _read_conditions(environ)
        return _add(choose_answer(body, FEED_HEADERS, *conditions), marks)

    def _find_script(self, name: str, environ: "WSGIEnvironment") -> Answer | None:
        """Return the script or one of its pinned files; None for older versions."""
        query: str = environ["QUERY_STRING"]
        marks: Headers | None = []
        if name:
            body = peek_script(name[1:]) if name.startswith("-") else None
        elif query:
            body = self.bodies.peek((SCRIPT_TYPE, query))
            marks = self._check(body, body.owner) if body else None
        else:
            body = current_script(*WALL)
        if body is None or marks is None:
            return None
        headers = PINNED_HEADERS if name else SCRIPT_HEADERS
        return _add(choose_answer(body, headers, *_read_conditions(environ)), marks)

    def _find_list(self, project_id: str, environ: "WSGIEnvironment") -> Answer | None:
        """Return a page of the API's list for the account's key; views answer other callers."""
        started, key = time.perf_counter(), environ.get("HTTP_X_API_KEY", "")
        body = self.pages.peek((project_id, environ["QUERY_STRING"]))
        if body is None or not is_credential(key, KEY_PREFIX) or "HTTP_AUTHORIZATION" in environ:
            return None
        account_id = environ.get("HTTP_X_SERVICE_ACCOUNT_ID", "")
        version, key_hash = self.versions.find_for(project_id, account_id) or (None, None)
        is_match = hmac.compare_digest(key_hash or "", hash_secret(key))
        if version != body.version or not is_match:
            return None
        answer = choose_answer(body, LIST_HEADERS, environ.get("HTTP_IF_NONE_MATCH", ""))
        request_id = secrets.token_hex(8)
        log_request(
            started,
            request_id=request_id,
            method="GET",
            path=environ["PATH_INFO"],
            status=int(answer[0][:3]),
            # Like `Actor`, which isn't loaded when the process starts.
            actor=f"agent:{key[-4:]}",
        )
        return _add(answer, [("X-Request-Id", request_id)])

    def _check(self, body: Body, project_id: str) -> Headers | None:
        """Return the headers to add for the age of `body`, None if it is out of date."""
        version = self.versions.find(project_id)
        if version == body.version:
            return []
        return STALE_HEADERS if version == STALE else None

    def _pass_on(
        self, key: PageKey, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Let the application answer, and keep its answer if the view allows it."""
        to_keep: list[Headers] = []

        def start(status: str, headers: Headers, *more: Any) -> Any:
            if KEPT in environ and status.startswith("200"):
                to_keep.append(headers)
                return None
            return start_response(status, headers, *more)

        parts = self.application(environ, start)
        if not to_keep:
            return parts
        content, headers = b"".join(parts), to_keep[0]
        if (close := getattr(parts, "close", None)) is not None:
            close()
        project_id, version = environ[KEPT]
        page = make_page(project_id, version, headers, content)
        if page is None:
            start_response("200 OK", headers)
            return [content]
        self.bodies.put(key, page)
        status, kept, content = choose_answer(page, [], *_read_conditions(environ))
        start_response(status, [*kept, *(each for each in headers if each[0] in OF_ONE_REQUEST)])
        return [content]


def _add(answer: Answer, headers: Headers) -> Answer:
    return (answer[0], answer[1] + headers, answer[2]) if headers else answer


def _read_conditions(environ: "WSGIEnvironment") -> tuple[str, str]:
    return environ.get("HTTP_IF_NONE_MATCH", ""), environ.get("HTTP_ACCEPT_ENCODING", "")


def _read_key(path: str, query: str) -> tuple[Any, ...] | None:
    """Return the cache's key for the URLs of feeds that the script requests; None for others.

    The script names at most a saved widget, a language and a cursor.
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
