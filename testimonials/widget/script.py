"""The widget's script: put together, and kept in older versions."""

import gzip
import hashlib
import re
from base64 import b64encode
from datetime import datetime
from functools import cache
from pathlib import Path

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.cache import Body, make_body
from testimonials.core.db.engine import Base, Timestamp, insert_if_missing, present
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound

# The widget's script, assembled from its parts: code and styles.
#
# What only some pages need is in further files, modules that the script (the core) imports by their
# digests: the layouts beside masonry, the shapes (marquees, badges, the popup), and the extras of
# some testimonials (recordings, answers, marks). The server's own renderings use the same styles,
# so that they look the same.

FOLDER = Path(__file__).parents[1] / "static" / "widget"
# In the order in which they are put together.
CORE_PARTS = ("elements", "cards", "masonry", "widget", "load", "start")
MODULES = {
    "layouts": ("layouts",),
    "shapes": ("shapes", "badge", "marquee", "popup"),
    "extras": ("player", "extras"),
    "seen": ("seen",),
}

# A string, a template or a pattern, which stays as it is; or white space around a sign.
_SIGN = re.compile(
    r"""('(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?<=[(=]) ?/[^/*\n](?:\\.|[^/\\\n])*/[a-z]*)"""
    r"""|\s?([{}();,=<>?:&|!*%[\]]|(?<= )[-+/](?= [^-+]))\s?"""
)
_SPARE = re.compile(r"[;,](?=\})")
_COMMENT = re.compile(r"(?:^|(?<=[;{}]) )//.*$")


@cache
def read_styles() -> str:
    """Return ``widget.css`` minified."""
    return squeeze((FOLDER / "widget.css").read_text(encoding="utf-8"), "")


def read_source(part: str, names: tuple[str, ...]) -> str:
    """Return the code of the core or the shapes, as it was written."""
    return "".join((FOLDER / part / f"{name}.js").read_text(encoding="utf-8") for name in names)


@cache
def build_script() -> bytes:
    """Return the core as it is served: one file without comments or spare white space."""
    script = squeeze_script(read_source("core", CORE_PARTS)).replace("widget.css", read_styles())
    # Pinning the script pins its modules too.
    for name in MODULES:
        script = script.replace(f"{name}.js", f"v1-{module_digest(name)}.js")
    return script.encode()


@cache
def build_module(name: str) -> bytes:
    """Return one of the `MODULES` as it is served."""
    styles = squeeze((FOLDER / name / f"{name}.css").read_text(encoding="utf-8"), "")
    script = squeeze_script(read_source(name, MODULES[name]))
    return script.replace(f"{name}.css", styles).encode()


@cache
def script_digest() -> str:
    """Return the start of the script's SHA-256, which is part of its pinned URL."""
    return _digest_of(build_script())


@cache
def module_digest(name: str) -> str:
    """Return the same of a module, whose only URL is the pinned one."""
    return _digest_of(build_module(name))


@cache
def script_integrity() -> str:
    """Return the value of the ``integrity`` attribute (Subresource Integrity)."""
    return "sha384-" + b64encode(hashlib.sha384(build_script()).digest()).decode()


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def squeeze(source: str, end: str) -> str:
    """Remove ``//`` comments, indentation and empty lines; end lines with `end`."""
    lines = (_COMMENT.sub("", line.strip()).rstrip() for line in source.splitlines())
    return end.join(line for line in lines if line)


def squeeze_script(source: str) -> str:
    """Remove the same from JavaScript, and what its signs make superfluous.

    Every statement must end with a semicolon, and none may be empty.
    """
    lines = squeeze(source, "\n")
    return _SPARE.sub("", _SIGN.sub(lambda found: found[1] or found[2], lines))


# The versions of the widget's script: the current one, and those that websites have pinned.


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


class WidgetScript(Base):
    """A version of the script that this service has served.

    Websites that pin a version by its digest still get it after an upgrade.
    """

    __tablename__ = "widget_script"

    digest: Mapped[str] = mapped_column(String(16), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


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
    with write():
        for digest, content in _current_files():
            if db.session.get(WidgetScript, digest) is None:
                packed = gzip.compress(content, 9, mtime=0)
                # Another host may start at the same moment.
                insert_if_missing(db.session(), WidgetScript, digest=digest, content=packed)


def _current_files() -> list[tuple[str, bytes]]:
    modules = [(module_digest(name), build_module(name)) for name in MODULES]
    return [(script_digest(), build_script()), *modules]
