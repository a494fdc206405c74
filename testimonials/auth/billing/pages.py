"""The webhook for the payment provider's events; it exists only where its secret is set."""

import json
import logging

from flask import Blueprint, Response, jsonify, request

from testimonials.auth.billing.services import apply_event
from testimonials.core.faults import refusing
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

billing = Blueprint("billing", __name__)

logger = logging.getLogger("testimonials.billing")


class EventRefused(ServiceError):
    """The event has no valid, recent signature, or is not an event."""

    code = "EVENT_REFUSED"


@billing.post("/webhooks/stripe")
def take_stripe_event() -> Response:
    """Apply an event from Stripe once Stripe's own library has checked its signature."""
    secret = current_settings().stripe_webhook_secret
    if not secret:
        raise NotFound("There is nothing at this address.")
    raw = request.get_data(cache=False)
    _check_signature(raw, request.headers.get("Stripe-Signature", ""), secret)
    begin_write()
    with refusing(_refuse_event):
        apply_event(json.loads(raw))
    db.session.commit()
    return jsonify({"received": True})


def _check_signature(raw: bytes, header: str, secret: str) -> None:
    # Imported with the first event: most services take no payments.
    from stripe import SignatureVerificationError, Webhook

    # Faults come from signed bodies that are no events.
    with refusing(_refuse_signature, SignatureVerificationError):
        Webhook.construct_event(raw, header, secret)


def _refuse_signature(fault: Exception) -> EventRefused:
    logger.warning("billing: an event was refused: %s", type(fault).__name__)
    return EventRefused("The signature does not match: check STRIPE_WEBHOOK_SECRET and the clock.")


def _refuse_event(fault: Exception) -> EventRefused:
    db.session.rollback()
    logger.warning("billing: an event can't be read: %r", fault)
    return EventRefused("The event can't be read.")
