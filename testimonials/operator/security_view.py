"""Refused sign-ins and the like on the whole instance, and the limits that somebody has hit."""

from dataclasses import dataclass
from typing import Any

from flask import url_for
from sqlalchemy import select

from testimonials.activity.event_types import EventType
from testimonials.activity.sentences import write_sentence
from testimonials.activity.services import EventFilter, list_events
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.data.rate_limit_counters import RateLimitCounter
from testimonials.extensions import db
from testimonials.settings.current import current_settings

PAGE_SIZE = 50
SUBJECTS = {
    "session", "password", "key", "address", "passkey", "app", "code", "codes", "sign_in",
    "company", "account", "member", "texts",
}  # fmt: skip
# Somebody signing in or out is nothing to look at.
USUAL = {EventType.SESSION_STARTED, EventType.SESSION_ENDED}
TYPES = [each for each in EventType if each.partition(".")[0] in SUBJECTS and each not in USUAL]


@dataclass(frozen=True)
class HitLimit:
    """One limit, how many keys are over it now, and until when the last of them waits."""

    scope: str
    per_hours: str
    keys: int
    requests: int


def list_security_events(before: str) -> dict[str, Any]:
    """Return a page of events, newest first, with the addresses of the accounts."""
    wanted = EventFilter(types=TYPES, before=before if is_identifier(before) else "")
    events = list(list_events(wanted, PAGE_SIZE + 1))
    shown = events[:PAGE_SIZE]
    ids = {each.account_id for each in shown} | {each.actor_name for each in shown}
    query = select(Account.id, Account.email).where(Account.id.in_(ids - {None}))
    people = {row[0]: row[1] for row in db.session.execute(query)}
    rows = [
        {
            "time": each.created_at,
            "sentence": write_sentence(each, people, {}),
            "account": people.get(each.account_id or ""),
            "account_id": each.account_id,
        }
        for each in shown
    ]
    is_last = len(events) <= PAGE_SIZE
    older = None if is_last else url_for("operator.show_security", before=shown[-1].id)
    return {"rows": rows, "older_url": older}


def list_limits() -> list[HitLimit] | None:
    """Return the limits that are hit now, or None where Redis counts.

    A counter's key is `LIMITER/scope/whom/amount/multiple/hour`; whom it counts isn't shown.
    """
    if current_settings().ratelimit_storage_url:
        return None
    now = clock.now().timestamp()
    query = select(RateLimitCounter).where(RateLimitCounter.expires_at > now)
    hit: dict[tuple[str, str], list[int]] = {}
    for row in db.session.scalars(query.execution_options(yield_per=500)):
        parts = row.key.split("/")
        if len(parts) < 5 or not parts[-3].isdigit() or row.hits < int(parts[-3]):
            continue
        hours = "hour" if parts[-2] == "1" else f"{parts[-2]} hours"
        hit.setdefault((parts[1], f"{parts[-3]} in {hours}"), []).append(row.hits)
    return [
        HitLimit(scope, per, len(hits), sum(hits)) for (scope, per), hits in sorted(hit.items())
    ]
