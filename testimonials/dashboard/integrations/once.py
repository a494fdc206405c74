"""Forms whose answer shows a secret: to reload the page must not make another one."""

from flask import request

from testimonials.core.data.idempotency import take_key
from testimonials.core.data.identifiers import is_identifier
from testimonials.extensions import db


def is_repeated(account_id: str) -> bool:
    """Return whether this form was sent before; note in this transaction that it was sent.

    Its field `once` tells one page with it from the next.
    """
    once = request.form.get("once", "")
    if not is_identifier(once):
        return False
    return take_key(db.session(), f"form:{account_id}", once, "") is not None
