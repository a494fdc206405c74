"""Plans and payments: what the payment provider says of subscriptions, and the plan it makes.

Events come in any order, late and more than once. So an event only ever adds what it knows (whose
a customer is; whether a subscription runs, and for which plan), and the plan is worked out anew.
"""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, or_, select, update

from testimonials.activity.actors import Actor, ActorKind
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import add_event
from testimonials.auth.models import Account, BillingSubscription
from testimonials.auth.services import is_live
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import ServiceError
from testimonials.extensions import db
from testimonials.settings.current import current_settings
from testimonials.settings.plans import Plan

logger = logging.getLogger("testimonials.billing")

# A payment that is late is asked for again by the provider; the plan stays until it gives up.
RUNNING = frozenset({"active", "trialing", "past_due"})
ENDED = frozenset({"canceled", "unpaid", "incomplete_expired", "paused"})
SUBSCRIPTION_EVENTS = frozenset(
    {
        "customer.subscription.created",
        "customer.subscription.updated",
        "customer.subscription.deleted",
    }
)
CHECKOUT_EVENT = "checkout.session.completed"
# How long a subscription may wait for the checkout that says whose it is.
UNLINKED_KEPT = timedelta(days=90)
# Any number, the same in every process.
LOCK = 7_264_551


class PlanUnknown(ServiceError):
    code = "PLAN_UNKNOWN"


def find_plan(name: str | None) -> Plan | None:
    """Return the plan with this name, in any case, if the settings still have it."""
    plans = current_settings().plans
    wanted = (name or "").lower()
    return next((plan for plan in plans if plan.name.lower() == wanted), None)


def set_plan(account: Account, name: str | None) -> None:
    """Put the locked account on a plan, or on none; raise `PlanUnknown`."""
    plan = find_plan(name)
    if name is not None and plan is None:
        names = ", ".join(plan.name for plan in current_settings().plans) or "none at all"
        raise PlanUnknown(f"There is no plan {name} in TESTIMONIALS_PLANS; there are: {names}.")
    account.plan = plan.name if plan else None
    account.plan_changed_at = clock.now()


def apply_event(event: dict[str, Any]) -> None:
    """Take in one verified event of Stripe's; others than those of subscriptions say nothing.

    The caller has begun a write. Raises `ValueError` for an event of another shape.
    """
    try:
        kind, subject = event["type"], event["data"]["object"]
        time = datetime.fromtimestamp(int(event["created"]), UTC)
        if kind == CHECKOUT_EVENT:
            _lock()
            _take_checkout(subject, time)
        elif kind in SUBSCRIPTION_EVENTS:
            _lock()
            _take_subscription(kind, subject, time)
    except (KeyError, TypeError, AttributeError, OverflowError, OSError) as error:
        raise ValueError(f"unexpected shape: {error!r}") from None


def delete_unlinked_subscriptions() -> int:
    """Forget the subscriptions that no checkout has given to an account; return how many.

    One that runs on is told of again by its next payment.
    """
    removed = db.session.scalars(
        delete(BillingSubscription)
        .where(
            BillingSubscription.account_id.is_(None),
            BillingSubscription.told_at <= clock.now() - UNLINKED_KEPT,
        )
        .returning(BillingSubscription.id)
    ).all()
    return len(removed)


def _lock() -> None:
    """Apply one event at a time: two that complete each other must see each other.

    SQLite has one writer anyway.
    """
    if db.engine.dialect.name == "postgresql":
        db.session.execute(select(func.pg_advisory_xact_lock(LOCK)))


def _take_checkout(session: dict[str, Any], time: datetime) -> None:
    """Learn which account a customer belongs to."""
    customer, reference = session["customer"], session.get("client_reference_id")
    if session.get("mode") != "subscription" or not customer:
        return
    account = _find_account(reference)
    if account is None:
        logger.warning(
            "billing: checkout %s of customer %s names no account (client_reference_id %s); if "
            "somebody paid for a plan here, run: testimonials accounts set-plan EMAIL PLAN",
            session["id"], customer, _safe(reference),
        )  # fmt: skip
        return
    account.billing_customer = customer
    db.session.execute(
        update(BillingSubscription)
        .where(BillingSubscription.customer == customer)
        .values(account_id=account.id)
    )
    _work_out_plan(account, time)


def _take_subscription(kind: str, subject: dict[str, Any], time: datetime) -> None:
    """Learn whether a subscription runs, and for which plan."""
    is_running = subject["status"] in RUNNING and not kind.endswith(".deleted")
    is_ended = subject["status"] in ENDED or kind.endswith(".deleted")
    known = db.session.get(BillingSubscription, subject["id"])
    if not (is_running or is_ended) or (known is not None and _is_older(known, time, is_ended)):
        return
    account = _find_owner(subject, known)
    plan = _find_plan_of(subject)
    if plan is None and is_running:
        logger.warning(
            "billing: subscription %s of customer %s (account %s) is for the price %s, which is in "
            "no plan; add it to TESTIMONIALS_PLANS and send event again from Stripe's dashboard",
            subject["id"], subject["customer"], account.id if account else "unknown",
            ", ".join(_prices(subject)),
        )  # fmt: skip
        return
    if known is None and plan is None:
        # The end of something that never was a plan here.
        return
    if known is None:
        known = BillingSubscription(id=subject["id"], customer=subject["customer"])
        db.session.add(known)
    known.is_running, known.told_at = is_running, time
    known.plan = plan.name if plan else known.plan
    if account is None:
        logger.warning(
            "billing: subscription %s of customer %s belongs to no account yet; the checkout that "
            "names it may follow, else run: testimonials accounts set-plan EMAIL %s",
            subject["id"], subject["customer"], known.plan,
        )  # fmt: skip
        return
    known.account_id = account.id
    account.billing_customer = account.billing_customer or known.customer
    _work_out_plan(account, time)


def _is_older(known: BillingSubscription, time: datetime, is_ended: bool) -> bool:
    # Times are whole seconds; of two in the same one, the end is the last.
    return time < known.told_at or (time == known.told_at and not known.is_running and not is_ended)


def _work_out_plan(account: Account, time: datetime) -> None:
    """Put the account on the largest plan among its subscriptions that run."""
    db.session.flush()
    names = db.session.scalars(
        select(BillingSubscription.plan).where(
            BillingSubscription.account_id == account.id, BillingSubscription.is_running
        )
    )
    plans = [plan for name in names if (plan := find_plan(name))]
    best = max(plans, key=lambda plan: plan.projects, default=None)
    before, account.plan = account.plan, best.name if best else None
    account.plan_changed_at = max(time, account.plan_changed_at or time)
    if before != account.plan:
        actor, details = Actor(ActorKind.SYSTEM, "Stripe"), {"plan": account.plan or "none"}
        add_event(EventType.PLAN_CHANGED, account.id, None, actor, None, details)
        logger.info(
            "billing: account %s is on plan %s now (was %s)", account.id, account.plan, before
        )


def _find_owner(subject: dict[str, Any], known: BillingSubscription | None) -> Account | None:
    """Return whose a subscription is: by what it says itself, or by its customer."""
    named = _find_account((subject.get("metadata") or {}).get("account"))
    if named is not None:
        return named
    if known is not None and known.account_id:
        return _find_account(known.account_id)
    customer = str(subject["customer"])
    theirs = select(BillingSubscription.account_id).where(BillingSubscription.customer == customer)
    query = select(Account).where(
        or_(Account.billing_customer == customer, Account.id.in_(theirs)), is_live()
    )
    return db.session.scalars(query.order_by(Account.created_at).with_for_update()).first()


def _find_account(reference: object) -> Account | None:
    if not isinstance(reference, str) or not is_identifier(reference):
        return None
    return db.session.scalars(
        select(Account).where(Account.id == reference, is_live()).with_for_update()
    ).one_or_none()


def _prices(subject: dict[str, Any]) -> list[str]:
    return [str(item["price"]["id"]) for item in subject["items"]["data"]]


def _find_plan_of(subject: dict[str, Any]) -> Plan | None:
    prices = set(_prices(subject))
    plans = current_settings().plans
    found = [plan for plan in plans if prices & set(plan.prices)]
    return max(found, key=lambda plan: plan.projects, default=None)


def _safe(reference: object) -> str:
    """Return a reference for the log, unless it isn't one of ours: it could hold an address."""
    is_ours = isinstance(reference, str) and is_identifier(reference)
    return str(reference) if is_ours else "of another form" if reference else "missing"
