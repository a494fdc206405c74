"""Whole pages kept as bytes: which ones a view lets be kept, and what of a request matters to them.

A page may depend on its address, the visitor's language, whether it is in a frame, and on its
project up to the feed version; a view that says `keep_page` promises that it depends on nothing
else. Whoever is signed in is never answered from memory.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flask import request

from testimonials.core.data.versioned_cache import Body, make_body
from testimonials.core.hosts.own_hosts import OwnHost
from testimonials.core.url_rules import AT_ROOT
from testimonials.core.web.languages import match_language
from testimonials.projects.models import Project

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

KEPT = "testimonials.kept_page"
# What a page in a frame is asked for as.
FRAMES = frozenset({"iframe", "frame", "embed", "object"})
LONGEST_QUERY = 500
LONGEST_HEADER = 200
LONGEST_PAGE = 1024 * 1024
# Part of the name of the session's cookie.
SESSION = "testimonials"
# Written anew for each answer, or known only for one request.
DROPPED = frozenset(
    {"content-length", "etag", "strict-transport-security", "vary", "x-request-id", "cache-control"}
)

PageKey = tuple[str, str, str, bool]


@dataclass(frozen=True)
class Keeping:
    """Of which project a page is, and the version that was read before anything else of it."""

    project_id: str
    version: int


def keep_page(project: Project) -> None:
    """Let the answer to this request be kept until the project changes; see above."""
    request.environ[KEPT] = Keeping(project.id, project.feed_version)


def read_page_key(environ: "WSGIEnvironment") -> PageKey | None:
    """Return what a kept page is found by; None for a request that is never answered from one."""
    own: OwnHost | None = environ.get(AT_ROOT)
    # A page links to others of its own host.
    path: str = (own.name if own else "") + environ["PATH_INFO"]
    query: str = environ["QUERY_STRING"]
    languages: str = environ.get("HTTP_ACCEPT_LANGUAGE", "")
    if (
        # A form that comes with it may name a language, whatever the method.
        environ.get("CONTENT_LENGTH", "0") not in ("", "0")
        or len(query) > LONGEST_QUERY
        or len(languages) > LONGEST_HEADER
        or SESSION in environ.get("HTTP_COOKIE", "")
    ):
        return None
    language = match_language(languages)
    is_framed = environ.get("HTTP_SEC_FETCH_DEST") in FRAMES
    return path, query, language.code if language else "", is_framed


def make_page(keeping: Keeping, headers: list[tuple[str, str]], content: bytes) -> Body | None:
    """Return the page as it is kept, None if it must not be."""
    found = {name.lower(): value for name, value in headers}
    if "set-cookie" in found or "content-encoding" in found or len(content) > LONGEST_PAGE:
        return None
    vary = ", ".join(filter(None, [found.get("vary"), "Accept-Encoding"]))
    body = make_body(keeping.version, content, level=6)
    return replace(
        body,
        owner=keeping.project_id,
        headers=(
            ("ETag", body.etag),
            ("Cache-Control", found.get("cache-control", "no-cache")),
            ("Vary", vary),
            *((name, value) for name, value in headers if name.lower() not in DROPPED),
        ),
    )
