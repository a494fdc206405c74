"""What happens while Redis, where requests may be counted, does not answer."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flask import current_app
from limits.storage import Storage

from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop

logger = logging.getLogger("testimonials.ratelimit")

EXTENSION = "testimonials_counting_failed"
# A silent Redis takes two seconds of whoever asks it.
PAUSE_SECONDS = 5
LOG_SECONDS = 60


class CountingFailed(ServiceError):
    """Redis does not answer, and what is asked for must not be done uncounted."""

    status = 503
    code = "COUNTING_FAILED"
    default_message = gettext_noop(
        "Redis, where requests are counted, does not answer. Nothing was changed; try again."
    )


class _Absence:
    """When the store last failed, and when that was last logged."""

    failed_at = told_at = float("-inf")


@contextmanager
def telling_of_failure(storage: Storage) -> Iterator[None]:
    """Raise `CountingFailed` where the storage can't be asked; the log has it once a minute."""
    try:
        yield
    except storage.base_exceptions as error:
        absence, now = _absence(), time.monotonic()
        absence.failed_at = now
        if now >= absence.told_at + LOG_SECONDS:
            absence.told_at = now
            logger.error("requests can't be counted in Redis (RATELIMIT_STORAGE_URL): %s", error)
        raise CountingFailed(headers={"Retry-After": "1"}) from None


def has_just_failed() -> bool:
    """Tell whether to ask again would most likely only take time."""
    return time.monotonic() < _absence().failed_at + PAUSE_SECONDS


def _absence() -> _Absence:
    absence: _Absence = current_app.extensions.setdefault(EXTENSION, _Absence())
    return absence
