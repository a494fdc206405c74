"""Archives that were uploaded and wait until their account says to import them."""

from sqlalchemy import delete, select
from sqlalchemy.orm import undefer

from testimonials.extensions import db
from testimonials.transfer.models import WaitingArchive


def find_waiting(account_id: str) -> WaitingArchive | None:
    """Return the archive that waits, with its content."""
    query = select(WaitingArchive).where(WaitingArchive.account_id == account_id)
    return db.session.scalars(query.options(undefer(WaitingArchive.content))).one_or_none()


def keep_waiting(account_id: str, file_name: str, content: bytes) -> None:
    """Keep an archive in place of the one before."""
    drop_waiting(account_id)
    db.session.add(WaitingArchive(account_id=account_id, file_name=file_name, content=content))
    db.session.flush()


def drop_waiting(account_id: str) -> None:
    db.session.execute(delete(WaitingArchive).where(WaitingArchive.account_id == account_id))
