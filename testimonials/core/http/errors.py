"""The errors that services raise, their one handler, and hints for wrong paths."""

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
from testimonials.core.http.urls import account_url, find_own_host, login_url, project_url
from testimonials.core.late import find_late, load_all
from testimonials.core.text import to_snake

# Calls that programs try but the API doesn't have: a pattern of method and path, the project's page
# where people do this ("": the account's page), and a hint with {} for that page's URL.
PLACES: list[tuple[str, str, str]] = json.loads(
    Path(__file__).with_name("places.json").read_text(encoding="utf-8")
)
SIGN_IN = r"auth/(?:login|signin|sign-in|logout|claim|signup|sign-up|password|reset|refresh)"


def find_hint(method: str, path: str) -> str:
    """Return a hint about where to do what an unknown call seems to be for, or ""."""
    path = path.removeprefix("/v1/")
    for pattern, page, text in PLACES:
        if match := re.fullmatch(pattern, f"{method} {path}"):
            return text.format(project_url(match[1], page) if page else account_url())
    if re.fullmatch(SIGN_IN, path):
        return (
            f"People sign in with a browser: {login_url()}. API calls send credentials in headers."
        )
    return ""


# Under ``/v1``, for the widget's data and for webhooks every error is JSON of one shape (spec,
# "Errors"); elsewhere it is a page, or JSON for a page's script. This includes routing errors and
# unhandled exceptions.

logger = logging.getLogger("testimonials")

FieldErrors = Mapping[str, list[str]]
T = TypeVar("T")


class ServiceError(Exception):
    """An error for the caller; `values` fill the placeholders of its message.

    Unless a class sets its `code`, the code is its name: `SlugTaken` is SLUG_TAKEN.
    """

    status = 400
    code = "BAD_REQUEST"
    default_message = "The request can't be processed."
    # For the API's table of codes; empty if only pages raise it.
    meaning = ""
    remedy = ""
    # The heading of its page, if not the one for the status.
    title: str | None = None
    # The function that answers this error on every page, named for `find_late`.
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
        """The message, translated."""
        return gettext(self._words, **self._values)


class ValidationFailed(ServiceError):
    """A field breaks a rule; `errors` maps each field to its messages."""

    meaning = "A field, parameter or header breaks a rule, is missing, or is unknown."
    remedy = "Change what `errors` names, by field."

    @classmethod
    def of(cls, errors: FieldErrors) -> "ValidationFailed":
        """Return an error whose message lists all fields and their messages."""
        parts = [f"{name}: {' '.join(messages)}" for name, messages in errors.items()]
        return cls(" ".join(parts), errors=errors)


class BodyInvalid(ServiceError):
    code = "INVALID_BODY"
    meaning = "The body is empty or of the wrong type: the call takes JSON, or certain files."
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
    meaning = "The path or resource doesn't exist, or belongs to somebody else."
    remedy = "Check the path and the ids in it; `message` may name the right place."
    default_message = "Project not found. No project with this id belongs to the account."


def require_found(row: T | None, message: str | None = None) -> T:
    """Return `row`; raise `NotFound` if it is None."""
    if row is None:
        raise NotFound(message)
    return row


class CrossSiteRefused(ServiceError):
    status = 403
    code = "CROSS_SITE_REQUEST"
    default_message = gettext_noop(
        "This form was sent from another site. Open the page itself, and send it from there."
    )


class RateLimited(ServiceError):
    status = 429
    meaning = "Too many requests."
    remedy = "Wait for the number of seconds in `Retry-After`."


HTTP_MESSAGES = {
    400: ("BAD_REQUEST", "The request can't be understood."),
    404: ("NOT_FOUND", "This path does not exist. The endpoints are listed at /v1/openapi.json."),
    405: (
        "METHOD_NOT_ALLOWED",
        "This path does not support that method; the Allow header lists those it does.",
    ),
    413: ("BODY_TOO_LARGE", "The body is too large; the limit is {limit} KiB ({bytes} bytes)."),
    415: ("INVALID_BODY", "Send a JSON object with the header Content-Type: application/json."),
}

# Pages word these differently from the API.
PAGE_MESSAGES = {
    400: gettext_noop("The request can’t be understood."),
    404: gettext_noop("It may have moved, or the address may be mistyped."),
    413: gettext_noop("This is too large: the limit is 256 KiB."),
    500: gettext_noop("Nothing was changed. Try again in a moment."),
}

TITLES = {
    400: gettext_noop("That didn’t work"),
    403: gettext_noop("Sent from another site"),
    404: gettext_noop("This page isn’t here"),
    413: gettext_noop("This is too large"),
    429: gettext_noop("Too many requests"),
    500: gettext_noop("Something went wrong"),
    503: gettext_noop("Temporarily unavailable"),
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
    """Choose the language of an error raised before its view or guard could choose one."""
    if not g.get("is_translated") and not speaks_english(request.path):
        (use_language if _is_in(request.path, "/dashboard") else use_visitors_language)()


def error_body(message: str, code: str, errors: FieldErrors | None = None) -> dict[str, object]:
    body: dict[str, object] = {"message": message, "code": code}
    return body | {"errors": errors} if errors else body


def register_error_handlers(app: Flask) -> None:
    app.register_error_handler(ServiceError, _dispatch)
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
    # A form sent from another site isn't offered again.
    unsent = None if code == CrossSiteRefused.code else read_unsent_form()
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
    """Return the message, or for a visitor's rate limit only when to try again."""
    wait = response.headers.get("Retry-After", "")
    is_for_owner = speaks_english(request.path) or _is_in(request.path, "/dashboard")
    is_readable = is_for_owner and current_language() is ENGLISH
    if response.status_code != 429 or not wait.isdigit() or is_readable:
        return message
    return ngettext(
        "Too many requests came from your network. Try again in a minute.",
        "Too many requests came from your network. Try again in %(num)s minutes.",
        -(-int(wait) // 60),
    )


def _dispatch(error: ServiceError) -> Any:
    """Answer with the error's own page, the blueprint's handler, or the one for all errors."""
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
    response = Response(status=error.status, headers=error.headers)
    _choose_language()
    return _answer(response, error.shown, error.code, error.errors, error.title)


def _find_without_slash() -> str:
    """Return the URL of the page that was requested with a trailing slash, or "".

    It is relative, since the service may be below a path or at a customer's host name.
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
        # A page can't be rendered, since its links need the host name.
        body = json.dumps(error_body("The Host header is not a host name.", "BAD_REQUEST"))
        return Response(body, error.code, content_type="application/json")
    if location := _find_without_slash():
        return Response(status=308, headers={"Location": location})
    # Keep headers such as Allow and Location.
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
        message = translate(PAGE_MESSAGES.get(response.status_code, PAGE_MESSAGES[400]))
    elif response.status_code in (404, 405):
        hint = find_hint(request.method, request.path)
        message = f"There is no such call. {hint}" if hint else message
    elif response.status_code == 413:
        limit = request.max_content_length or 0
        message = message.format(limit=limit // 1024, bytes=limit)
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


# For the dashboard's forms and the scripts of its pages.

Errors = dict[str, list[str]]


def to_form_errors(error: ServiceError, field: str = "form") -> Errors:
    """Return an error's messages by field, or without fields its message for `field`."""
    return {name: list(texts) for name, texts in (error.errors or {}).items()} or {
        field: [error.shown]
    }


def is_from_script() -> bool:
    """Return whether a page's script sent the request."""
    return bool(request.accept_mimetypes.best == "application/json")


def answer_errors(errors: Errors, status: int = 422) -> ResponseReturnValue:
    shown = {name: list(map(translate, texts)) for name, texts in errors.items()}
    message = " ".join(text for texts in shown.values() for text in texts)
    return jsonify({"message": message, "errors": shown}), status
