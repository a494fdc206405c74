"""Whether the hosts that share a database sign links with the same secret key."""

import hashlib
import hmac
import logging

import click
from sqlalchemy import delete
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, insert_if_missing
from testimonials.extensions import begin_write, db
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials.serving.server")


class SecretMark(Base):
    """One row with a digest of the secret key, from which the key can't be computed."""

    __tablename__ = "secret_mark"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]


def require_known_secret() -> None:
    """Compare the secret key with the one of earlier starts; commits.

    Raises `click.ClickException` on PostgreSQL, where another host may be using the right one. An
    SQLite file has no other host, so a new key is accepted.
    """
    begin_write()
    insert_if_missing(db.session(), SecretMark, id=1, mark=instance_mark())
    row = db.session.get_one(SecretMark, 1)
    if row.mark != instance_mark():
        if db.engine.dialect.name != "sqlite":
            raise click.ClickException(
                "The secret key differs from the one that was used with this database, so hosts "
                "would reject each other's links. Set TESTIMONIALS_SECRET_KEY to the same value on "
                "all of them. If you changed it on purpose, run: testimonials db forget-secret"
            )
        logger.warning("the secret key has changed: links sent before now are invalid")
        row.mark = instance_mark()
    db.session.commit()


def instance_mark() -> str:
    """Return a digest of the secret key that doesn't reveal it."""
    key = current_settings().secret_key.encode()
    return hmac.new(key, b"testimonials:instance", hashlib.sha256).hexdigest()[:16]


def forget_secret() -> None:
    """Let the next start set the mark; the caller commits."""
    db.session.execute(delete(SecretMark))
