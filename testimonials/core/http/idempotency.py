"""What callers of the API may ask of every write: Idempotency-Key, If-Match and dryRun."""

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
from testimonials.core.http import answers
from testimonials.core.http.errors import ServiceError, ValidationFailed

KEPT = timedelta(hours=24)


class IdempotencyKey(Base):
    """A caller's key with the stored answer, written in the transaction of the call."""

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # A hash of method, path and body, since the key is refused for any other call.
    fingerprint: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    # Empty if the answer held a secret or was erased.
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)


def take_key(session: Session, owner: str, key: str, fingerprint: str) -> IdempotencyKey | None:
    """Take a key for this transaction's call, or return the row of the call that used it.

    PostgreSQL waits for a concurrent transaction with the same key; SQLite has only one writer.
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
    """Empty an account's stored answers, which could contain what was erased.

    The keys stay, so that a repeated call doesn't create the same again.
    """
    own = IdempotencyKey.owner.startswith(f"{account_id}.")
    session.execute(update(IdempotencyKey).where(own).values(body=b""))


def delete_old_keys(session: Session, limit: int) -> int:
    """Delete at most `limit` expired keys; return how many."""
    name = tuple_(IdempotencyKey.owner, IdempotencyKey.key)
    old = select(*name).where(IdempotencyKey.created_at <= clock.now() - KEPT).limit(limit)
    deletion = delete(IdempotencyKey).where(name.in_(old)).returning(IdempotencyKey.key)
    return len(session.scalars(deletion).all())


KEY_HEADER = "Idempotency-Key"
# Left out of a dry run's answer, since they aren't created.
SECRET_FIELDS = {"accountId", "apiKey", "secret", "token"}

# A bare key, or a quoted string of RFC 8941.
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
    meaning = "The call was carried out before; its answer contained a secret or was erased since."
    remedy = "Read what was created, and replace its secret if you don't have it."
    default_message = (
        "This call was already carried out with this Idempotency-Key, and was not repeated. "
        "Its answer isn’t kept: it contained a secret, which is shown only once, or something "
        "that its author has erased. Read what was created; if you don’t have the secret, "
        "replace it."
    )


@dataclass(frozen=True)
class IdempotentCall:
    """The Idempotency-Key of a write, if any, with its owner and the call's fingerprint."""

    owner: str = ""
    key: str = ""
    fingerprint: str = ""

    @classmethod
    def of(cls, caller: Any, sent: Any) -> "IdempotentCall":
        """Read the key of this request with the body `sent`. Raises `ValidationFailed`."""
        key = _read_key()
        if not key or answers.is_dry_run():
            return cls()
        # Each token has its own keys, so none gets the answers of another.
        return cls(f"{caller.id}.{caller.token_id or ''}", key, _fingerprint(sent))

    def take(self) -> None:
        """Take the key in this transaction, or abort with the answer of the call that used it.

        Raises `KeyReused` and `AnswerNotKept`.
        """
        row = self.key and take_key(db.session(), self.owner, self.key, self.fingerprint)
        if not row:
            return
        if row.fingerprint != self.fingerprint:
            raise KeyReused
        if not row.body:
            raise AnswerNotKept
        etag = answers.make_etag(answers.dump_matched(json.loads(row.body)["data"]))
        response = answers.answer_bytes(row.body, etag=etag)
        response.status_code = row.status
        response.headers["Idempotent-Replayed"] = "true"
        abort(response)

    def end_batch(self) -> None:
        """Commit a part of the call's changes, or roll it back in a dry run.

        The next part takes the key again. So an interrupted call can be repeated to go on, and one
        that was overtaken by another with the same key ends with the other's answer.
        """
        if answers.is_dry_run():
            db.session.rollback()
            return
        if self.key:
            db.session.execute(delete(IdempotencyKey).filter_by(owner=self.owner, key=self.key))
        db.session.commit()

    def answer(self, made: answers.Answer, *, is_secret: bool = False) -> Response:
        """Return the response and store it with the changes; a dry run rolls them back."""
        message, data, status = made
        if answers.is_dry_run() and is_secret:
            data = {name: value for name, value in data.items() if name not in SECRET_FIELDS}
        content = answers.dump_json(data)
        # MCP shows no headers, so the message says it too.
        message = f"Dry run, nothing was changed: {message}" if answers.is_dry_run() else message
        envelope = answers.wrap(message, content)
        etag = "" if is_secret else answers.make_etag(answers.dump_matched(data, content))
        response = answers.answer_bytes(envelope, etag=etag, is_secret=is_secret)
        response.status_code = status
        if answers.is_dry_run():
            db.session.rollback()
            response.headers["X-Dry-Run"] = "true"
        elif self.key:
            row = update(IdempotencyKey).filter_by(owner=self.owner, key=self.key)
            db.session.execute(row.values(status=status, body=b"" if is_secret else envelope))
        return response


def require_match(data: Any) -> None:
    """Raise `PreconditionFailed` if there is an If-Match that doesn't match the resource.

    `data` is the resource before the change, as its GET returns it.
    """
    header = request.headers.get("If-Match", "").strip()
    etag = answers.make_etag(answers.dump_matched(data))
    if header and not answers.is_among(etag, header):
        raise PreconditionFailed(
            f"This was changed since you read it: its ETag is {etag} now, and If-Match names a "
            "different one. Nothing was changed. Read it again, and repeat your change with "
            "that ETag, "
            "quotation marks included.",
            headers={"ETag": etag},
        )


def refuse_match() -> None:
    """Raise `PreconditionFailed` if there is an If-Match, in a call that can't compare it."""
    if request.headers.get("If-Match", "").strip():
        raise PreconditionFailed(
            "There is no single resource here that If-Match could be compared with. Nothing was "
            "changed. Leave that header out."
        )


def _read_key() -> str:
    """Return the unquoted Idempotency-Key, or "" if there is none."""
    header = request.headers.get(KEY_HEADER)
    if header is None:
        return ""
    key = header.strip()
    if not re.fullmatch(KEY_PATTERN, key):
        rule = "Must have 1 to 255 ASCII characters, bare or as a quoted string."
        raise ValidationFailed.of({KEY_HEADER: [rule]})
    return re.sub(r"\\(.)", r"\1", key[1:-1]) if key.startswith('"') else key


def _fingerprint(sent: Any) -> str:
    """Return a hash of the call that doesn't depend on how its JSON is formatted."""
    if isinstance(sent, bytes):
        sent = hashlib.sha256(sent).hexdigest()
    call = [request.method, request.path, sorted(request.args.items()), sent]
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()
