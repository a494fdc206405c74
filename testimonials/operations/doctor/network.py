"""What `testimonials doctor` says of mail, and of the addresses under which the world comes."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any

from sqlalchemy import func, select

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.logs.scrubbing import scrub
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.smtp_advice import advise
from testimonials.core.mail.transports import DeliveryFailed, SmtpTransport
from testimonials.extensions import db, limiter
from testimonials.operations.database.shared_secret import instance_mark
from testimonials.operations.doctor.data import CLOCK_DIFFERENCE
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.doctor.settings import PREFIX, is_loopback
from testimonials.operations.health import check_mail as check_waiting
from testimonials.settings.current import current_settings

TIMEOUT_SECONDS = 5
MOST_REASONS = 3
MOST_BYTES = 10_000


@dataclass(frozen=True)
class _Answer:
    body: dict[str, Any]
    date: str


def check_limits() -> Iterator[Finding]:
    """Look whether requests can be counted where that is not the database."""
    if current_settings().ratelimit_storage_url and not limiter.can_count():
        yield Finding(
            "Redis, which RATELIMIT_STORAGE_URL names, does not count: signing up, signing in and "
            "inviting answer 503, and authors get no mail with their link.",
            "The log says why: it is away, full or read-only. Mend that, or leave "
            "RATELIMIT_STORAGE_URL out and restart: the database counts then.",
        )


def check_mail() -> Iterator[Finding]:
    """Connect to the mail server as for a mail, and look for mail that does not leave."""
    settings = current_settings()
    if not settings.smtp_url:
        if not is_loopback(settings.app_url):
            yield Finding(
                "SMTP_URL is not set, so no mail leaves: nobody can sign up or get a new password.",
                f"Set {PREFIX}SMTP_URL and try it: testimonials mail test you@example.com",
            )
        return
    transport = SmtpTransport(settings.smtp_url, settings.mail_from, timeout=TIMEOUT_SECONDS)
    try:
        transport.check()
    except DeliveryFailed as error:
        yield Finding(f"The mail server can't be used: {error}", advise(transport, error))


def check_outbox_mail() -> Iterator[Finding]:
    """Look for mail that was given up, that is tried in vain, or that nobody sends."""
    waiting = check_waiting()
    if not waiting.is_ok:
        yield Finding(
            f"Mail does not leave: {waiting.detail}.",
            "Is `testimonials serve` running? Its log says what fails.",
        )
    for state, words in ((MailState.FAILED, "given up"), (MailState.QUEUED, "refused so far")):
        rows = db.session.execute(
            select(OutboxMail.last_error, func.count())
            .where(OutboxMail.state == state, OutboxMail.last_error.is_not(None))
            .group_by(OutboxMail.last_error)
            .order_by(func.count().desc())
        ).all()
        for row in rows[:MOST_REASONS]:
            yield Finding(
                f"{row[1]} mail(s) {words}: {scrub(str(row[0]))}",
                "Mend the reason, then: testimonials mail retry. `mail list` shows which they are.",
            )


def check_urls() -> Iterator[Finding]:
    """Ask for this instance under its own addresses, as the world does."""
    settings = current_settings()
    yield from _check_url("BASE_URL", settings.base_url)
    if settings.app_url != settings.base_url:
        yield from _check_url("APP_URL", settings.app_url)


def _check_url(name: str, origin: str) -> Iterator[Finding]:
    try:
        answer = _ask(f"{origin}/healthz")
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        yield Finding(
            f"{name} ({origin}) does not answer: {' '.join(str(reason).split())[:200]}",
            "Is `testimonials serve` running, does DNS lead here, and does the proxy pass it on?",
        )
        return
    if answer.body.get("instance") != instance_mark():
        yield Finding(
            f"Something else answers at {name} ({origin}).",
            "Check the address, DNS and the proxy. With several hosts: do all have the same "
            f"{PREFIX}SECRET_KEY?",
        )
        return
    yield from _check_proxies(name, origin, answer.body)
    try:
        difference = parsedate_to_datetime(answer.date) - clock.now()
    except ValueError:
        return
    if abs(difference) > CLOCK_DIFFERENCE:
        yield Finding(
            f"The clock at {name} and the one here differ: here it is {iso(clock.now())}.",
            "Let all machines be set by the network: timedatectl set-ntp true",
        )


def _check_proxies(name: str, origin: str, seen: dict[str, Any]) -> Iterator[Finding]:
    trusted = current_settings().trusted_proxies
    count = seen.get("proxies", 0)
    if count > trusted:
        yield Finding(
            f"A request to {name} passes {count} proxies that name the visitor, and "
            f"TRUSTED_PROXIES is {trusted}: all visitors share a proxy's address and limits.",
            f"Set {PREFIX}TRUSTED_PROXIES to {count}.",
        )
    elif count < trusted and not is_loopback(origin):
        yield Finding(
            f"A request to {name} passes {count} proxies that name the visitor, and "
            f"TRUSTED_PROXIES is {trusted}: visitors can give a wrong address.",
            f"Set {PREFIX}TRUSTED_PROXIES to {count}, or let each proxy append X-Forwarded-For.",
        )
    elif origin.startswith("https:") and seen.get("scheme") == "http":
        yield Finding(
            f"{name} is https, and the service sees http: it sends no Strict-Transport-Security.",
            "Let the proxy set X-Forwarded-Proto, and set TRUSTED_PROXIES.",
        )


def _ask(url: str) -> _Answer:
    """GET a JSON object; raises `OSError`, `HTTPException` and `ValueError`."""
    headers = {"User-Agent": "testimonials-doctor", "Accept": "application/json"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s), by the settings
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            body = json.loads(answer.read(MOST_BYTES))
            date = answer.headers.get("Date", "")
    except urllib.error.HTTPError as error:
        with error:
            raise ValueError(f"it answers {error.code}") from None
    return _Answer(body if isinstance(body, dict) else {}, date)
