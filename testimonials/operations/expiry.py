"""The sweep, which removes expired data."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from testimonials.analytics.counting import delete_old_insights
from testimonials.auth.accounts import delete_expired_accounts, select_expired_accounts
from testimonials.auth.billing import delete_unowned_subscriptions
from testimonials.auth.oidc.accounts import delete_old_attempts
from testimonials.auth.sessions import delete_expired_sessions
from testimonials.auth.tokens import delete_ended_tokens
from testimonials.collection.abuse import delete_old_reports
from testimonials.collection.requests import delete_old_requests, is_told_from
from testimonials.core import clock
from testimonials.core.db.transactions import next_batch, write
from testimonials.core.event_lists import delete_old_events, forget_networks
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import delete_old_keys
from testimonials.core.http.rate_limits import delete_expired_counters
from testimonials.core.jobs import every
from testimonials.core.mail.outbox import delete_old_mails
from testimonials.core.settings.table import current_settings
from testimonials.integrations.webhooks.log import delete_old_deliveries
from testimonials.projects.invitations import delete_expired_invitations
from testimonials.projects.models import Project
from testimonials.projects.proposals import list_held_pictures
from testimonials.projects.settings import delete_trashed_projects, is_past_grace
from testimonials.testimonials.changes import delete_old_proposals
from testimonials.testimonials.history import remove_some
from testimonials.testimonials.media.uploads import delete_unsent_recordings, remove_orphans
from testimonials.testimonials.moderation import empty_trash
from testimonials.testimonials.testimonials import delete_unused_images
from testimonials.transfer.erasure import delete_old_erasures, learn_files, write_lists
from testimonials.transfer.ownership import delete_expired_offers
from testimonials.transfer.tables.jobs import delete_old_files
from testimonials.widget.sightings import delete_old_sightings

logger = logging.getLogger("testimonials")

# Thousands of rows may expire on one day, and on SQLite nobody else can write while rows are
# removed.
MAX_AT_ONCE = 250

Counts = dict[str, int]


class Kind(NamedTuple):
    """A kind of data: its label, and a function that removes expired rows and counts them."""

    words: str
    remove: Callable[[], int]


@every("sweep")
def sweep() -> Counts:
    """Remove everything that has expired; return how much of each kind."""
    with write():
        # A project may have thousands of testimonials, so these are removed first, in batches.
        for is_gone in (is_past_grace(), Project.account_id.in_(select_expired_accounts())):
            while remove_some(is_gone):
                next_batch()
        learn_files()
        removed = _remove(next_batch)
    remove_orphans()
    write_lists()
    if removed["accounts"]:
        logger.info("removed %s expired unclaimed account(s)", removed["accounts"])
    return removed


def preview() -> Counts:
    """Return how much of each kind `sweep` would remove now."""
    with write():
        removed = _remove(lambda: None)
        db.session.rollback()
    return removed


def _remove(go_on: Callable[[], None]) -> Counts:
    """Remove expired rows; call `go_on` between batches."""
    removed = {}
    for name, kind in KINDS.items():
        removed[name] = count = kind.remove()
        while count >= MAX_AT_ONCE:
            go_on()
            count = kind.remove()
            removed[name] += count
    return removed


def _delete_old_mails() -> int:
    until = clock.expired_until(current_settings().mail_days)
    return delete_old_mails(until, is_told_from())


# In this order, so that what is deleted with an account or a project isn't counted again.
KINDS = {
    "accounts": Kind("expired unclaimed accounts", delete_expired_accounts),
    "projects": Kind("projects deleted more than 7 days ago", delete_trashed_projects),
    "testimonials": Kind("expired testimonials", lambda: empty_trash(MAX_AT_ONCE)),
    "recordings": Kind(
        "recordings that were never sent", lambda: delete_unsent_recordings(MAX_AT_ONCE)
    ),
    "sessions": Kind("expired sessions", delete_expired_sessions),
    "companyAttempts": Kind("visits to the company's sign-in", delete_old_attempts),
    "teamInvitations": Kind("expired invitations", delete_expired_invitations),
    "ownershipOffers": Kind("offers of a project that nobody answered", delete_expired_offers),
    "accessTokens": Kind("access tokens that ended long ago", delete_ended_tokens),
    "subscriptions": Kind(
        "Stripe subscriptions that belong to no account", delete_unowned_subscriptions
    ),
    "askedPeople": Kind("people who never answered a request", delete_old_requests),
    "proposals": Kind(
        "proposals decided long ago or about testimonials that are gone", delete_old_proposals
    ),
    "mails": Kind("old emails in the outbox", _delete_old_mails),
    "deliveries": Kind(
        "deliveries of webhooks that are old or past the last 100",
        lambda: delete_old_deliveries(MAX_AT_ONCE),
    ),
    "importFiles": Kind("files that nobody imported within a day", delete_old_files),
    "websites": Kind("websites that no longer show a widget", delete_old_sightings),
    "reports": Kind("settled reports of abuse", lambda: delete_old_reports(MAX_AT_ONCE)),
    "insights": Kind("old insights", lambda: delete_old_insights(MAX_AT_ONCE)),
    "events": Kind("old events", lambda: delete_old_events(MAX_AT_ONCE)),
    "networks": Kind("networks of old events", lambda: forget_networks(MAX_AT_ONCE)),
    "erasures": Kind("ids of what was erased long ago", delete_old_erasures),
    "idempotencyKeys": Kind("idempotency keys", lambda: delete_old_keys(db.session(), MAX_AT_ONCE)),
    "rateLimits": Kind("rate limit counters", lambda: delete_expired_counters(db.session())),
    # Last, since the other rows refer to pictures.
    "images": Kind("unused pictures", lambda: delete_unused_images(list_held_pictures())),
}
