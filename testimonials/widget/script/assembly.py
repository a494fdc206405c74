"""The widget's script, assembled from its parts: code, styles and colours.

What few pages need (the marquee, the spotlight, badges, the popup) is a second file, a module that
the script imports by its digest. The server's own renderings use the same styles and colours, so
that they look the same.
"""

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "static" / "widget"
# In the order in which they are put together.
CORE_PARTS = ("elements", "cards", "masonry", "carousel", "widget", "start")
SHAPES_PARTS = ("shapes", "badge", "marquee")

_COMMENT = re.compile(r"(?:^|(?<=[;{}]) )//.*$")


@cache
def read_look() -> dict[str, Any]:
    """Return ``look.json``: the names of the colours, and their values by palette and by theme."""
    return dict(json.loads((FOLDER / "look.json").read_text(encoding="utf-8")))


@cache
def read_styles() -> str:
    """Return ``widget.css`` minified."""
    return squeeze((FOLDER / "widget.css").read_text(encoding="utf-8"), "")


def read_source(part: str, names: tuple[str, ...]) -> str:
    """Return the code of the core or the shapes, as it was written."""
    return "".join((FOLDER / part / f"{name}.js").read_text(encoding="utf-8") for name in names)


@cache
def build_script() -> bytes:
    """Return the core as it is served: one file without comments or indentation."""
    script = squeeze(read_source("core", CORE_PARTS), "\n")
    look = json.dumps(read_look(), separators=(",", ":"))
    script = script.replace("'look.json'", look).replace("widget.css", read_styles())
    # Pinning the script pins its second file too.
    return script.replace("shapes.js", f"v1-{shapes_digest()}.js").encode()


@cache
def build_shapes() -> bytes:
    """Return the script's second file, which draws the shapes that few pages use."""
    styles = squeeze((FOLDER / "shapes" / "shapes.css").read_text(encoding="utf-8"), "")
    script = squeeze(read_source("shapes", SHAPES_PARTS), "\n")
    return script.replace("shapes.css", styles).encode()


@cache
def script_digest() -> str:
    """Return the start of the script's SHA-256, which is part of its pinned URL."""
    return _digest(build_script())


@cache
def shapes_digest() -> str:
    """Return the same of the second file, whose only URL is the pinned one."""
    return _digest(build_shapes())


@cache
def script_integrity() -> str:
    """Return the value of the ``integrity`` attribute (Subresource Integrity)."""
    return "sha384-" + b64encode(hashlib.sha384(build_script()).digest()).decode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def squeeze(source: str, end: str) -> str:
    """Remove ``//`` comments, indentation and empty lines; end lines with `end`."""
    lines = (_COMMENT.sub("", line.strip()).rstrip() for line in source.splitlines())
    return end.join(line for line in lines if line)
