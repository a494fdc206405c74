"""Log lines without secrets, and error reports."""

import json
import logging
import re
import sys
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import Flask, Response, g, has_request_context, request

from testimonials.core.clock import iso
from testimonials.core.settings.table import current_settings

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint


# Strangers write some of these texts, so scrubbing must take linear time: texts are cut
# first, and the patterns don't backtrack.

# Longer than any path or line of our own.
MAX_LENGTH = 300
MAX_LINES = 100

PATTERNS = (
    # The user and password of a URL, which would otherwise match as an email address.
    (re.compile(r"(?<=://)[^\s/@\"':]*+:[^\s/@\"']*+(?=@)"), "(hidden)"),
    (
        re.compile(
            r"(?<![\w.+%~!#$&*/=?^`{|}'-])[\w.+%~!#$&*/=?^`{|}'-]++"
            r"@(?!\()[\w%-]++(?:\.[\w%-]++)+"
        ),
        "(address)",
    ),
    (re.compile(r"tst_(?:live|tok|sign)_\w++"), "(key)"),
    (re.compile(r"whsec_[\w+/=]++"), "(secret)"),
    # A signed token: payload, time and signature.
    (re.compile(r"(?<![\w-])[\w-]{8,}+\.[\w-]{5,8}+\.[\w-]{20,}+"), "(token)"),
    # A JSON Web Token.
    (re.compile(r"(?<![\w-])eyJ[\w-]*+\.[\w-]++\.[\w-]++"), "(token)"),
    # A random token, such as that of a session.
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "(token)"),
    # Characters that control a terminal or reverse the writing direction.
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"), "\ufffd"),
)


def scrub(text: str, longest: int = MAX_LENGTH) -> str:
    """Remove addresses, keys, tokens and passwords from the first `longest` characters of `text`.

    The text is cut at a word, since half a secret wouldn't be recognized.
    """
    if len(text) > longest:
        text = text[:longest]
        text = text[: max(text.rfind(end) for end in " /\n") + 1] + "..."
    for pattern, word in PATTERNS:
        text = pattern.sub(word, text)
    return text


logger = logging.getLogger("testimonials.access")

# Secret view arguments; the log shows the rule instead of the path.
SECRET_ARGUMENTS = frozenset({"token"})
# Longer than any name or id of ours, shorter than any token.
LONG_SEGMENT = re.compile(r"[^/]{61,}")
FIELDS = ("request_id", "method", "path", "status", "milliseconds", "actor", "code")
# Long enough for our own messages, which end with what to do.
MAX_MESSAGE_LENGTH = 1000
# A repeated error is logged once in this many seconds.
REPEAT_SECONDS = 60.0
MAX_FAULTS = 1000


class PlainFormatter(logging.Formatter):
    """Formats a line for people: time, level, logger, message, and the request's fields."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        time_text = iso(datetime.fromtimestamp(record.created, UTC))
        line = f"{time_text} {record.levelname.lower():7} {record.name} {_message(record)}"
        line = f"{line} {extra}".rstrip()
        return f"{line}\n{_traceback(self, record)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
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


class RepeatFilter(logging.Filter):
    """Lets a repeated error pass once a minute, with the number of repetitions.

    Otherwise an outage of the database would fill the disk with the errors of all requests.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[object, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        fault = _fault_of(record)
        if fault is None:
            return True
        with self._lock:
            logged_at, repeats = self._seen.get(fault, (0.0, 0))
            if 0 <= record.created - logged_at < REPEAT_SECONDS:
                self._seen[fault] = logged_at, repeats + 1
                return False
            if len(self._seen) >= MAX_FAULTS:
                self._seen.clear()
            self._seen[fault] = record.created, 0
        if repeats:
            record.msg, record.args = f"{record.getMessage()} ({repeats} more before)", ()
        return True


def _fault_of(record: logging.LogRecord) -> object:
    """Return a key that identifies an error, or None for other records."""
    if fault := getattr(record, "fault", None):
        return record.name, record.msg, fault
    if not record.exc_info or record.exc_info[1] is None:
        return None
    error = record.exc_info[1]
    return record.name, record.msg, type(error), str(error).partition("\n")[0]


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    for name in ("method", "path"):
        if name in fields:
            fields[name] = scrub(fields[name])
    if "request_id" not in fields and has_request_context() and "request_id" in g:
        fields["request_id"] = g.request_id
    return fields


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    # Without a mail server, emails are logged, and their links are needed.
    if getattr(record, "is_mail", False):
        return text
    return " ".join(scrub(text, MAX_MESSAGE_LENGTH).splitlines())


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    lines = formatter.formatException(record.exc_info).split("\n") if record.exc_info else []
    return "\n".join(scrub(line) for line in lines[-MAX_LINES:])


def set_up_logs(level: str, log_format: str) -> None:
    """Send this program's log lines to standard error; `log_format` is "json" or "plain"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else PlainFormatter())
    handler.addFilter(RepeatFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("testimonials").setLevel(level.upper())
    # Under load it would log a line for each waiting request.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    # In pipelines it logs errors that it also raises.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    # Its start and end are logged at every level.
    logging.getLogger("testimonials.operations.server.serve").setLevel(logging.INFO)


def register_access_log(app: Flask) -> None:
    app.before_request(_start_timer)
    app.after_request(_log_request)


def _start_timer() -> None:
    g.started = time.perf_counter()


def _log_request(response: Response) -> Response:
    if not logger.isEnabledFor(logging.INFO):
        return response
    more = {"code": g.error_code} if "error_code" in g else {}
    if "actor" in g:
        more["actor"] = str(g.actor)
    log_request(
        g.started,
        request_id=g.request_id,
        method=request.method,
        path=_loggable_path(),
        status=response.status_code,
        **more,
    )
    return response


def log_request(started: float, **fields: object) -> None:
    """Log a request that started at this value of `perf_counter`."""
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    logger.info("request", extra=fields | {"milliseconds": milliseconds})


def _loggable_path() -> str:
    """Return the path without tokens, escaped so that it can't forge log lines."""
    if request.url_rule and SECRET_ARGUMENTS & request.url_rule.arguments:
        return request.url_rule.rule
    path = quote(request.path[: MAX_LENGTH + 1], safe="/:@!$&'()*+,;=~")
    # A path that matches no rule (a wrong method, an extra slash) may still contain a token.
    return path if request.url_rule else LONG_SEGMENT.sub("...", path)


def init_error_reports(app: Flask, release: str) -> None:
    """Report errors to Sentry, if it is configured, without personal data."""
    if not current_settings(app).sentry_dsn:
        return
    from sentry_sdk import init
    from sentry_sdk.integrations.logging import LoggingIntegration

    init(
        dsn=current_settings(app).sentry_dsn,
        release=release,
        before_send=clean_event,
        # Local variables may contain secrets or people's input.
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        server_name="",
        # Every error is logged, with the id of its request.
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[LoggingIntegration(level=None, event_level=logging.ERROR)],
    )


def clean_event(event: "Event", _hint: "Hint") -> "Event":
    """Return an event without addresses, keys and tokens."""
    cleaned: Event = _clean(event)
    for name in ("user", "request", "server_name"):
        cleaned.pop(name, None)  # type: ignore[misc]
    return cleaned


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value
