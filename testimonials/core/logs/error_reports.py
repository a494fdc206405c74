"""Error reports to a Sentry server, if one is set, without personal data."""

import logging
from typing import TYPE_CHECKING, Any

from flask import Flask

from testimonials.core.logs.scrubbing import scrub
from testimonials.settings.current import current_settings

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint


def init_error_reports(app: Flask, release: str) -> None:
    """Send errors in the log to `SENTRY_DSN`."""
    if not current_settings(app).sentry_dsn:
        return
    from sentry_sdk import init
    from sentry_sdk.integrations.logging import LoggingIntegration

    init(
        dsn=current_settings(app).sentry_dsn,
        release=release,
        before_send=clean_event,
        # Local variables may hold secrets or what people typed. The user is left out by default.
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        server_name="",
        # Every fault is logged, with its request's id.
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
