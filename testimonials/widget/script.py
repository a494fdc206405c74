"""The widget's script: assembling it, and serving pinned versions."""

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

# The script consists of code and styles. Its core finds the containers and fetches their data, and
# its pieces draw. The server adds the pieces that a widget needs to the core, so that a page waits
# for no other file; the core imports any that are missing, such as after the owner has chosen
# another layout. What the server renders itself has the same styles.
#
# `scripts/minify` minifies the code; a test checks that the result is up to date.

FOLDER = Path(__file__).parents[1] / "static" / "widget"
MINIFIED = "minified.json"
CORE = ("core/widget",)
# The code files of each piece, in the order in which the styles of the pieces apply.
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
# Layouts and shapes that a piece of another name draws.
DRAWN_BY = dict.fromkeys(MARQUEES, "marquee") | dict.fromkeys(("spotlight", "strip"), "carousel")
# The keys of an item that only the piece `extras` can draw.
EXTRAS = {"reply", "twitter", "highlights", "extras"}
# The pieces in the script if its URL names no widget.
WALL = ("face", "cards", "masonry")

_COMMENT = re.compile(r"(?:^|(?<=[;{}]) )//.*$")


def choose_draw(feed: Mapping[str, Any]) -> str:
    """Return a feed's kind and the pieces that draw it, in order; empty if nothing is shown."""
    config, items, project = feed["config"], feed["items"], feed["project"]
    has_button = "cta" in feed and config["showCtaButton"]
    if not (project["active"] and (feed["total"] or has_button)):
        return ""
    kind = choose_kind(feed)
    is_badge = kind.startswith(("badge", "people"))
    # A badge draws no cards.
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
    """Return how a feed is drawn: its shape, layout or kind of marquee."""
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
    scripts: dict[str, str] = json.loads((FOLDER / MINIFIED).read_text(encoding="utf-8"))
    return scripts


def digest_sources() -> str:
    """Return a digest of the unminified code, in the order of pieces."""
    files = [*CORE, *(name for names in PIECES.values() for name in names)]
    texts = [f"{name}\n{(FOLDER / f'{name}.js').read_text(encoding='utf-8')}" for name in files]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@cache
def build_script(*pieces: str) -> bytes:
    """Return the core with these pieces, and with `watch`, which a badge imports after drawing."""
    # The version pins the pieces that the script imports.
    parts = [_build("core").replace("VERSION", _version())]
    parts += [
        f"{{{_build(name).replace('export default[', f'__testimonials.{_version()}{name}=[')}}}"
        for name in (pieces if "badge" in pieces else ("watch", *pieces))
    ]
    return "\n".join(parts).encode()


@cache
def build_piece(name: str) -> bytes:
    """Return one of the `PIECES` as a module of its own."""
    return _build(name).encode()


@cache
def script_digest() -> str:
    """Return the start of the script's SHA-256 for its pinned URL."""
    return hashlib.sha256(build_script(*WALL)).hexdigest()[:16]


def piece_digest(name: str) -> str:
    """Return the same for a piece, whose URL is always pinned."""
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
    """Return a letter and the start of a digest of all code and styles, as an identifier."""
    parts = [_build(name) for name in ("core", *PIECES)]
    return "v" + hashlib.sha256("".join(parts).encode()).hexdigest()[:7]


def squeeze(source: str) -> str:
    """Remove ``//`` comments, indentation and line ends from styles."""
    return "".join(_COMMENT.sub("", line.strip()).rstrip() for line in source.splitlines())


@cache
def current_script(*pieces: str) -> Body:
    return make_body(0, build_script(*pieces), level=9)


@cache
def _pinned_files() -> dict[str, Body]:
    # A body caches answers with their headers, which differ for pinned versions.
    return {digest: make_body(0, content, level=9) for digest, content in _current_files()}


def peek_script(digest: str) -> Body | None:
    """Return the current script or piece with this digest; others aren't in memory."""
    return _pinned_files().get(digest)


class WidgetScript(Base):
    """A version of the script or of a piece, for websites that pinned it before an upgrade."""

    digest: Mapped[str] = mapped_column(String(16), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def find_script(digest: str) -> Body:
    """Return the script or piece with this digest; raise `NotFound` if it was never served."""
    if body := peek_script(digest):
        return body
    row = db.session.get(WidgetScript, digest) if digest.isalnum() and digest.isascii() else None
    if row is None:
        raise NotFound("There is no version of the widget with this name.")
    return make_body(0, gzip.decompress(row.content), level=9)


def keep_script() -> None:
    """Store the current script for websites that pin it, when `serve` starts."""
    with write():
        for digest, content in _current_files():
            if db.session.get(WidgetScript, digest) is None:
                packed = gzip.compress(content, 9, mtime=0)
                # Another host may be starting too.
                insert_if_missing(db.session(), WidgetScript, digest=digest, content=packed)


def _current_files() -> list[tuple[str, bytes]]:
    pieces = [(piece_digest(name), build_piece(name)) for name in PIECES]
    return [(script_digest(), build_script(*WALL)), *pieces]
