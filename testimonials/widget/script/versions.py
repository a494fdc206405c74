"""The versions of the widget's script: the current one, and those that websites have pinned."""

import gzip
from functools import cache

from testimonials.core.data.database import insert_if_missing
from testimonials.core.data.versioned_cache import Body, make_body
from testimonials.core.web.errors import NotFound
from testimonials.extensions import begin_write, db
from testimonials.widget.models import WidgetScript
from testimonials.widget.script.assembly import (
    MODULES,
    build_module,
    build_script,
    module_digest,
    script_digest,
)


@cache
def current_script() -> Body:
    """Return the current script as served at the address that never changes."""
    return make_body(0, build_script(), level=9)


@cache
def _pinned_files() -> dict[str, Body]:
    # A body caches its answers with their headers, which differ for a pinned version.
    return {digest: make_body(0, content, level=9) for digest, content in _current_files()}


def peek_script(digest: str) -> Body | None:
    """Return the current version or module with this digest; no others are in memory."""
    return _pinned_files().get(digest)


def find_script(digest: str) -> Body:
    """Return the version with this digest; raise `NotFound` if it was never served here.

    It may be one of its modules, which are kept as long as the scripts that import it.
    """
    if body := peek_script(digest):
        return body
    row = db.session.get(WidgetScript, digest) if digest.isalnum() and digest.isascii() else None
    if row is None:
        raise NotFound("There is no version of the widget with this name.")
    return make_body(0, gzip.decompress(row.content), level=9)


def keep_script() -> None:
    """Store the current script for websites that pin it; commits. `serve` calls it on start."""
    begin_write()
    for digest, content in _current_files():
        if db.session.get(WidgetScript, digest) is None:
            packed = gzip.compress(content, 9, mtime=0)
            # Another host may start at the same moment.
            insert_if_missing(db.session(), WidgetScript, digest=digest, content=packed)
    db.session.commit()


def _current_files() -> list[tuple[str, bytes]]:
    modules = [(module_digest(name), build_module(name)) for name in MODULES]
    return [(script_digest(), build_script()), *modules]
