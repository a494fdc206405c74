"""The table of the API's error codes: what each means, and what a program does about it."""

from collections.abc import Iterator
from dataclasses import dataclass

from testimonials.core.web.errors import ServiceError


@dataclass(frozen=True)
class ErrorCode:
    """One row of the table."""

    code: str
    status: int
    meaning: str
    remedy: str


LATER = "Try again after the seconds in `Retry-After`; with an Idempotency-Key nothing is doubled."

# What has no class of its own: routing, limits of the server, outages.
GENERAL = (
    ErrorCode("BAD_REQUEST", 400, "The request isn't valid HTTP.", "Correct the request."),
    ErrorCode(
        "METHOD_NOT_ALLOWED", 405, "The path has no such method.", "Use one that `Allow` lists."
    ),
    ErrorCode("BODY_TOO_LARGE", 413, "The body is too large.", "Send less in one call."),
    ErrorCode("URI_TOO_LONG", 414, "The URL is too long.", "Shorten the query."),
    ErrorCode(
        "INTERNAL_ERROR",
        500,
        "Something failed here. Nothing was changed.",
        "Try again later; report `X-Request-Id` to the operator if it stays.",
    ),
    ErrorCode("BUSY", 503, "Others are writing. Nothing was changed.", LATER),
    ErrorCode("DATABASE_AWAY", 503, "The database can't be reached.", LATER),
    ErrorCode("STORAGE_FAILED", 503, "Nothing can be saved at the moment.", LATER),
    ErrorCode("COUNTING_FAILED", 503, "Requests can't be counted. Nothing was changed.", LATER),
)


def list_error_codes() -> list[ErrorCode]:
    """Return what a call of the API may answer, by status and code."""
    own = (
        ErrorCode(each.code, each.status, each.meaning, each.remedy)
        for each in _subclasses(ServiceError)
        if "meaning" in vars(each)
    )
    return sorted((*GENERAL, *own), key=lambda each: (each.status, each.code))


def _subclasses(error: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for each in error.__subclasses__():
        yield each
        yield from _subclasses(each)
