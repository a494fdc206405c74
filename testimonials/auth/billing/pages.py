"""The webhook for the payment provider's events; it exists only where its secret is set."""

import hashlib
import hmac
import json
import logging
import time

from flask import Blueprint, Response, jsonify, request

from testimonials.auth.billing.services import apply_event
from testimonials.core.faults import refusing
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

billing = Blueprint("billing", __name__)

logger = logging.getLogger("testimonials.billing")
# Stripe's own: an event that is older was recorded by somebody else, or the clocks differ.
TOLERANCE_SECONDS = 300


class EventRefused(ServiceError):
    """The event has no valid, recent signature, or is not an event."""

    code = "EVENT_REFUSED"


@billing.post("/webhooks/stripe")
def take_stripe_event() -> Response:
    """Apply an event from Stripe once its signature was checked."""
    secret = current_settings().stripe_webhook_secret
    if not secret:
        raise NotFound("There is nothing at this address.")
    raw = request.get_data(cache=False)
    if not is_signed(raw, request.headers.get("Stripe-Signature", ""), secret):
        logger.warning("billing: an event was refused: it has no valid, recent signature")
        raise EventRefused(
            "The signature does not match: check STRIPE_WEBHOOK_SECRET and the clock."
        )
    begin_write()
    with refusing(_refuse_event):
        apply_event(json.loads(raw))
    db.session.commit()
    return jsonify({"received": True})


def is_signed(raw: bytes, header: str, secret: str) -> bool:
    """Return whether Stripe signed a body: HMAC with SHA-256 over a recent time, dot and body.

    The header is `t=TIME,v1=SIGNATURE`, with a signature for each secret while one is replaced.
    """
    parts = [each.partition("=")[::2] for each in header.split(",")]
    times = [value for name, value in parts if name == "t"]
    if not times or not times[0].isdecimal() or not times[0].isascii():
        return False
    if int(times[0][:20]) < time.time() - TOLERANCE_SECONDS:
        return False
    signed = times[0].encode() + b"." + raw
    right = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    return any(
        hmac.compare_digest(value.encode("utf-8", "replace"), right)
        for name, value in parts
        if name == "v1"
    )


def _refuse_event(fault: Exception) -> EventRefused:
    db.session.rollback()
    logger.warning("billing: an event can't be read: %r", fault)
    return EventRefused("The event can't be read.")
