"""Reading a beacon: which are counted, and what they may hold."""

import json
import re
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from flask import Request

from testimonials.auth.sign_in.cookies import read_session_cookie
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.faults import FAULTS
from testimonials.core.hosts.own_hosts import own_hosts
from testimonials.core.urls import own_origins
from testimonials.insights.counting import Beacon

MAX_BYTES = 16 * 1024
# Of one page, in one beacon.
MAX_TESTIMONIALS, MAX_CLICKS = 200, 20

_PROGRAM = re.compile(
    r"bot|crawl|spider|slurp|headless|lighthouse|preview|facebookexternalhit|pingdom|monitor"
    r"|phantom|puppeteer|playwright|selenium|curl|wget|python|httpclient",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9._-]{1,255}")
_FORM = re.compile(r"[a-z0-9-]{0,60}")


def read_beacon(request: Request) -> Beacon | None:
    """Return what a beacon tells; None if it isn't counted.

    That is what a program sent, what its reader asks not to be told, the owner's own look, and a
    page on somebody's own machine.
    """
    headers = request.headers
    if headers.get("Sec-GPC") == "1" or headers.get("DNT") == "1" or read_session_cookie():
        return None
    if not request.user_agent.string or _PROGRAM.search(request.user_agent.string):
        return None
    website = read_website(headers.get("Origin", ""))
    sent = _read_body(request)
    surface = sent.get("surface")
    # The widget on our own pages is the editor's preview.
    surfaces = ("widget",) if website else ("wall", "form")
    if website is None or not isinstance(surface, str) or surface not in surfaces:
        return None
    form = sent.get("form", "")
    return Beacon(
        surface=surface,
        website=website,
        is_view=sent.get("view") is True,
        clicks=_read_clicks(sent.get("clicks")),
        seen=_read_ids(sent.get("seen")),
        read=_read_ids(sent.get("read")),
        form=form if isinstance(form, str) and _FORM.fullmatch(form) else "",
        is_opened=sent.get("opened") is True,
        is_started=sent.get("started") is True,
    )


def read_website(origin: str) -> str | None:
    """Return the host of an Origin header, empty for our own; None for one that isn't counted."""
    try:
        parts = urlsplit(origin)
        host = parts.hostname or ""
    except ValueError:
        return None
    if origin in own_origins() or own_hosts().find(host) is not None:
        return ""
    is_here = host.startswith("127.") or host.endswith((".localhost", ".local", ".test"))
    if parts.scheme not in ("http", "https") or is_here or host == "localhost":
        return None
    return host if _HOST.fullmatch(host) else None


def _read_body(request: Request) -> dict[str, Any]:
    length = request.content_length
    if length is None or length > MAX_BYTES:
        return {}
    sent = None
    with suppress(*FAULTS):
        sent = json.loads(request.get_data(cache=False))
    return sent if isinstance(sent, dict) else {}


def _read_clicks(value: Any) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, 0), MAX_CLICKS) if is_number else 0


def _read_ids(value: Any) -> list[str]:
    listed = value[:MAX_TESTIMONIALS] if isinstance(value, list) else []
    ids = [each for each in listed if isinstance(each, str) and is_identifier(each)]
    return list(dict.fromkeys(ids))
