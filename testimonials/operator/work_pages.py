"""The operator's pages about mail that waits, and about backups."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.mail.outbox import drop_mail, list_unsent, retry_mails
from testimonials.dashboard.guards import require_proof
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.state import (
    back_up_now,
    describe_backups,
    drop_old,
    rehearse_now,
)
from testimonials.operator.guards import operator_shell, require_operator

operator_work = Blueprint("operator_work", __name__)

MAIL = "operator_work.show_mail"
BACKUPS = "operator_work.show_backups"
MOST_LISTED = 200


@operator_work.get("/operator/mail")
@require_operator
def show_mail(owner: SignedIn) -> ResponseReturnValue:
    return render_template(
        "operator/mail.html",
        shell=operator_shell(owner, "mail"),
        notice=read_notice(),
        mails=list_unsent(db.session(), MOST_LISTED),
    )


@operator_work.post("/operator/mail/retry")
@require_operator
@require_proof("send waiting mail again", MAIL)
def retry_mail(owner: SignedIn) -> ResponseReturnValue:
    """Queue one mail now, or all of them without an id."""
    begin_write()
    count = retry_mails(db.session(), request.form.get("mail") or None)
    record_event(EventType.MAIL_RETRIED, None, count=count)
    db.session.commit()
    return redirect(add_notice(url_for(MAIL), f"Mails tried again now: {count}"), 303)


@operator_work.post("/operator/mail/drop")
@require_operator
@require_proof("drop a mail", MAIL)
def drop_waiting_mail(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    count = drop_mail(db.session(), request.form.get("mail", ""))
    record_event(EventType.MAIL_DROPPED, None, count=count)
    db.session.commit()
    words = "Dropped. Nobody gets it." if count else "It has left in the meantime."
    return redirect(add_notice(url_for(MAIL), words), 303)


@operator_work.get("/operator/backups")
@require_operator
def show_backups(owner: SignedIn) -> ResponseReturnValue:
    return render_template(
        "operator/backups.html",
        shell=operator_shell(owner, "backups"),
        notice=read_notice(),
        backups=describe_backups(),
        old=drop_old(is_trial=True),
    )


@operator_work.post("/operator/backups/make")
@require_operator
@require_proof("make a backup", BACKUPS)
def make_backup(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    back_up_now()
    record_event(EventType.BACKUP_ASKED, None)
    db.session.commit()
    return redirect(add_notice(url_for(BACKUPS), "It begins within a minute"), 303)


@operator_work.post("/operator/backups/rehearse")
@require_operator
@require_proof("try a restore", BACKUPS)
def rehearse_backup(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    rehearse_now()
    record_event(EventType.REHEARSAL_ASKED, None)
    db.session.commit()
    return redirect(add_notice(url_for(BACKUPS), "It begins within a minute"), 303)


@operator_work.post("/operator/backups/drop")
@require_operator
@require_proof("drop old backups", BACKUPS)
def drop_backups(owner: SignedIn) -> ResponseReturnValue:
    dropped = drop_old()
    begin_write()
    record_event(EventType.BACKUPS_DROPPED, None, count=len(dropped.names))
    db.session.commit()
    return redirect(add_notice(url_for(BACKUPS), f"Dropped: {len(dropped.names)}"), 303)
