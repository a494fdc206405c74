"""Signed tokens with a time: one serializer for each purpose, each with its own salt."""

import hashlib
from datetime import datetime
from typing import Any

import click
from itsdangerous import BadData, SignatureExpired, TimestampSigner, URLSafeTimedSerializer

from testimonials.core import clock
from testimonials.core.faults import refusing
from testimonials.core.settings.table import current_settings


class TokenInvalid(Exception):
    """The token isn't valid for this purpose."""


class TokenExpired(Exception):
    """The token is valid, but too old."""

    def __init__(self, payload: Any) -> None:
        super().__init__("token expired")
        self.payload = payload


def require_key() -> str:
    """Return the secret key; raise `click.ClickException` if the instance has none yet."""
    if key := current_settings().secret_key:
        return key
    raise click.ClickException(
        "This instance has no secret key yet. Start `testimonials serve` once, or set "
        "TESTIMONIALS_SECRET_KEY."
    )


class _ClockSigner(TimestampSigner):
    def get_timestamp(self) -> int:
        return int(clock.now().timestamp())


class TokenPurpose:
    def __init__(self, name: str) -> None:
        self.name = name

    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            require_key(),
            salt=f"testimonials:{self.name}",
            signer=_ClockSigner,
            signer_kwargs={"digest_method": hashlib.sha256},
        )

    def sign(self, payload: Any) -> str:
        """Return a URL-safe token that carries `payload` (JSON) and the time."""
        return str(self._serializer().dumps(payload))

    def read(self, token: str, max_age_seconds: int | None = None) -> tuple[Any, datetime]:
        """Return the payload, and when it was signed.

        Raises `TokenInvalid`, or `TokenExpired` past `max_age_seconds`.
        """
        serializer = self._serializer()
        with refusing(lambda _fault: TokenInvalid(), BadData):
            try:
                payload, time = serializer.loads(
                    token, max_age=max_age_seconds, return_timestamp=True
                )
            except SignatureExpired as error:
                raise TokenExpired(serializer.load_payload(error.payload or b"")) from None
        return payload, time

    def find(
        self, token: str, length: int, max_age_seconds: int | None = None
    ) -> tuple[Any, ...] | None:
        """Return the payload, a list of `length`, or None if the token isn't valid."""
        try:
            payload, _ = self.read(token, max_age_seconds)
        except (TokenInvalid, TokenExpired):
            return None
        is_list = isinstance(payload, list) and len(payload) == length
        return tuple(payload) if is_list else None
