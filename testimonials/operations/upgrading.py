"""Upgrading the schema after a backup, for `serve` and the command."""

import logging

import click
from sqlalchemy.exc import DatabaseError

from testimonials.core.db import migrate
from testimonials.core.db.sqlite import describe_damage, is_damage
from testimonials.core.extensions import db
from testimonials.operations.backup.creating import BackupFailed, back_up_before

logger = logging.getLogger("testimonials.operations.server.serve")


def upgrade_database(*, is_backed_up: bool = True) -> tuple[str | None, str]:
    """Bring the database to this program's schema; return the revisions before and after.

    Raises `click.ClickException`, with nothing changed, if the backup or the upgrade fails.
    """
    try:
        before, after = migrate.upgrade(db.engine, _back_up if is_backed_up else None)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        if is_damage(error):
            raise click.ClickException(describe_damage(reason)) from None
        raise click.ClickException(
            f"The upgrade failed, and the database is as it was: {reason}"
        ) from error
    if before != after:
        logger.info("database upgraded from %s to %s", before or "empty", after)
    return before, after


def _back_up(revision: str) -> None:
    if db.engine.dialect.name != "sqlite":
        logger.warning(
            "the database is upgraded to %s without a backup: `testimonials backup now` makes one "
            "of PostgreSQL before a new version is installed. The upgrade is done completely or "
            "not at all",
            revision,
        )
        return
    try:
        target = back_up_before(revision)
    except BackupFailed as error:
        raise click.ClickException(
            f"The backup before the upgrade failed, so nothing was upgraded: {error}. Fix that, or "
            "skip the backup: testimonials db upgrade --no-backup"
        ) from None
    logger.info("the database before the upgrade to %s is kept in %s", revision, target)
