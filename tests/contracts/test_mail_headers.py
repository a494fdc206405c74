"""Every kind of mail: who can end it, and that what people type never becomes one of its headers.

The standard library decodes encoded words in what it is given as a header, and some of its releases
write the line breaks in them as they are. So this runs on each Python that is supported.
"""

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from email.header import decode_header, make_header
from email.utils import unquote

import pytest
from flask import Flask
from sqlalchemy import delete, select

from testimonials import create_app
from testimonials.auth import emails
from testimonials.auth.accounts import claim_account, start_account
from testimonials.auth.emails import send_restored_mail, send_suspended_mail
from testimonials.auth.models import Account
from testimonials.cli.delivery import make_test_mail
from testimonials.collection.author_rights import send_author_mail
from testimonials.collection.models import MailedRequest, RequestBatch
from testimonials.collection.request_mail import write_due_mails
from testimonials.core import clock
from testimonials.core.db.migrate import upgrade
from testimonials.core.extensions import db
from testimonials.core.jobs import enqueue
from testimonials.core.mail.outbox import SEND, OutboxMail
from testimonials.core.settings.table import load_settings
from testimonials.integrations.webhooks.endpoints import send_left_mail, send_stopped_mail
from testimonials.operations.backup.creating import BACKUP_JOB, COPY_JOB, mail_failure
from testimonials.projects.models import (
    NotificationChoice,
    OwnershipOffer,
    Project,
    Proposal,
    TeamInvitation,
)
from testimonials.projects.notifications import (
    Reader,
    send_declined_mail,
    send_handed_over_mail,
    send_invitation_mail,
    send_offer_mail,
    send_workspace_invitation_mail,
)
from testimonials.projects.projects import create_project
from testimonials.projects.proposals import notify_of_proposals
from testimonials.testimonials import models
from testimonials.testimonials.new_numbers import send_new_numbers_mail
from testimonials.testimonials.notifications import send_submissions_mail
from testimonials.widget.embed import send_steps_mail
from tests.contracts.test_architecture import PACKAGE, modules
from tests.support.rows import deliver_mail
from tests.support.servers import MailSink, Received

# Each answers what its reader did, or tells of their own account; ending them would do harm.
ANSWERS = {
    "claim": "An agent asked for an account in the reader's name; without the link it ends itself.",
    "signup": "The reader asked for an account.",
    "account-exists": "The reader asked for an account.",
    "reset": "The reader asked for a new password.",
    "proof": "The reader is about to do what needs a confirmation.",
    "email-change": "The reader asked to use this address.",
    "address-changed": "The reader's own account was changed.",
    "suspended": "The reader's own account was changed.",
    "restored": "The reader's own account was changed.",
    "security": "The reader's own account was changed.",
    "ownership-offer": "The owner of a project that the reader is an admin of asks them; once.",
    "ownership-declined": "The reader offered their own project; once.",
    "ownership-taken": "The reader handed their own project over.",
    "new-numbers": "The owner's own average changes; once.",
    "left-behind": "Somebody left the reader's own project, and the reader must decide; once.",
    "webhook-stopped": "The reader's own endpoint was switched off, once.",
    "widget-steps": "Somebody sends it by hand to whoever looks after their website; once.",
    "author-link": "The reader sent a testimonial; the mail itself can say that it wasn't them.",
    "test": "The operator asked for it.",
}
# The operator named their address in the settings. They are called after their job.
OF_JOBS = {f"{job}-failed" for job in (BACKUP_JOB, COPY_JOB)}
# Each comes because somebody else did something, or again and again.
ENDABLE = {"proposals", "submissions", "invitation", "invitation-reminder"}


@dataclass(frozen=True)
class Kind:
    """A purpose, and whether the mail that is built there can be ended in one click."""

    purpose: str
    can_be_ended: bool


def find_kinds() -> Iterator[Kind]:
    for module in modules().values():
        for node in module.nodes:
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            keywords = {keyword.arg: keyword.value for keyword in node.keywords}
            if name == "OutboxMail":
                purpose, can_be_ended = keywords["purpose"], "list_unsubscribe" in keywords
            elif name in ("send_plain_mail", "send_mail", "_send_written"):
                purpose, can_be_ended = node.args[1], "list_unsubscribe" in keywords
            else:
                continue
            for text in texts_of(purpose, f"{PACKAGE}.{module.name}"):
                yield Kind(text, can_be_ended)


def texts_of(node: ast.AST, module: str) -> Iterator[str]:
    """Return every text that an expression may have; of a parameter its callers give it."""
    if isinstance(node, ast.IfExp):
        yield from texts_of(node.body, module)
        yield from texts_of(node.orelse, module)
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.Name) and node.id != "purpose":
        yield getattr(importlib.import_module(module), node.id)


def test_every_kind_of_mail_is_known_and_can_be_ended_where_nobody_asked_for_it():
    kinds = set(find_kinds())
    assert {kind.purpose for kind in kinds} == ANSWERS.keys() | ENDABLE
    assert {kind.purpose for kind in kinds if kind.can_be_ended} == ENDABLE
    assert {kind.purpose for kind in kinds if not kind.can_be_ended} == set(ANSWERS)


HOSTILE = (
    "=?utf-8?q?=0D=0AContent-Type:text/html=0D=0A=0D=0A<b>x</b>?=",
    "X=?utf-8?q?=0D=0ABcc:_evil@example.com?=", "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5jb20=?=",
    "=?utf-8?q?a?= =?utf-8?q?b?= ?= =?", "caf=?utf-8?q?=C3=A9?=",
    'Ünï \u2028\u0085\u202e"<evil@example.com>, b', "日本語の名前" * 10,
    'a"@example.com, <evil@example.com>;:\\',
)  # fmt: skip
# What would turn a line around or break it elsewhere is left out of a subject.
STEERING = dict.fromkeys(map(ord, "\u2028\u0085\u202e"))
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"]
HEADERS += ["MIME-Version", "Content-Type"]
OPTIONAL = ["Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post"]
LINK = "https://testimonials.example.com/claim/abc"
SENDER = "Testimonials <mail@example.com>"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application with one account; nothing here depends on the kind of database."""
    folder = tmp_path_factory.mktemp("mail")
    overrides = {"base_url": "https://testimonials.example.com", "instance_path": str(folder)}
    overrides |= {"operator_email": "operator@example.com", "invitations_per_minute": "1000"}
    app = create_app(load_settings({}, overrides))
    with app.test_request_context():
        upgrade(db.engine)
        access = start_account("owner@example.com")
        assert access is not None
        claim_account(access.account, "no hash")
        db.session.commit()
        yield app
        db.session.remove()
        db.engine.dispose()


def write_every_kind(account: Account, text: str) -> None:
    """Put one mail of each kind into the outbox, `text` being everything that people choose."""
    project = create_project(account.id, {"businessName": text})
    now = clock.now()
    row = models.Testimonial(
        project_id=project.id, status="pending", source="public_page", author_name=text, text=text,
        author_role=text, author_company=text, author_email="author@example.com",
        consent_language="en", submitted_at=now, created_at=now, updated_at=now,
    )  # fmt: skip
    db.session.add(row)
    db.session.flush()
    reader = Reader(account.id, account.email, None, "at_once", None, None)
    joining = TeamInvitation(
        email="new@example.com", role="admin", invited_by=text, expires_at=now + timedelta(days=1)
    )
    emails.send_claim_mail(account, LINK, is_resend=False)
    emails.send_signup_mail(account, LINK)
    emails.send_account_exists_mail(account.email)
    emails.send_reset_mail(account.email, LINK)
    emails.send_proof_mail(account.email, LINK, 15)
    emails.send_email_change_mail("new@example.com", text, LINK)
    emails.send_address_changed_mail(account.email, "new@example.com")
    emails.send_security_mail(account.email, text)
    account.suspended_reason = text
    send_suspended_mail(account)
    send_restored_mail(account)
    send_invitation_mail(project, joining, LINK, text)
    send_workspace_invitation_mail(joining, LINK, text, [text, text])
    offer = OwnershipOffer(expires_at=now + timedelta(days=1))
    send_offer_mail(project, offer, account.email, text)
    send_declined_mail(project, account.email, text)
    send_handed_over_mail(project, account.email, text, is_in=True)
    send_submissions_mail(reader, project, [row], 1)
    send_submissions_mail(reader, project, [row], 2)
    send_author_mail(project, row)
    send_stopped_mail(project, text, text)
    send_left_mail(project, [text], clock.now())
    send_new_numbers_mail(project, account.email, text, now)
    send_steps_mail(project, "", "other", "developer@example.com", account.email)
    for job in (BACKUP_JOB, COPY_JOB):
        mail_failure(job, text, text)
        db.session.flush()
    mail = make_test_mail("operator@example.com")
    db.session.add(mail)
    enqueue(SEND, id=mail.id)
    write_requests(project, text)
    write_proposal(project, text)


def write_proposal(project: Project, text: str) -> None:
    """Tell the owner of a proposal that has waited for a while."""
    before = clock.now() - timedelta(hours=1)
    told = {"told_of_proposals_at": before - timedelta(hours=1)}
    db.session.add(NotificationChoice(project_id=project.id, account_id=project.account_id, **told))
    proposed = {"kind": "page", "values": {"headline": text}, "reason": text, "created_at": before}
    db.session.add(Proposal(project_id=project.id, actor_kind="agent", **proposed))
    db.session.flush()
    assert notify_of_proposals(project, project.account_id)


def write_requests(project: Project, text: str) -> None:
    batch = RequestBatch(
        project_id=project.id, actor=text, subject=text, message=text, language="en", size=1,
        remind_after_days=0,
    )  # fmt: skip
    db.session.add(batch)
    db.session.flush()
    db.session.add(
        MailedRequest(
            project_id=project.id, batch_id=batch.id, email="asked@example.com", email_hash="-",
            name=text, next_mail_at=clock.now(),
        )
    )  # fmt: skip
    db.session.flush()
    assert write_due_mails() == 1
    assert write_due_mails() == 1


def test_what_people_type_is_shown_and_is_no_header(app, smtp, case):
    for text in HOSTILE:
        smtp.received.clear()
        sent = send_every_kind(app, text, smtp)
        assert {mail.purpose for mail in sent.values()} == ANSWERS.keys() | ENDABLE | OF_JOBS
        for received in smtp.received:
            mail = sent[str(received.message["Message-ID"])[1:].partition("@")[0]]
            with case(mail.purpose, ascii(text)):
                check_headers(received, mail)
        assert len(smtp.received) == len(sent)
        # It really went through the subjects, where they hold what somebody typed.
        shown = text.translate(STEERING)[:50]
        assert any(shown in str(received.message["Subject"]) for received in smtp.received)


def send_every_kind(app: Flask, text: str, smtp: MailSink) -> dict[str, OutboxMail]:
    with app.test_request_context():
        db.session.execute(delete(OutboxMail))
        write_every_kind(db.session.scalars(select(Account)).one(), text)
        db.session.commit()
        sent = {mail.id: mail for mail in db.session.scalars(select(OutboxMail))}
        db.session.expunge_all()
        db.session.rollback()
    deliver_mail(app, smtp.url, mail_from=SENDER)
    with app.app_context():
        problems = select(OutboxMail.last_error).where(OutboxMail.state != "sent")
        assert db.session.scalars(problems).all() == []
    return sent


def check_headers(received: Received, mail: OutboxMail) -> None:
    message = received.message
    assert [name for name in message if name not in OPTIONAL] == HEADERS
    assert message["Subject"] == mail.subject.translate(STEERING)
    name, _, address = dict(message.raw_items())["From"].rpartition(" ")
    wanted = (mail.sender_name or "Testimonials").translate(STEERING)
    assert str(make_header(decode_header(unquote(name)))) in (wanted, wanted.strip())
    assert (address, message["To"]) == ("<mail@example.com>", mail.recipient)
    assert received.recipients == [mail.recipient]
    assert message["Reply-To"] == mail.reply_to
    assert (message["List-Unsubscribe"] or "<None>") == f"<{mail.list_unsubscribe}>"
    assert message.get_content_type() == "multipart/alternative"
    parts = [part.get_content_type() for part in message.iter_parts()]
    assert parts == ["text/plain", "text/html"]
