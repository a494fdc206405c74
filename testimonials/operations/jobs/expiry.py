"""What is swept when its time has passed."""

import logging
from collections.abc import Callable
from datetime import timedelta

from testimonials.activity.services import delete_old_events, forget_networks
from testimonials.auth.billing.services import delete_unlinked_subscriptions
from testimonials.auth.services import delete_expired_accounts, delete_old_former_addresses
from testimonials.auth.sign_in.sessions import delete_expired_sessions
from testimonials.collection.requests.asked_people import delete_old_invitations, is_told_from
from testimonials.core import clock
from testimonials.core.mail.outbox import delete_old_mails
from testimonials.extensions import begin_write, db, let_others_write, limiter
from testimonials.projects.ownership import delete_trashed_projects
from testimonials.projects.team.services import delete_expired_invitations
from testimonials.settings.current import current_settings
from testimonials.testimonials.moderation.services import empty_trash
from testimonials.testimonials.unused_pictures import delete_unused_images
from testimonials.widget.sightings import delete_old_sightings

logger = logging.getLogger("testimonials")

# Thousands may have come into the trash on one day, and SQLite lets in no other writer while they
# are removed.
MOST_AT_ONCE = 1000

Counts = dict[str, int]


def sweep() -> Counts:
    """Remove what has had its time, or what nothing names any more; commits.

    Gives how much of each kind was removed.
    """
    begin_write()
    removed = _remove(_begin_anew)
    db.session.commit()
    removed["rateLimits"] = limiter.remove_expired()
    if removed["accounts"]:
        logger.info("removed %s unclaimed account(s) past their days", removed["accounts"])
    return removed


def preview() -> Counts:
    """Return how much of each kind `sweep` would remove now, and keep all of it."""
    begin_write()
    removed = _remove(lambda: None)
    db.session.rollback()
    return removed | {"rateLimits": limiter.count_expired()}


def _remove(go_on: Callable[[], None]) -> Counts:
    """Remove what there is of each kind; `go_on` is called wherever there may be more."""
    removed = {}
    for kind, remove in KINDS.items():
        removed[kind] = count = remove()
        while count >= MOST_AT_ONCE:
            go_on()
            count = remove()
            removed[kind] += count
    return removed


def _begin_anew() -> None:
    """End the transaction of what was removed until now, and begin another a little later."""
    db.session.commit()
    let_others_write()
    begin_write()


def _empty_trash() -> int:
    return empty_trash(MOST_AT_ONCE)


def _delete_old_mails() -> int:
    before = clock.now() - timedelta(days=current_settings().mail_days)
    return delete_old_mails(db.session(), before, is_told_from())


def _delete_old_events() -> int:
    before = clock.now() - timedelta(days=current_settings().activity_days)
    return delete_old_events(before, MOST_AT_ONCE)


def _forget_networks() -> int:
    return forget_networks(MOST_AT_ONCE)


# In this order: what goes with an account or a project is not counted again.
KINDS: dict[str, Callable[[], int]] = {
    "accounts": delete_expired_accounts,
    "projects": delete_trashed_projects,
    "testimonials": _empty_trash,
    "sessions": delete_expired_sessions,
    "formerAddresses": delete_old_former_addresses,
    "teamInvitations": delete_expired_invitations,
    "askedPeople": delete_old_invitations,
    "mails": _delete_old_mails,
    "websites": delete_old_sightings,
    "events": _delete_old_events,
    "networks": _forget_networks,
    "subscriptions": delete_unlinked_subscriptions,
    # The last: what was removed before named pictures.
    "images": delete_unused_images,
}
