"""The versions of the widget's script: the present one, and those that websites have pinned."""

import gzip
from functools import cache

from testimonials.core.data.versioned_cache import Body, make_body
from testimonials.core.web.errors import NotFound
from testimonials.extensions import begin_write, db
from testimonials.widget.models import WidgetScript
from testimonials.widget.script.assembly import build_script, script_digest


@cache
def current_script() -> Body:
    """Return the script of this program, ready to be served under the address that never
    changes."""
    return make_body(0, build_script(), level=9)


@cache
def _pinned_script() -> Body:
    # A body keeps its answers with their headers, and those of a pinned one differ.
    return make_body(0, build_script(), level=9)


def find_script(digest: str) -> Body:
    """Return the script with this digest; raise `NotFound` for one that was never served here."""
    if digest == script_digest():
        return _pinned_script()
    row = db.session.get(WidgetScript, digest) if digest.isalnum() and digest.isascii() else None
    if row is None:
        raise NotFound("There is no version of the widget with this name.")
    return make_body(0, gzip.decompress(row.content), level=9)


def keep_script() -> None:
    """Keep the present script for those who pin it; commits. `serve` calls it when it starts."""
    begin_write()
    if db.session.get(WidgetScript, script_digest()) is None:
        content = gzip.compress(build_script(), 9, mtime=0)
        db.session.add(WidgetScript(digest=script_digest(), content=content))
    db.session.commit()
