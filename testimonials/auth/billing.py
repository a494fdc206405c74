"""The plans of accounts, as reported by Stripe's webhook."""

import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from flask import Response, jsonify, request
from sqlalchemy import func, or_, select, update

from testimonials.auth.accounts import is_live, lock_where
from testimonials.auth.events import PLAN_CHANGED
from testimonials.auth.models import Account, BillingSubscription
from testimonials.core import clock
from testimonials.core.audit import Actor, ActorKind, record
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import delete_rows, write
from testimonials.core.extensions import db
from testimonials.core.faults import refusing
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.settings.parsers import Plan
from testimonials.core.settings.table import current_settings

# Events may arrive in any order, late, and more than once. So each only stores what it says (whose
# customer it is; whether a subscription runs, and for which plan); then the plan is recalculated.

logger = logging.getLogger("testimonials.billing")

# An account keeps its plan while Stripe retries a payment.
RUNNING = frozenset({"active", "trialing", "past_due"})
ENDED = frozenset({"canceled", "unpaid", "incomplete_expired", "paused"})
SUBSCRIPTION_EVENT = re.compile(r"customer\.subscription\.(created|updated|deleted)")
PROVIDERS_ID = re.compile("[!-~]{1,255}")
CHECKOUT_EVENT = "checkout.session.completed"
# How long an event can be resent from Stripe's dashboard.
RESENDABLE = timedelta(days=30)
# An arbitrary number, the same in every process.
LOCK = 7_264_551


class PlanUnknown(ServiceError):
    pass


def find_plan(name: str | None) -> Plan | None:
    lowered = (name or "").lower()
    return next((plan for plan in current_settings().plans if plan.name.lower() == lowered), None)


def set_plan(account: Account, name: str | None) -> None:
    plan = find_plan(name)
    if name is not None and plan is None:
        names = ", ".join(plan.name for plan in current_settings().plans) or "none"
        raise PlanUnknown(f"There is no plan {name} in TESTIMONIALS_PLANS. Its plans: {names}.")
    account.plan = plan.name if plan else None
    account.plan_changed_at = clock.now()


def apply_event(event: dict[str, Any]) -> None:
    """Apply a verified event, if it is about subscriptions.

    The caller has begun a write, and handles the exceptions that an unexpected event can cause.
    """
    kind, subject = event["type"], event["data"]["object"]
    time = clock.from_milliseconds(int(event["created"]) * 1000)
    # Events are applied one at a time, so that related ones see each other's changes. SQLite has
    # only one writer anyway.
    if db.engine.dialect.name == "postgresql":
        db.session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    if kind == CHECKOUT_EVENT:
        _apply_checkout(subject, time)
    elif SUBSCRIPTION_EVENT.fullmatch(kind):
        _apply_subscription(kind, subject, time)


def _read_id(value: Any) -> str:
    if not isinstance(value, str) or not PROVIDERS_ID.fullmatch(value):
        raise ValueError("an id of an unexpected form")
    return value


def _apply_checkout(session: dict[str, Any], time: datetime) -> None:
    customer, reference = session["customer"], session.get("client_reference_id")
    if session.get("mode") != "subscription" or not customer:
        return
    account = _find_account(reference)
    if account is None:
        logger.warning(
            "billing: checkout %s of customer %s names no account (client_reference_id %s). If it "
            "paid for a plan of this service, run: testimonials accounts set-plan EMAIL PLAN",
            session["id"], customer, _describe_reference(reference),
        )  # fmt: skip
        return
    account.billing_customer = customer = _read_id(customer)
    stored = update(BillingSubscription).where(BillingSubscription.customer == customer)
    db.session.execute(stored.values(account_id=account.id))
    _update_plan(account, time)


def _apply_subscription(kind: str, subject: dict[str, Any], time: datetime) -> None:
    is_running = subject["status"] in RUNNING and not kind.endswith(".deleted")
    is_ended = subject["status"] in ENDED or kind.endswith(".deleted")
    subscription, customer = _read_id(subject["id"]), _read_id(subject["customer"])
    known = db.session.get(BillingSubscription, subscription)
    if not (is_running or is_ended) or (known is not None and _is_older(known, time, is_ended)):
        return
    account = _find_owner(subject, customer, known)
    prices = [str(item["price"]["id"]) for item in subject["items"]["data"]]
    plan = _largest(plan for plan in current_settings().plans if {*prices} & {*plan.prices})
    if plan is None and is_running:
        logger.warning(
            "billing: subscription %s of customer %s (account %s) is for the price %s, which is in "
            "no plan; add it to TESTIMONIALS_PLANS and resend the event from Stripe's dashboard",
            subscription, customer, account.id if account else "unknown",
            ", ".join(prices),
        )  # fmt: skip
        return
    if known is None:
        if plan is None:
            # It has ended, and was never for one of our plans.
            return
        known = BillingSubscription(id=subscription, customer=customer)
        db.session.add(known)
    known.is_running, known.told_at = is_running, time
    known.plan = plan.name if plan else known.plan
    if account is None:
        logger.warning(
            "billing: subscription %s of customer %s belongs to no account yet. Unless a checkout "
            "that names one follows, run: testimonials accounts set-plan EMAIL %s",
            subscription, customer, known.plan,
        )  # fmt: skip
        return
    known.account_id = account.id
    account.billing_customer = account.billing_customer or known.customer
    _update_plan(account, time)


def _is_older(known: BillingSubscription, time: datetime, is_ended: bool) -> bool:
    # Times are in whole seconds. Within one second, the end counts as later.
    return time < known.told_at or (time == known.told_at and not known.is_running and not is_ended)


def _update_plan(account: Account, time: datetime) -> None:
    """Set the account's plan to the largest of its running subscriptions."""
    db.session.flush()
    row = BillingSubscription
    running = select(row.plan).where(row.account_id == account.id, row.is_running)
    names = db.session.scalars(running)
    best = _largest(plan for name in names if (plan := find_plan(name)))
    before, account.plan = account.plan, best.name if best else None
    account.plan_changed_at = max(time, account.plan_changed_at or time)
    if before != account.plan:
        stripe = Actor(ActorKind.SYSTEM, "Stripe")
        record(PLAN_CHANGED, account.id, stripe, plan=account.plan or "none")
        logger.info(
            "billing: account %s is now on plan %s (was %s)", account.id, account.plan, before
        )


def _find_owner(
    subject: dict[str, Any], customer: str, known: BillingSubscription | None
) -> Account | None:
    """Return a subscription's account: as in the event, as stored, or its customer's."""
    named = _find_account((subject.get("metadata") or {}).get("account"))
    if named is not None:
        return named
    if known is not None and known.account_id:
        return _find_account(known.account_id)
    theirs = select(BillingSubscription.account_id).where(BillingSubscription.customer == customer)
    query = select(Account).where(
        or_(Account.billing_customer == customer, Account.id.in_(theirs)), is_live()
    )
    locked = query.order_by(Account.created_at).with_for_update(key_share=True)
    return db.session.scalars(locked).first()


def delete_unowned_subscriptions() -> int:
    """Delete subscriptions that no event named an account for while Stripe could send it again."""
    is_unowned = BillingSubscription.account_id.is_(None)
    is_old = BillingSubscription.told_at <= clock.now() - RESENDABLE
    return delete_rows(BillingSubscription, is_unowned, is_old)


def _find_account(reference: object) -> Account | None:
    if not isinstance(reference, str) or not is_identifier(reference):
        return None
    return lock_where(Account.id == reference, is_live())


def _largest(plans: Iterable[Plan]) -> Plan | None:
    return max(plans, key=lambda plan: plan.projects, default=None)


def _describe_reference(reference: object) -> str:
    # Log nothing that isn't one of our ids, such as somebody's address.
    is_ours = isinstance(reference, str) and is_identifier(reference)
    return str(reference) if is_ours else "of another form" if reference else "missing"


# Stripe's own tolerance: an older event is a replay, or the clocks differ.
TOLERANCE_SECONDS = 300


class EventRefused(ServiceError):
    """The event has no valid, recent signature, or can't be read."""


@auth.post("/webhooks/stripe")
def take_stripe_event() -> Response:
    secret = current_settings().stripe_webhook_secret
    if not secret:
        raise NotFound("There is nothing at this address.")
    raw = request.get_data(cache=False)
    if not is_signed(raw, request.headers.get("Stripe-Signature", ""), secret):
        logger.warning("billing: an event was refused: it has no valid, recent signature")
        raise EventRefused(
            "The signature does not match: check STRIPE_WEBHOOK_SECRET and the clock."
        )
    with write(), refusing(_refuse_event):
        apply_event(json.loads(raw))
    return jsonify({"received": True})


def is_signed(raw: bytes, header: str, secret: str) -> bool:
    """Return whether the header `t=TIME,v1=SIGNATURE` shows that Stripe signed a body recently.

    The signature is an HMAC-SHA-256 of the time, a dot and the body. There may be several, for an
    old and a new secret.
    """
    parts = [each.partition("=")[::2] for each in header.split(",")]
    times = [value for name, value in parts if name == "t"]
    if not times or not times[0].isdecimal() or not times[0].isascii():
        return False
    if int(times[0][:20]) < time.time() - TOLERANCE_SECONDS:
        return False
    signed = times[0].encode() + b"." + raw
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    return any(
        hmac.compare_digest(value.encode("utf-8", "replace"), expected)
        for name, value in parts
        if name == "v1"
    )


def _refuse_event(fault: Exception) -> EventRefused:
    db.session.rollback()
    logger.warning("billing: an event can't be read: %r", fault)
    return EventRefused("The event can't be read.")
