"""Checks of Redis, mail, and the service's own addresses."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any

from sqlalchemy import func, select

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.logs.scrubbing import scrub
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.transports import DeliveryFailed, SmtpTransport
from testimonials.extensions import db, limiter
from testimonials.operations.database.shared_secret import instance_mark
from testimonials.operations.doctor.data import CLOCK_DIFFERENCE, SET_CLOCK
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.doctor.settings import is_loopback
from testimonials.operations.health import check_mail as check_waiting
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX

TIMEOUT_SECONDS = 5
MAX_REASONS = 3
MAX_BYTES = 10_000


def check_limits() -> Iterator[Finding]:
    if current_settings().ratelimit_storage_url and not limiter.can_count():
        yield Finding(
            "Redis (RATELIMIT_STORAGE_URL) can't count: signing up, signing in and inviting "
            "answer 503, and authors get no mail.",
            "It is unreachable, full or read-only; the log says which. Fix that, or remove "
            "RATELIMIT_STORAGE_URL and restart to count in the database.",
        )


def check_mail() -> Iterator[Finding]:
    settings = current_settings()
    if not settings.smtp_url:
        if not is_loopback(settings.app_url):
            yield Finding(
                "SMTP_URL is not set, so no mail is sent: nobody can sign up or reset a password.",
                f"Set {PREFIX}SMTP_URL and test it: testimonials mail test you@example.com",
            )
        return
    transport = SmtpTransport(settings.smtp_url, settings.mail_from, timeout=TIMEOUT_SECONDS)
    try:
        transport.check()
    except DeliveryFailed as error:
        yield Finding(
            f"The mail server can't be used: {error}",
            "See what both sides say: testimonials mail test you@example.com",
        )


def check_outbox_mail() -> Iterator[Finding]:
    waiting = check_waiting()
    if not waiting.is_ok:
        yield Finding(
            f"Mail does not leave: {waiting.detail}.",
            "Is `testimonials serve` running? Its log says what fails.",
        )
    for state, words in ((MailState.FAILED, "failed"), (MailState.QUEUED, "refused so far")):
        rows = db.session.execute(
            select(OutboxMail.last_error, func.count())
            .where(OutboxMail.state == state, OutboxMail.last_error.is_not(None))
            .group_by(OutboxMail.last_error)
            .order_by(func.count().desc())
            .limit(MAX_REASONS)
        )
        for error, count in rows:
            yield Finding(
                f"{count} mail(s) {words}: {scrub(str(error))}",
                "Fix the cause, then run `testimonials mail retry`. `mail list` shows the mail.",
            )


def check_urls() -> Iterator[Finding]:
    settings = current_settings()
    yield from _check_url("BASE_URL", settings.base_url)
    if settings.app_url != settings.base_url:
        yield from _check_url("APP_URL", settings.app_url)


def _check_url(name: str, origin: str) -> Iterator[Finding]:
    try:
        answer, date = _ask(f"{origin}/healthz")
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(getattr(error, "reason", None) or error).split())[:200]
        yield Finding(
            f"{name} ({origin}) does not answer: {reason}",
            "Check that `testimonials serve` is running, DNS, and the proxy.",
        )
        return
    if answer.get("instance") != instance_mark():
        yield Finding(
            f"Something else answers at {name} ({origin}).",
            f"Check the address, DNS, the proxy, and that all hosts have the same {PREFIX}"
            "SECRET_KEY.",
        )
        return
    yield from _check_proxies(name, origin, answer)
    if date is not None and abs(date - clock.now()) > CLOCK_DIFFERENCE:
        yield Finding(
            f"The clock at {name} says {iso(date)}, the one here {iso(clock.now())}.", SET_CLOCK
        )


def _check_proxies(name: str, origin: str, answer: dict[str, Any]) -> Iterator[Finding]:
    trusted = current_settings().trusted_proxies
    count = answer.get("proxies", 0)
    problem = f"Requests to {name} pass {count} proxies, but TRUSTED_PROXIES is {trusted}: "
    advice = f"Set {PREFIX}TRUSTED_PROXIES to {count}"
    if count > trusted:
        yield Finding(f"{problem}all visitors share a proxy's address and limits.", f"{advice}.")
    elif count < trusted and not is_loopback(origin):
        yield Finding(
            f"{problem}visitors can forge their address.",
            f"{advice}, or let each proxy append X-Forwarded-For.",
        )
    elif origin.startswith("https:") and answer.get("scheme") == "http":
        yield Finding(
            f"{name} is https, but the service sees http and sends no Strict-Transport-Security.",
            "Let the proxy set X-Forwarded-Proto, and set TRUSTED_PROXIES.",
        )


def _ask(url: str) -> tuple[dict[str, Any], datetime | None]:
    """GET a JSON object; return it and the server's time.

    Raises `OSError`, `HTTPException` or `ValueError`.
    """
    headers = {"User-Agent": "testimonials-doctor", "Accept": "application/json"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s), by the settings
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            body = json.loads(answer.read(MAX_BYTES))
            date = answer.headers["Date"]
    except urllib.error.HTTPError as error:
        with error:
            raise ValueError(f"it answers {error.code}") from None
    return body if isinstance(body, dict) else {}, parsedate_to_datetime(date) if date else None
