"""The widget's script: put together, and kept in older versions."""

import gzip
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.cache import Body, make_body
from testimonials.core.db.engine import Base, Timestamp, insert_if_missing, present
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound
from testimonials.projects.widget_design import DENSITIES

# The widget's script, assembled from its parts: code and styles.
#
# The core finds the containers and gets their data; what is drawn is in pieces. The server puts
# behind the core those that a widget needs, so that its page waits for no other file; the core
# imports what is missing, such as when the owner has just chosen another layout. The server's own
# renderings use the same styles, so that they look the same.
#
# Nothing here minifies code: `scripts/minify` has, and a test holds that it was the latest.

FOLDER = Path(__file__).parents[1] / "static" / "widget"
MINIFIED = "minified.json"
CORE = ("core/widget",)
# Each may have styles, and these files of code; in the order of their styles.
PIECES: dict[str, tuple[str, ...]] = {
    "watch": ("pieces/watch",),
    "face": ("pieces/face",),
    "heading": ("pieces/heading",),
    "head": ("pieces/head",),
    "cards": ("pieces/cards",),
    "dates": ("pieces/dates",),
    "looks": ("pieces/looks",),
    "masonry": ("pieces/masonry",),
    "carousel": ("pieces/carousel",),
    "list": (),
    "single": (),
    "marquee": ("pieces/holding", "pieces/marquee"),
    "popup": ("pieces/holding", "pieces/popup"),
    "badge": ("pieces/badge",),
    "sentence": ("pieces/sentence",),
    "corner": (),
    "people": ("pieces/people",),
    "extras": ("pieces/extras",),
    "player": ("playing", "pieces/player"),
    "later": ("pieces/seen", "pieces/later"),
}
MARQUEES = ("horizontal", "vertical")
# The layouts and shapes that another piece draws than that of their name.
DRAWN_BY = dict.fromkeys(MARQUEES, "marquee") | {
    "spotlight": "carousel",
    "strip": "carousel",
}
# What an item has that only `extras` draws.
EXTRAS = {"reply", "twitter", "highlights", "extras"}
# What a script has whose address names no widget.
WALL = ("face", "cards", "masonry")

_COMMENT = re.compile(r"(?:^|(?<=[;{}]) )//.*$")


def choose_draw(feed: Mapping[str, Any]) -> str:
    """Return how the script draws a feed, and the pieces for it, in the order of their styles.

    Empty where there is nothing to show.
    """
    config, items, project = feed["config"], feed["items"], feed["project"]
    has_button = "cta" in feed and config["showCtaButton"]
    if not (project["active"] and (feed["total"] or has_button)):
        return ""
    kind = choose_kind(feed)
    is_badge = kind.startswith(("badge", "people"))
    # A badge draws no cards, whatever the feed holds beside it.
    items = [] if is_badge else items
    has_faces = kind in ("badge-card", "people")
    has_header = not feed.get("shape") and feed.get("header", {}).get("count")
    is_featured = kind == "masonry" and feed["design"]["featured"] != "off"
    is_featured = is_featured and any(item.get("pinned") for item in items[:1])
    is_plain = config["cardStyle"] == "default" and feed["design"]["density"] == DENSITIES[0]
    has_looks = not is_badge and (is_featured or not is_plain)
    pieces = {
        "face": has_faces or not is_badge,
        "heading": has_faces or has_header or has_looks or kind in ("list", "spotlight"),
        "head": has_faces or has_header,
        "cards": not is_badge,
        "dates": not is_badge and config["showDates"] and feed["design"]["dateStyle"] == "absolute",
        "looks": has_looks,
        "badge" if is_badge else DRAWN_BY.get(kind, kind): True,
        "sentence": kind == "badge-sentence",
        "corner": kind == "badge-corner",
        "people": has_faces,
        "extras": any(item.keys() & EXTRAS for item in items),
        "player": any("recording" in item.get("extras", ()) for item in items),
    }
    return " ".join([kind, *(name for name, is_needed in pieces.items() if is_needed)])


def choose_kind(feed: Mapping[str, Any]) -> str:
    """Return what a feed is drawn as: a shape, a layout or a marquee."""
    config, layout = feed["config"], feed["design"]["layout"]
    if shape := feed.get("shape"):
        return str(shape)
    if layout and feed["total"]:
        return str(layout)
    if feed["total"] < 2:
        return "single"
    is_moving = config["layout"] == "carousel" and config["animation"] != "none"
    return str(config["animation"] if is_moving else config["layout"])


def read_styles(name: str) -> str:
    """Return the styles of the core or a piece, minified."""
    folder = "core" if name == "core" else "pieces"
    return squeeze((FOLDER / folder / f"{name}.css").read_text(encoding="utf-8"))


@cache
def _read_minified() -> dict[str, str]:
    found: dict[str, str] = json.loads((FOLDER / MINIFIED).read_text(encoding="utf-8"))
    return found


def digest_sources() -> str:
    """Return a digest of the code as it was written, and of how pieces are made of it."""
    files = [*CORE, *(name for names in PIECES.values() for name in names)]
    texts = [f"{name}\n{(FOLDER / f'{name}.js').read_text(encoding='utf-8')}" for name in files]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@cache
def build_script(*pieces: str) -> bytes:
    """Return the core as it is served, with these pieces behind it.

    A badge has its page watched only when it stands.
    """
    # Pinning the script pins its pieces too.
    parts = [_build("core").replace("VERSION", _version())]
    parts += [
        f"{{{_build(name).replace('export default[', f'__testimonials.{_version()}{name}=[')}}}"
        for name in (pieces if "badge" in pieces else ("watch", *pieces))
    ]
    return "\n".join(parts).encode()


@cache
def build_piece(name: str) -> bytes:
    """Return one of the `PIECES` as it is served by itself, a module."""
    return _build(name).encode()


@cache
def script_digest() -> str:
    """Return the start of the script's SHA-256, which is part of its pinned URL."""
    return hashlib.sha256(build_script(*WALL)).hexdigest()[:16]


def piece_digest(name: str) -> str:
    """Return what stands in its place in the URL of a piece, which is always a pinned one."""
    return _version() + name


@cache
def script_integrity() -> str:
    """Return the value of the ``integrity`` attribute (Subresource Integrity)."""
    return "sha384-" + b64encode(hashlib.sha384(build_script(*WALL)).digest()).decode()


def _build(name: str) -> str:
    script, sheet = _read_minified().get(name, f'export default["{name}.css"];'), f"{name}.css"
    if sheet not in script:
        return script
    return script.replace(sheet, read_styles(name).replace('"', "'"))


@cache
def _version() -> str:
    """Return the start of a digest of all code and styles; a letter first, as in a name."""
    parts = [_build(name) for name in ("core", *PIECES)]
    return "v" + hashlib.sha256("".join(parts).encode()).hexdigest()[:7]


def squeeze(source: str) -> str:
    """Remove ``//`` comments, indentation and line ends from styles."""
    return "".join(_COMMENT.sub("", line.strip()).rstrip() for line in source.splitlines())


# The versions of the widget's script: the current one, and those that websites have pinned.


@cache
def current_script(*pieces: str) -> Body:
    return make_body(0, build_script(*pieces), level=9)


@cache
def _pinned_files() -> dict[str, Body]:
    # A body caches its answers with their headers, which differ for a pinned version.
    return {digest: make_body(0, content, level=9) for digest, content in _current_files()}


def peek_script(digest: str) -> Body | None:
    """Return the current version or piece with this digest; no others are in memory."""
    return _pinned_files().get(digest)


class WidgetScript(Base):
    """A version of the script that this service has served.

    Websites that pin a version by its digest still get it after an upgrade.
    """

    digest: Mapped[str] = mapped_column(String(16), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def find_script(digest: str) -> Body:
    """Return the version with this digest; raise `NotFound` if it was never served here.

    It may be one of its pieces, which are kept as long as the scripts that import it.
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
    pieces = [(piece_digest(name), build_piece(name)) for name in PIECES]
    return [(script_digest(), build_script(*WALL)), *pieces]
