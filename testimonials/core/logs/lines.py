"""Logs: plain or JSON lines, with request ids, without secrets or e-mail addresses."""

import json
import logging
import re
import sys
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from flask import Flask, Response, g, has_request_context, request

from testimonials.core.clock import iso
from testimonials.core.logs.repeated_faults import RepeatFilter
from testimonials.core.logs.scrubbing import LONGEST, scrub, scrub_traceback

logger = logging.getLogger("testimonials.access")

# View arguments that are secrets; the log shows the placeholder of the rule instead.
SECRET_ARGUMENTS = frozenset({"token"})
# Longer than any name or id of ours, shorter than any token.
LONG_SEGMENT = re.compile(r"[^/]{61,}")
FIELDS = ("request_id", "method", "path", "status", "milliseconds", "actor", "code")
# Long enough for our own messages, which end with what to do.
LONGEST_MESSAGE = 1000


class PlainFormatter(logging.Formatter):
    """One line for a person: time, level, logger, message, then the request's fields."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        time_text = iso(datetime.fromtimestamp(record.created, UTC))
        line = f"{time_text} {record.levelname.lower():7} {record.name} {_message(record)}"
        line = f"{line} {extra}".rstrip()
        return f"{line}\n{_traceback(self, record)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object for each line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        } | _fields(record)
        if record.exc_info:
            line["exception"] = _traceback(self, record)
        return json.dumps(line, ensure_ascii=False)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    found = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    for name in ("method", "path"):
        if name in found:
            found[name] = scrub(found[name])
    if "request_id" not in found and has_request_context() and "request_id" in g:
        found["request_id"] = g.request_id
    return found


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    # Mail printed because no server is set keeps its links.
    if getattr(record, "is_mail", False):
        return text
    return " ".join(scrub(text, LONGEST_MESSAGE).splitlines())


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return scrub_traceback(formatter.formatException(record.exc_info)) if record.exc_info else ""


def set_up_logs(level: str, log_format: str) -> None:
    """Send this program's log lines to standard error; `log_format` is "json" or "plain"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else PlainFormatter())
    handler.addFilter(RepeatFilter(handler))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("testimonials").setLevel(level.upper())
    # A line for each request that waits for a thread would make a rush worse.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    # Where it listens, and that it stopped, is logged at every level.
    logging.getLogger("testimonials.serving.server").setLevel(logging.INFO)


def register_access_log(app: Flask) -> None:
    app.before_request(_note_start)
    app.after_request(_log_request)


def _note_start() -> None:
    g.started = time.perf_counter()


def _log_request(response: Response) -> Response:
    line = {
        "request_id": g.request_id,
        "method": request.method,
        "path": _loggable_path(),
        "status": response.status_code,
        "milliseconds": round((time.perf_counter() - g.started) * 1000, 1),
    }
    if "actor" in g:
        line["actor"] = str(g.actor)
    if "error_code" in g:
        line["code"] = g.error_code
    logger.info("request", extra=line)
    return response


def _loggable_path() -> str:
    """Return the path without tokens, escaped so that it can't break or forge a line."""
    if request.url_rule and SECRET_ARGUMENTS & request.url_rule.arguments:
        return request.url_rule.rule
    path = quote(request.path[: LONGEST + 1], safe="/:@!$&'()*+,;=~")
    # A path that no rule matches (a wrong method, a slash too many) may still hold a token.
    return path if request.url_rule else LONG_SEGMENT.sub("...", path)
