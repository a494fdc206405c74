"""Links in mails that decide about one testimonial without signing in.

Whoever chose them gets one with each testimonial in a notification. It works for a week, once, and
only for what the mail showed: any change of the testimonial ends it.
"""

from datetime import timedelta

from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.http.urls import link_url
from testimonials.projects.access import Access, Right, RoleTooLow, StrongSignInNeeded, find_access
from testimonials.projects.notifications import find_choice
from testimonials.testimonials.models import Testimonial

LINK_LIFETIME = timedelta(days=7)

decision_purpose = TokenPurpose("decide")


class DecisionLinkInvalid(ServiceError):
    """The link is incomplete, or its person no longer looks after the project or wants links."""

    status = 404
    code = "DECISION_LINK_INVALID"
    default_message = gettext_noop(
        "It is incomplete, or you no longer look after its project, or no longer want such links."
    )


class DecisionLinkExpired(DecisionLinkInvalid):
    status = 410
    code = "DECISION_LINK_EXPIRED"
    default_message = gettext_noop(
        "It worked for seven days. What it was about may still wait in your inbox."
    )


class DecisionLinkUsed(DecisionLinkInvalid):
    status = 410
    code = "DECISION_LINK_USED"
    default_message = gettext_noop(
        "It works once, and only for what the mail showed: since then somebody decided about the "
        "testimonial, or its author changed it or took it back."
    )


def make_decision_url(row: Testimonial, account_id: str) -> str:
    """Return the URL with which this person can decide about the testimonial as it is now."""
    seen = clock.to_milliseconds(row.updated_at)
    token = decision_purpose.sign([row.project_id, row.id, account_id, seen])
    # The id tells which mails name a testimonial that its author deletes.
    return link_url("decide", f"{row.id}.{token}")


def find_decision(token: str, *, for_update: bool = False) -> tuple[Access, Testimonial]:
    """Return the person with their access now, and the testimonial of a link.

    The project is locked if asked for. Raises `DecisionLinkInvalid` or a subclass.
    """
    named, _, signed = token.partition(".")
    try:
        (project_id, testimonial_id, account_id, seen), _ = decision_purpose.read(
            signed, int(LINK_LIFETIME.total_seconds())
        )
    except TokenExpired:
        raise DecisionLinkExpired from None
    except (TokenInvalid, TypeError, ValueError):
        raise DecisionLinkInvalid from None
    if named != testimonial_id:
        raise DecisionLinkInvalid
    access = _find_access(account_id, project_id, for_update=for_update)
    row = db.session.get(Testimonial, testimonial_id)
    if row is None or row.project_id != project_id:
        raise DecisionLinkUsed
    is_open = row.status == "pending" and row.deleted_at is None
    if not is_open or clock.to_milliseconds(row.updated_at) != seen:
        raise DecisionLinkUsed
    return access, row


def _find_access(account_id: str, project_id: str, *, for_update: bool) -> Access:
    account = db.session.get(Account, account_id)
    if account is None or not account.is_claimed:
        raise DecisionLinkInvalid
    user = SignedIn("", account.id, account.email, None, account.display_name)
    # Who no longer wants such links ends those that were mailed.
    if not find_choice(account_id, project_id).decides_by_mail:
        raise DecisionLinkInvalid
    try:
        return find_access(user, project_id, Right.DECIDE, for_update=for_update)
    except (NotFound, RoleTooLow, StrongSignInNeeded):
        raise DecisionLinkInvalid from None
