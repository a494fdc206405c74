"""The frame of every write of the API: Idempotency-Key, If-Match, dry run, commit."""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import Response, abort, request
from sqlalchemy import LargeBinary, String, delete, select, tuple_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, insert_into, present
from testimonials.core.extensions import db
from testimonials.core.http.answers import (
    Answer,
    answer_bytes,
    dump_json,
    dump_matched,
    is_among,
    is_dry_run,
    make_etag,
    wrap,
)
from testimonials.core.http.errors import ServiceError, ValidationFailed

# Answers of writes that carried an Idempotency-Key, kept for a day to be given again.

KEPT = timedelta(hours=24)


class IdempotencyKey(Base):
    """One key of one caller, with the answer that it got; written with what it did."""

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # A hash of method, path and body: the same key for something else is refused.
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    # Empty: the answer held a secret, or was forgotten.
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


def take_key(session: Session, owner: str, key: str, fingerprint: str) -> IdempotencyKey | None:
    """Take a key for the call that this transaction carries out, or return the call that had it.

    PostgreSQL waits for a transaction that took the key just now. SQLite lets nobody else write.
    """
    now = clock.now()
    values = {"fingerprint": fingerprint, "status": 0, "body": b"", "created_at": now}
    taken = session.execute(
        insert_into(session, IdempotencyKey, owner=owner, key=key, **values)
        .on_conflict_do_update(
            index_elements=["owner", "key"],
            set_=values,
            where=IdempotencyKey.created_at <= now - KEPT,
        )
        .returning(IdempotencyKey.key)
    ).all()
    return None if taken else session.get(IdempotencyKey, (owner, key))


def forget_answers(session: Session, account_id: str) -> None:
    """Empty the answers kept for an account: what was erased could be in them.

    The keys stay, so that a repeat doesn't make again what was erased.
    """
    own = IdempotencyKey.owner.startswith(f"{account_id}.")
    session.execute(update(IdempotencyKey).where(own).values(body=b""))


def delete_old_keys(session: Session, limit: int) -> int:
    """Delete at most `limit` keys that are no longer valid; return how many."""
    name = tuple_(IdempotencyKey.owner, IdempotencyKey.key)
    old = select(*name).where(IdempotencyKey.created_at <= clock.now() - KEPT).limit(limit)
    deletion = delete(IdempotencyKey).where(name.in_(old)).returning(IdempotencyKey.key)
    return len(session.scalars(deletion).all())


# What callers may ask of every write: that it is done once (Idempotency-Key), only if nothing has
# changed (If-Match), or not at all (``dryRun``).

KEY_HEADER = "Idempotency-Key"
# What an answer with a secret holds that a dry run has not made.
SECRET_FIELDS = {"accountId", "apiKey", "secret", "token"}

# Bare, or a string of RFC 8941.
KEY_PATTERN = r'[!#-~](?:[ -~]{0,253}[!-~])?|"(?:[ !#-\[\]-~]|\\["\\]){1,255}"'


class PreconditionFailed(ServiceError):
    status = 412
    meaning = "The resource was changed since you read it. Nothing was changed now."
    remedy = "Read it again, and repeat the change with its new `ETag` in `If-Match`."


class KeyReused(ServiceError):
    status = 422
    code = "IDEMPOTENCY_KEY_REUSED"
    meaning = "The Idempotency-Key was used for another call within 24 hours."
    remedy = "Use a new key for each call, and the same key only to repeat one."
    default_message = (
        "This Idempotency-Key was used for another call within the last 24 hours: method, path or "
        "body differ. Nothing was changed. Use a new key for each call, and the same key only to "
        "repeat a call."
    )


class AnswerNotKept(ServiceError):
    status = 409
    meaning = "The call was carried out before; its answer held a secret or was erased since."
    remedy = "Read what was made, and have its secret replaced if you don't have it."
    default_message = (
        "This call was carried out with this Idempotency-Key already, and not a second time now. "
        "Its answer isn’t kept: it held a secret, which is shown only once, or something that its "
        "author erased. Read what is there; if you don’t have the secret, let it be replaced."
    )


@dataclass(frozen=True)
class Once:
    """The Idempotency-Key of a write: whose, and for which call; without a key nothing is kept."""

    owner: str = ""
    key: str = ""
    fingerprint: str = ""

    @classmethod
    def of(cls, caller: Any, sent: Any) -> "Once":
        """Return that of this request with the body `sent`. Raises `ValidationFailed`."""
        key = _read_key()
        if not key or is_dry_run():
            return cls()
        # A token doesn't get answers that were meant for another one.
        return cls(f"{caller.id}.{caller.token_id or ''}", key, _fingerprint(sent))

    def take(self) -> None:
        """Take the key in this transaction.

        If it was used for the same call, the request ends here: that answer is given again. Raises
        `KeyReused` and `AnswerNotKept`.
        """
        found = self.key and take_key(db.session(), self.owner, self.key, self.fingerprint)
        if not found:
            return
        if found.fingerprint != self.fingerprint:
            raise KeyReused
        if not found.body:
            raise AnswerNotKept
        etag = make_etag(dump_matched(json.loads(found.body)["data"]))
        response = answer_bytes(found.body, etag=etag)
        response.status_code = found.status
        response.headers["Idempotent-Replayed"] = "true"
        abort(response)

    def end_batch(self) -> None:
        """Commit a part of what the call changes; a dry run takes it back.

        The key is taken anew in the next: a call that was interrupted can be repeated and goes on,
        and if another with the key was done first, the request ends with its answer.
        """
        if is_dry_run():
            db.session.rollback()
            return
        if self.key:
            db.session.execute(delete(IdempotencyKey).filter_by(owner=self.owner, key=self.key))
        db.session.commit()

    def answer(self, made: Answer, *, is_secret: bool = False) -> Response:
        """Return the response, kept with what the call changed; a dry run takes that back."""
        message, data, status = made
        if is_dry_run() and is_secret:
            data = {name: value for name, value in data.items() if name not in SECRET_FIELDS}
        written = dump_json(data)
        # By MCP there is no header to tell.
        said = f"Dry run, nothing was changed: {message}" if is_dry_run() else message
        envelope = wrap(said, written)
        etag = "" if is_secret else make_etag(dump_matched(data, written))
        response = answer_bytes(envelope, etag=etag, is_secret=is_secret)
        response.status_code = status
        if is_dry_run():
            db.session.rollback()
            response.headers["X-Dry-Run"] = "true"
        elif self.key:
            row = update(IdempotencyKey).filter_by(owner=self.owner, key=self.key)
            db.session.execute(row.values(status=status, body=b"" if is_secret else envelope))
        return response


def require_match(data: Any) -> None:
    """Raise `PreconditionFailed` unless the resource is what If-Match names, or there is none.

    `data` is the resource as its GET answers it, before the change.
    """
    header = request.headers.get("If-Match", "").strip()
    etag = make_etag(dump_matched(data))
    if header and not is_among(etag, header):
        raise PreconditionFailed(
            f"This was changed since you read it: its ETag is {etag} now, and If-Match names "
            f"another. Nothing was changed. Read it again, and repeat your change with that ETag, "
            "quotation marks included.",
            headers={"ETag": etag},
        )


def refuse_match() -> None:
    """Raise `PreconditionFailed` for an If-Match that nothing can be compared with."""
    if request.headers.get("If-Match", "").strip():
        raise PreconditionFailed(
            "There is no single resource here that If-Match could be compared with. Nothing was "
            "changed. Leave that header out."
        )


def _read_key() -> str:
    """Return the Idempotency-Key, without its quotation marks; "" without one."""
    header = request.headers.get(KEY_HEADER)
    if header is None:
        return ""
    key = header.strip()
    if not re.fullmatch(KEY_PATTERN, key):
        rule = "Must have 1 to 255 ASCII characters, bare or as a quoted string."
        raise ValidationFailed.of({KEY_HEADER: [rule]})
    return re.sub(r"\\(.)", r"\1", key[1:-1]) if key.startswith('"') else key


def _fingerprint(sent: Any) -> str:
    """Return a hash of what the call asks for, however its JSON is written."""
    if isinstance(sent, bytes):
        sent = hashlib.sha256(sent).hexdigest()
    asked = [request.method, request.path, sorted(request.args.items()), sent]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
