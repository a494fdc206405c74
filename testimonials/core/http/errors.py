"""The errors of services, the one handler for all, and hints at wrong paths."""

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from flask import Flask, Response, current_app, g, jsonify, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import BadHost, HTTPException

from testimonials.core.db.outages import log_fault
from testimonials.core.http.forms import read_unsent_form
from testimonials.core.http.hosts import find_own_host
from testimonials.core.http.i18n import (
    ENGLISH,
    current_language,
    gettext,
    gettext_noop,
    ngettext,
    translate,
    use_language,
    use_visitors_language,
)
from testimonials.core.http.urls import account_url, login_url, project_url
from testimonials.core.late import find_late, load_all
from testimonials.core.text import to_snake

# What programs look for in the API and isn't there: where it is done instead.

# Method and path, and where it is done: a page of the project, of the account, or another call.
# {} is the page's URL.
PLACES: list[tuple[str, str, str]] = json.loads(
    Path(__file__).with_name("places.json").read_text(encoding="utf-8")
)
SIGN_IN = r"auth/(?:login|signin|sign-in|logout|claim|signup|sign-up|password|reset|refresh)"


def find_elsewhere(method: str, path: str) -> str | None:
    """Return where what a call seems to want is done, or None."""
    path = path.removeprefix("/v1/")
    for pattern, page, text in PLACES:
        if found := re.fullmatch(pattern, f"{method} {path}"):
            return text.format(project_url(found[1], page) if page else account_url())
    if re.fullmatch(SIGN_IN, path):
        return f"People sign in with a browser: {login_url()}. Calls carry credentials in headers."
    return None


# Errors: what a service may raise, and the one handler that answers them.
#
# Under ``/v1``, for the widget's data and for webhooks every error is JSON of one shape (spec,
# "Errors"); elsewhere it is a page, or JSON for a page's script. Routing errors and unhandled
# faults come here too.

logger = logging.getLogger("testimonials")

FieldErrors = Mapping[str, list[str]]
T = TypeVar("T")


class ServiceError(Exception):
    """An error for the caller: a status, a code, a message with `values` in its %(name)s.

    The code of `SlugTaken` is SLUG_TAKEN, unless the class says another.
    """

    status = 400
    code = "BAD_REQUEST"
    default_message = "The request can't be processed."
    # What the code means and what to do about it, for the API's table; empty: only pages raise it.
    meaning = ""
    remedy = ""
    # The heading of its page, if not the status's.
    title: str | None = None
    # The function that answers it everywhere, as `find_late` takes it.
    page = ""

    def __init__(
        self,
        message: str | None = None,
        *,
        values: Mapping[str, object] | None = None,
        errors: FieldErrors | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._words, self._values = message or self.default_message, dict(values or {})
        self.message = self._words % self._values if self._values else self._words
        self.errors = errors
        self.headers = dict(headers or {})
        super().__init__(self.message)

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls) and ServiceError in cls.__bases__:
            cls.code = to_snake(cls.__name__).upper()

    @property
    def shown(self) -> str:
        """The message in the page's language."""
        return gettext(self._words, **self._values)


class ValidationFailed(ServiceError):
    """A field breaks a rule; `errors` maps each field to its messages."""

    meaning = "A field, parameter or header breaks a rule, is missing, or is unknown."
    remedy = "Change what `errors` names, by field."

    @classmethod
    def of(cls, errors: FieldErrors) -> "ValidationFailed":
        """Return the error with a message that lists the fields and the rules they break."""
        parts = [f"{name}: {' '.join(messages)}" for name, messages in errors.items()]
        return cls(" ".join(parts), errors=errors)


class BodyInvalid(ServiceError):
    code = "INVALID_BODY"
    meaning = "The body is empty or isn't what the call takes: JSON, or a file of certain types."
    remedy = "Send what `message` asks for, with its `Content-Type`."


class CredentialsInvalid(ServiceError):
    status = 401
    code = "INVALID_CREDENTIALS"
    meaning = "The credentials are missing, don't match, or are no longer valid."
    remedy = "Send both headers of the account, or an access token, as they were last issued."
    default_message = (
        "The account id and API key are missing or do not match. Send both headers, "
        "x-service-account-id and x-api-key, with the values of the latest POST "
        "/v1/auth/agent-init response or from the dashboard settings; or an access token as "
        "Authorization: Bearer."
    )

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": 'ApiKey realm="testimonials"'})


class NotFound(ServiceError):
    status = 404
    meaning = "The path or the thing doesn't exist, or belongs to somebody else."
    remedy = "Check the path and the ids in it; `message` may say where it is done instead."
    default_message = "Project not found. No project with this id belongs to the account."


def require_found(row: T | None, message: str | None = None) -> T:
    """Return what was looked for; raise `NotFound` if that is nothing."""
    if row is None:
        raise NotFound(message)
    return row


class CrossSiteRefused(ServiceError):
    """A browser sent this from another site."""

    status = 403
    code = "CROSS_SITE_REQUEST"
    default_message = gettext_noop(
        "This form was sent from another site. Open the page itself and send it from there."
    )


class RateLimited(ServiceError):
    """Too many requests; `Retry-After` says when to try again."""

    status = 429
    meaning = "Too many requests."
    remedy = "Wait for the seconds in `Retry-After`."


HTTP_MESSAGES = {
    400: ("BAD_REQUEST", "The request can't be understood."),
    404: ("NOT_FOUND", "This path does not exist. The endpoints are listed at /v1/openapi.json."),
    405: (
        "METHOD_NOT_ALLOWED",
        "This path does not support that method; the Allow header lists those it does.",
    ),
    413: ("BODY_TOO_LARGE", "The body is too large; the limit is {limit} KiB ({bytes} bytes)."),
    414: ("URI_TOO_LONG", "The URL is too long."),
    415: ("INVALID_BODY", "Send a JSON object with the header Content-Type: application/json."),
}

# Where a page uses other words than the API.
PAGE_MESSAGES = {
    400: gettext_noop("The request can’t be understood."),
    404: gettext_noop("It may have moved, or never was. The address may be mistyped, too."),
    405: gettext_noop("This page doesn’t accept what was sent. Go back and try again."),
    413: gettext_noop("What was sent is too large; the limit is 256 KiB."),
    414: gettext_noop("The URL is too long."),
    500: gettext_noop("Nothing was changed. Please try again in a moment."),
}

TITLES = {
    400: gettext_noop("That didn’t work"),
    403: gettext_noop("That came from another site"),
    404: gettext_noop("This page isn’t here"),
    405: gettext_noop("That can’t be done here"),
    413: gettext_noop("That is too large"),
    429: gettext_noop("Too many requests"),
    500: gettext_noop("That was our fault"),
    503: gettext_noop("Not available right now"),
}


JSON_FOLDERS = ("/v1/", "/widget/", "/webhooks/", "/.well-known/")
JSON_PATHS = {"/v1", "/oembed", "/mcp", "/oauth/register", "/oauth/revoke", "/oauth/token"}


def wants_json(path: str) -> bool:
    """Return whether an error at `path` is answered with JSON instead of a page."""
    return path.startswith(JSON_FOLDERS) or path in JSON_PATHS


def speaks_english(path: str) -> bool:
    """Return whether errors at `path` are always in English: for programs and the operator."""
    return wants_json(path) or _is_in(path, "/operator")


def _is_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _choose_language() -> None:
    """Answer an error in a language even where the guard or door that chooses it wasn't reached."""
    if not g.get("is_translated") and not speaks_english(request.path):
        (use_language if _is_in(request.path, "/dashboard") else use_visitors_language)()


def error_body(message: str, code: str, errors: FieldErrors | None = None) -> dict[str, object]:
    body: dict[str, object] = {"message": message, "code": code}
    return body | {"errors": errors} if errors else body


def register_error_handlers(app: Flask) -> None:
    app.register_error_handler(ServiceError, _find_answer)
    app.register_error_handler(HTTPException, _answer_http_error)
    app.register_error_handler(Exception, _answer_fault)


def _answer(
    response: Response,
    message: str,
    code: str,
    errors: FieldErrors | None = None,
    title: str | None = None,
) -> Response:
    g.error_code = code
    is_script = is_from_script()
    if is_script and not wants_json(request.path):
        errors = {name: list(map(translate, texts)) for name, texts in (errors or {}).items()}
    if wants_json(request.path) or is_script:
        response.data = json.dumps(error_body(message, code, errors), separators=(",", ":"))
        response.content_type = "application/json"
        if request.path.startswith("/widget/"):
            response.headers["Access-Control-Allow-Origin"] = "*"
        return response
    status = response.status_code
    # A form from another site is not offered for resending.
    unsent = None if code == CrossSiteRefused.code else read_unsent_form()
    if unsent:
        response.headers["Cache-Control"] = "no-store"
    response.data = render_template(
        "errors/error.html",
        status=status,
        title=translate(title or TITLES.get(status, TITLES[400])),
        explanation=_explain(response, message),
        request_id=g.request_id if status >= 500 else None,
        unsent=unsent,
        own_host=find_own_host(),
        can_resend=status in (413, 429, 500, 503),
    )
    response.content_type = "text/html; charset=utf-8"
    return response


def _explain(response: Response, message: str) -> str:
    """Return the message, or for a rate limit that stopped a visitor, just when to try again."""
    wait = response.headers.get("Retry-After", "")
    is_theirs = speaks_english(request.path) or _is_in(request.path, "/dashboard")
    is_worded = is_theirs and current_language() is ENGLISH
    if response.status_code != 429 or not wait.isdigit() or is_worded:
        return message
    return ngettext(
        "Too many requests came from your network. Try again in a minute.",
        "Too many requests came from your network. Try again in %(num)s minutes.",
        -(-int(wait) // 60),
    )


def _find_answer(error: ServiceError) -> Any:
    """Answer as the door does that was asked, or the error itself; otherwise as all do."""
    load_all()
    if error.page:
        return find_late(error.page)(error)
    for name in request.blueprints:
        answers = vars(current_app.blueprints[name])["answers"]
        for kind in type(error).__mro__:
            if kind in answers:
                return answers[kind](error)
    return answer_service_error(error)


def answer_service_error(error: ServiceError) -> Response:
    """Return the response to `error`, JSON or a page."""
    response = Response(status=error.status, headers=error.headers)
    _choose_language()
    return _answer(response, error.shown, error.code, error.errors, error.title)


def _find_without_slash() -> str:
    """Return where the page is that somebody asked for with a slash at the end, or nothing.

    Relative, since the service may be below a path or at a project's own host name.
    """
    path = request.path.removesuffix("/")
    name = path.rpartition("/")[2]
    is_typed = path != request.path and "//" not in request.path and not wants_json(path)
    is_page = is_typed and name not in (".", "..") and request.method in ("GET", "HEAD")
    if not (is_page and current_app.url_map.bind("").test(path, "GET")):
        return ""
    query = request.query_string.decode("ascii", "ignore")
    return f"../{quote(name)}{'?' if query else ''}{query}"


def _answer_http_error(error: HTTPException) -> Response:
    _choose_language()
    if isinstance(error, BadHost):
        # No page can be made: its links are built with the host's name.
        body = json.dumps(error_body("The Host header is not a host name.", "BAD_REQUEST"))
        return Response(body, error.code, content_type="application/json")
    if place := _find_without_slash():
        return Response(status=308, headers={"Location": place})
    # The library's own response keeps headers such as Allow and Location.
    response = Response(status=error.code or 500)
    response.headers.update(
        (name, value)
        for name, value in error.get_headers(request.environ)
        if name.lower() != "content-type"
    )
    code, message = HTTP_MESSAGES.get(
        response.status_code, ("HTTP_ERROR", error.description or "The request failed.")
    )
    if not wants_json(request.path):
        message = translate(PAGE_MESSAGES.get(response.status_code, message))
    elif response.status_code in (404, 405):
        where = find_elsewhere(request.method, request.path)
        message = f"There is no such call. {where}" if where else message
    elif response.status_code == 413:
        most = request.max_content_length or 0
        message = message.format(limit=most // 1024, bytes=most)
    return _answer(response, message, code)


def _answer_fault(error: Exception) -> Response:
    _choose_language()
    outage = log_fault(logger, "a request failed", error, request_id=g.request_id)
    if outage is not None:
        response = Response(status=503, headers={"Retry-After": str(outage.retry_after)})
        return _answer(response, translate(outage.message), outage.code)
    message = f"Something went wrong on our side. Nothing was changed. Request id: {g.request_id}"
    if not wants_json(request.path):
        message = translate(PAGE_MESSAGES[500])
    return _answer(Response(status=500), message, "INTERNAL_ERROR")


# What the dashboard's forms share: their errors, and answers to the page's scripts.

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Return a service's errors by field; an error without a field goes to `field`."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.shown]
    }


def is_from_script() -> bool:
    """Return whether a script on the page sent the request."""
    return bool(request.accept_mimetypes.best == "application/json")


def answer_errors(errors: Errors, status: int = 422) -> ResponseReturnValue:
    shown = {name: list(map(translate, texts)) for name, texts in errors.items()}
    message = " ".join(text for texts in shown.values() for text in texts)
    return jsonify({"message": message, "errors": shown}), status
