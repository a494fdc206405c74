"""Upgrading the schema as `serve` and the command do it: with a backup before."""

import logging

import click
from sqlalchemy.exc import DatabaseError

from testimonials.extensions import db
from testimonials.migrations import runner
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.scheduled import back_up_before

logger = logging.getLogger("testimonials.serving.server")


class UpgradeRefused(click.ClickException):
    """The database was left as it is; the message says why."""


def upgrade_database(*, is_backed_up: bool = True) -> tuple[str | None, str]:
    """Bring the database to this program's schema, whole or not at all; return before and after.

    A backup comes first, unless the caller wants none. Raises `UpgradeRefused` where one of the two
    fails, and `SchemaError`.
    """
    try:
        before, after = runner.upgrade(db.engine, _back_up if is_backed_up else None)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise UpgradeRefused(
            f"The upgrade failed, and the database is as it was: {reason}"
        ) from error
    if before != after:
        logger.info("database upgraded from %s to %s", before or "empty", after)
    return before, after


def _back_up(revision: str) -> None:
    if db.engine.dialect.name != "sqlite":
        logger.warning(
            "the database is upgraded to %s without a backup: PostgreSQL is backed up with "
            "pg_dump. The upgrade is done whole or not at all",
            revision,
        )
        return
    try:
        target = back_up_before(revision)
    except BackupFailed as error:
        raise UpgradeRefused(
            f"The backup before the upgrade failed, so nothing was upgraded: {error}. Mend that, "
            "or go without: testimonials db upgrade --no-backup"
        ) from None
    logger.info("the database before the upgrade to %s is kept in %s", revision, target)
