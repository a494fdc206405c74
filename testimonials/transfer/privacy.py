"""Everything that is stored about one person, as JSON."""

from typing import Any

from sqlalchemy import select, true

from testimonials.auth.models import Account, AuthenticatorApp, CompanyIdentity, Passkey
from testimonials.collection.author_erasure import (
    begin_person,
    describe_written,
    is_written_by,
    proposes,
    remembers,
)
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core.audit import Event
from testimonials.core.db.engine import list_columns, write_columns
from testimonials.core.event_lists import list_events
from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from testimonials.projects.models import Project, Proposal, TeamInvitation
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.archives.writing import describe_account, describe_rows, find_rows

# The texts of emails are left out: they contain working links until they are sent and emptied.
MAIL_COLUMNS = ["purpose", "subject", "sender_name", "state", "created_at", "sent_at"]
PASSKEY_COLUMNS = ["name", "is_synced", "added_at", "used_at"]
APP_COLUMNS = ["added_at", "codes_made_at"]
EVENT_COLUMNS = ["type", "network", "times", "created_at"]
BATCH_COLUMNS = ["subject", "message", "language"]


def describe_person(email: str) -> dict[str, Any]:
    app = AuthenticatorApp
    query = select(Account, app).outerjoin(app, app.account_id == Account.id)
    account = db.session.execute(query.where(Account.email == email)).one_or_none()
    # Only hashes of these addresses are stored.
    rows = find_rows(UnsubscribedAddress, true())
    return begin_person(email) | {
        "testimonials": [
            describe_written(row) for row in find_rows(Testimonial, is_written_by(email))
        ],
        "requests": [
            _describe_request(row) for row in find_rows(MailedRequest, MailedRequest.email == email)
        ],
        # Changes that replaced this address.
        "remembered": describe_rows(Event, remembers(email), ["testimonial_id", "created_at"]),
        "proposals": describe_rows(Proposal, proposes(email), ["project_id", "kind", "created_at"]),
        "mails": describe_rows(OutboxMail, OutboxMail.recipient == email, MAIL_COLUMNS),
        "unsubscribedFrom": [
            row.account_id for row in rows if row.email_hash == hash_email(row.account_id, email)
        ],
        "teamInvitations": describe_rows(TeamInvitation, TeamInvitation.email == email),
        "account": _describe_account(*account) if account else None,
    }


def count_found(described: dict[str, Any]) -> dict[str, int]:
    lists = {name: len(value) for name, value in described.items() if isinstance(value, list)}
    return lists | {"account": int(described["account"] is not None)}


def _describe_request(row: MailedRequest) -> dict[str, Any]:
    batch = db.session.get_one(RequestBatch, row.batch_id)
    project = db.session.get_one(Project, row.project_id)
    columns = [
        name for name in list_columns(MailedRequest) if name not in ("email_hash", "mail_id")
    ]
    return (
        write_columns(row, columns)
        | {"project": {"id": project.id, "slug": project.slug, "name": project.name}}
        | write_columns(batch, BATCH_COLUMNS)
    )


def _describe_account(account: Account, app: AuthenticatorApp | None) -> dict[str, Any]:
    own = account.id
    described = describe_account(account)
    omitted = ("format", "version", "program", "exportedAt")
    return {name: value for name, value in described.items() if name not in omitted} | {
        "passkeys": describe_rows(Passkey, Passkey.account_id == own, PASSKEY_COLUMNS),
        "authenticatorApps": [write_columns(app, APP_COLUMNS)] if app else [],
        "companyIdentities": describe_rows(CompanyIdentity, CompanyIdentity.account_id == own),
        "activity": [
            write_columns(each, EVENT_COLUMNS) | {"details": each.facts}
            for each in list_events(account_id=own)
        ],
    }
