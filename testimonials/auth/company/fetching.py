"""Asking the provider: only what the operator's issuer names, briefly, and by few at once.

Nobody else's pages may wait because the provider doesn't answer.
"""

import json
import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

from testimonials.core.faults import FAULTS
from testimonials.core.public_addresses import AddressRefused, Answer, UrlRefused, ask
from testimonials.core.web.errors import ServiceError
from testimonials.settings.current import current_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 5
MOST_BYTES = 512 * 1024
# How many threads of a process may wait for the provider, and how long another waits for a turn.
AT_ONCE = 2
TURN_SECONDS = 3
# For how long after it didn't answer it isn't asked again.
PAUSE_SECONDS = 10

Json = dict[str, Any]


class ProviderAway(ServiceError):
    """The provider doesn't answer, or not what it should; `reason` is for the operator."""

    status = 503
    code = "COMPANY_SIGN_IN_AWAY"

    def __init__(self, reason: str) -> None:
        name = current_settings().company_name
        words = f"{name} doesn’t answer at the moment."
        super().__init__(words, headers={"Retry-After": str(PAUSE_SECONDS)})
        self.reason = reason


class ProviderRefused(ServiceError):
    """The provider answered that this can't be; `reason` is what it said."""

    status = 422
    code = "COMPANY_SIGN_IN_REFUSED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{current_settings().company_name} did not confirm who you are.")
        self.reason = reason


class Line:
    """The connections of one process to the provider."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._failed_at = float("-inf")
        self._reason = ""

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Json:
        """Return the JSON object at a URL; raise `ProviderAway` and `ProviderRefused`."""
        return self._ask(url, "GET", headers or {}, None)

    def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Json:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._ask(url, "POST", kind | dict(headers), urlencode(form).encode())

    def _ask(self, url: str, method: str, headers: Mapping[str, str], body: bytes | None) -> Json:
        agent = {"User-Agent": "testimonials", "Accept": "application/json"}
        with self._turn():
            try:
                answer = ask(
                    url,
                    SECONDS,
                    MOST_BYTES,
                    lambda *_: True,
                    method=method,
                    headers=agent | dict(headers),
                    body=body,
                )
            except (OSError, AddressRefused, UrlRefused) as error:
                self._note_failure(f"{url}: {error or type(error).__name__}")
        return self._read(url, answer)

    def _read(self, url: str, answer: Answer) -> Json:
        if answer.status >= 500 or answer.status == 429:
            self._note_failure(f"{url} answers {answer.status}")
        found = None
        with suppress(*FAULTS):
            found = json.loads(answer.content) if answer.is_complete else None
        if answer.status != 200:
            said = found.get("error") if isinstance(found, dict) else None
            raise ProviderRefused(f"it answers {answer.status} {str(said or '')[:80]}".strip())
        if not isinstance(found, dict):
            self._note_failure(f"{url} answers something that is not a JSON object")
        return found

    @contextmanager
    def _turn(self) -> "Iterator[None]":
        if time.monotonic() < self._failed_at + PAUSE_SECONDS:
            raise ProviderAway(self._reason)
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise ProviderAway("too many people sign in at once")
        try:
            yield
        finally:
            self._turns.release()

    def _note_failure(self, reason: str) -> NoReturn:
        self._failed_at, self._reason = time.monotonic(), reason[:300]
        raise ProviderAway(self._reason)
