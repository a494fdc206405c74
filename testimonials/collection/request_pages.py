"""The pages that a mailed request links to, except the form itself.

A GET changes nothing, since mail scanners open links; mail programs send the one-click POST
themselves (RFC 8058).
"""

from functools import partial

from flask import Response, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import delete, update

from testimonials.collection import request_mail
from testimonials.collection.models import MailedRequest, UnsubscribedAddress
from testimonials.collection.page_data import describe_page
from testimonials.collection.submission import LONGEST_TOKEN
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import collection
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project, lock_account

LINK_GONE = gettext_noop(
    "The account that asked you was deleted. You won’t get more email from it."
)


class InvitationForm(FormSchema):
    """The token of a mailed link."""

    invitation = Text(LONGEST_TOKEN)


# These two are called by the page's script.


@collection.post("/<slug>/opened")
def note_opened(slug: str) -> ResponseReturnValue:
    """Store that a mailed link was opened."""
    return _note(slug, "opened_at")


@collection.post("/<slug>/started")
def note_started(slug: str) -> ResponseReturnValue:
    """Store that somebody began to write after opening a mailed link."""
    return _note(slug, "started_at")


def _note(slug: str, column: str) -> Response:
    project = find_public_project(slug=slug)
    sent = InvitationForm().read(request.form).values
    asked = request_mail.find_request(sent.get("invitation") or "", project.id)
    if asked is not None and getattr(asked, column) is None:
        with write(partial(request_mail.lock_request, asked)) as asked:
            if asked is not None:
                now = clock.now()
                asked.opened_at = asked.opened_at or now
                setattr(asked, column, getattr(asked, column) or now)
    return Response(status=204)


@collection.get("/requests/<token>/<any(decline,unsubscribe):answer>")
def show_answer(token: str, answer: str) -> ResponseReturnValue:
    asked, project = request_mail.read_answer_token(token)
    return _page(asked, project, token, answer, is_done=False)


@collection.post("/requests/<token>/<any(decline,unsubscribe,subscribe):answer>")
def take_answer(token: str, answer: str) -> ResponseReturnValue:
    act = {"decline": decline, "unsubscribe": unsubscribe, "subscribe": subscribe_again}[answer]
    with write(partial(request_mail.read_answer_token, token)) as (asked, project):
        act(asked)
    return _page(asked, project, token, answer, is_done=True)


def _page(
    asked: request_mail.Asked, project: Project | None, token: str, answer: str, *, is_done: bool
) -> Response:
    page = render_template(
        "collection/requests/request.html",
        **(describe_page(project) if project else {"project": None}),
        answer=answer,
        is_done=is_done,
        is_unsubscribed=is_unsubscribed(asked),
        token=token,
    )
    return answer_privately(page)


def decline(asked: request_mail.Asked) -> None:
    """Store that somebody doesn't want to write, and cancel the reminder."""
    request = db.session.get(MailedRequest, asked.request_id, with_for_update=True)
    if request is not None and request.answered_at is None:
        request.declined_at = request.declined_at or clock.now()
        request.next_mail_at = None


def is_unsubscribed(asked: request_mail.Asked) -> bool:
    return db.session.get(UnsubscribedAddress, (asked.account_id, asked.email_hash)) is not None


def unsubscribe(asked: request_mail.Asked) -> None:
    """Stop all requests from the account to the address."""
    _lock_account(asked)
    if is_unsubscribed(asked):
        return
    db.session.add(UnsubscribedAddress(account_id=asked.account_id, email_hash=asked.email_hash))
    own = update(MailedRequest).where(MailedRequest.email_hash == asked.email_hash)
    db.session.execute(own.values(next_mail_at=None))


def subscribe_again(asked: request_mail.Asked) -> None:
    """Let the account send requests to the address again; send those that were held back."""
    _lock_account(asked)
    gone, row = UnsubscribedAddress, MailedRequest
    is_own = (gone.account_id == asked.account_id, gone.email_hash == asked.email_hash)
    db.session.execute(delete(gone).where(*is_own))
    unsent = update(row).where(row.email_hash == asked.email_hash, row.sent_at.is_(None))
    waiting = unsent.where(row.answered_at.is_(None), row.declined_at.is_(None))
    db.session.execute(waiting.values(next_mail_at=clock.now()))


def _lock_account(asked: request_mail.Asked) -> None:
    try:
        lock_account(asked.account_id)
    except NotFound:
        raise NotFound(LINK_GONE) from None
