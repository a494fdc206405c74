"""Handing a project over: one of its admins becomes the owner, once they accept."""

from datetime import timedelta

from sqlalchemy import delete, func, select, update

from testimonials.auth.models import Account
from testimonials.auth.tokens import revoke_tokens_for
from testimonials.collection.models import (
    MailedRequest,
    UnsubscribedAddress,
    hash_email,
    is_unsubscribed,
)
from testimonials.collection.verified_purchases import renew_secret
from testimonials.core import clock
from testimonials.core.db.engine import insert_if_missing
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.late import Signal
from testimonials.projects.access import ROLES, Access, Role
from testimonials.projects.models import Member, OwnershipOffer, Project, TeamInvitation
from testimonials.projects.projects import (
    count_projects,
    lock_account,
    mark_edited,
    project_limit_of,
)
from testimonials.projects.team import find_member, is_at, list_members, set_role, settle_roles
from testimonials.testimonials.media.recordings import find_account_share
from testimonials.testimonials.models import Recording

LIFETIME = timedelta(days=7)

# Sent with a project that has a new owner, and the time until which its old purchase secret works.
handed_over = Signal()


class CannotReceive(ServiceError):
    """The account has no room for the project."""

    status = 409
    title = gettext_noop("Your account has no room for this project")


def find_offer(project: Project) -> OwnershipOffer | None:
    """Return the project's offer that can still be answered."""
    query = select(OwnershipOffer).where(
        OwnershipOffer.project_id == project.id,
        # Offers of former owners are void.
        OwnershipOffer.owner_id == project.account_id,
        OwnershipOffer.expires_at > clock.now(),
    )
    return db.session.scalars(query).one_or_none()


def find_own_offer(access: Access) -> OwnershipOffer | None:
    offer = find_offer(access.project)
    return offer if offer is not None and offer.receiver_id == access.user.account_id else None


def offer_project(access: Access, account_id: str, *, keeps_team: bool) -> OwnershipOffer:
    """Offer the locked project to one of its admins for a week, and replace any earlier offer.

    Raises `ValidationFailed` if the account isn't an admin.
    """
    try:
        receiver = find_member(access.project, account_id)
    except NotFound:
        receiver = None
    if receiver is None or receiver.role != Role.ADMIN:
        message = gettext("Choose someone who manages this project.")
        raise ValidationFailed.of({"receiver": [message]})
    withdraw_offer(access.project)
    offer = OwnershipOffer(
        owner_id=access.project.account_id,
        project_id=access.project.id,
        receiver_id=account_id,
        keeps_team=keeps_team,
        expires_at=clock.now() + LIFETIME,
    )
    db.session.add(offer)
    db.session.flush()
    return offer


def withdraw_offer(project: Project) -> None:
    db.session.execute(delete(OwnershipOffer).where(OwnershipOffer.project_id == project.id))


def find_obstacle(project: Project, receiver: Account) -> str | None:
    """Return why the account has no room for the project, or None."""
    limit = project_limit_of(receiver)
    if count_projects(receiver.id) >= limit:
        return gettext(
            "Your account is at its limit of %(limit)s projects. Delete one or get more first.",
            limit=limit,
        )
    share = find_account_share(receiver.id)
    query = select(func.sum(Recording.size)).where(Recording.project_id == project.id)
    size = int(db.session.scalar(query) or 0)
    if size and share.bytes + size > share.limit:
        return gettext("Your account has no room for the recordings of this project.")
    return None


def hand_over(project: Project, receiver: Account, *, keeps_team: bool) -> None:
    """Make the locked account the owner of the locked project; raise `CannotReceive`.

    The page, its address, its host name and the testimonials stay as they are. Access tokens are
    revoked, since they were made for the former owner. Webhooks of people who leave are paused
    until the new owner keeps them, and the purchase secret is renewed; the new owner gets an email
    about it.
    """
    if obstacle := find_obstacle(project, receiver):
        raise CannotReceive(obstacle)
    members = list_members(project)
    withdraw_offer(project)
    revoke_tokens_for(project.id)
    # Also if they stay as an admin, since only an owner may invite admins.
    sent, is_theirs = TeamInvitation, TeamInvitation.invited_by_id == project.account_id
    db.session.execute(delete(sent).where(is_at(sent, project), is_theirs))
    _move_requests(project, receiver.id)
    # External ids are the former owner's, and unique within an account.
    project.account_id, project.external_id = receiver.id, None
    mark_edited(project)
    is_receiver = Member.account_id == receiver.id
    db.session.execute(delete(Member).where(is_at(Member, project), is_receiver))
    names = {role: name for name, role in ROLES.items()}
    for each in members if keeps_team else ():
        set_role(project, each.account_id, names[min(each.role, Role.ADMIN)])
    for each in members:
        settle_roles(each.account_id, Project.id == project.id)
    secret_until = renew_secret(project)
    db.session.flush()
    db.session.refresh(project)
    handed_over.send(project, secret_until=secret_until)


def accept_offer(access: Access, offer: OwnershipOffer) -> None:
    """Make the user the owner of the locked project; raise `CannotReceive`."""
    receiver = lock_account(access.user.account_id)
    hand_over(access.project, receiver, keeps_team=offer.keeps_team)


def delete_expired_offers() -> int:
    """Delete the offers that nobody answered; return how many."""
    return delete_rows(OwnershipOffer, OwnershipOffer.expires_at <= clock.now())


def _move_requests(project: Project, account_id: str) -> None:
    """Hash the addresses of requests for the new owner; unsubscribed people stay unsubscribed."""
    rows = db.session.execute(
        select(MailedRequest.id, MailedRequest.email, UnsubscribedAddress.created_at)
        .outerjoin(UnsubscribedAddress, is_unsubscribed(project.account_id))
        .where(MailedRequest.project_id == project.id)
    ).all()
    for request_id, email, unsubscribed_at in rows:
        email_hash = hash_email(account_id, email)
        if unsubscribed_at is not None:
            key = {"account_id": account_id, "email_hash": email_hash}
            insert_if_missing(db.session(), UnsubscribedAddress, **key, created_at=unsubscribed_at)
        change = update(MailedRequest).where(MailedRequest.id == request_id)
        db.session.execute(change.values(email_hash=email_hash))
