"""Creating backups, on demand and on a schedule, and removing old ones."""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from click import ClickException
from sqlalchemy import BigInteger, String, select
from sqlalchemy.orm import Mapped, mapped_column

from testimonials import __version__
from testimonials.auth.emails import send_plain_mail
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db import sqlite
from testimonials.core.db.engine import Base, Timestamp
from testimonials.core.db.sqlite import SCHEDULED, KeptBackup, list_kept, read_time
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.urls import app_url
from testimonials.core.jobs import (
    Job,
    JobFailed,
    every,
    has_passed,
    repeat_job,
    repeating,
    take_job,
)
from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.settings.instance import give_to_owner, sync
from testimonials.core.settings.table import Settings, current_settings
from testimonials.operations.backup import archive
from testimonials.operations.database import copy_to_file, measure_postgres
from testimonials.testimonials.media.recordings import FOLDER

# A backup is one file with a snapshot of an instance.

WORK = ".unfinished-backup-"


class BackupFailed(JobFailed):
    """No backup was made, and nothing was left behind."""

    what = "no backup"


def name_backup(kind: str) -> str:
    """Return the file name of a backup made now, such as scheduled-20260131T235959Z.tar.gz."""
    return f"{kind}-{clock.now():%Y%m%dT%H%M%SZ}.tar.gz"


def make_backup(settings: Settings, target: Path) -> archive.Manifest:
    """Write a backup of the instance, which may be running, to the new file `target`.

    The file appears when it is complete and flushed to the disk. Raises `BackupFailed`.
    """
    if not settings.has_instance:
        raise BackupFailed(f"there is no database at {settings.database_file}")
    try:
        with archive.working_folder(target.parent, WORK) as folder, _flushing(folder):
            if os.path.lexists(target):
                raise BackupFailed(f"{target} already exists")
            # Enough for the copy and an archive of the same size.
            recordings = settings.instance_path.glob(f"{FOLDER}/*")
            recorded = sum(path.stat().st_size for path in recordings)
            file = settings.database_file
            size = file.stat().st_size if file else measure_postgres(settings.database_url)
            archive.require_room(folder, 2 * size + recorded)
            manifest = _write(settings, folder)
            give_to_owner(folder / "archive", target.parent)
            (folder / "archive").rename(target)
        sync(target.parent)
    except sqlite3.Error as error:
        reason = f"the database can't be copied: {error}"
        if sqlite.is_damage(error):
            reason = _begin_small(sqlite.describe_damage(str(error)))
        raise BackupFailed(reason) from None
    except ClickException as error:
        raise BackupFailed(_begin_small(error.message)) from None
    except OSError as error:
        raise BackupFailed(
            f"{target.parent} can't be written to: {error.strerror or error}"
        ) from None
    return manifest


def _write(settings: Settings, folder: Path) -> archive.Manifest:
    copy, instance = folder / archive.DATABASE, settings.instance_path
    if settings.database_file is None:
        copy_to_file(settings.database_url, copy)
    else:
        # Symbolic links are followed, since SQLite's log is beside the actual file.
        sqlite.copy_database(settings.database_file.resolve(), copy)
    revision = sqlite.read_revision(copy)
    if revision is None:
        raise BackupFailed(f"{settings.database_file} is not a database of this program")
    # Backups of a damaged database must not replace the last good ones.
    if damage := sqlite.find_damage(copy):
        raise BackupFailed(_begin_small(sqlite.describe_damage(damage[0])))
    files = {archive.DATABASE: copy}
    for name in (archive.SECRET, archive.SETTINGS):
        if (source := instance / name).exists():
            files[name] = folder / name
            files[name].write_bytes(_read(source))
    files |= _take_recordings(instance, copy, folder)
    manifest: archive.Manifest = {
        "format": archive.FORMAT,
        "formatVersion": archive.FORMAT_VERSION,
        "programVersion": __version__,
        "schemaRevision": revision,
        "createdAt": iso(clock.now()),
        "rows": sqlite.count_rows(copy),
        "members": {name: archive.describe_member(path) for name, path in files.items()},
    }
    archive.write_archive(folder / "archive", manifest, files)
    return manifest


def _take_recordings(instance: Path, copy: Path, folder: Path) -> dict[str, Path]:
    """Return the files of the copied database's recordings, by their names in a backup.

    Complete recordings never change. They are hard-linked in case one is deleted meanwhile.
    """
    files = {}
    (folder / FOLDER).mkdir()
    for recording_id in sqlite.list_recordings(copy):
        source, link = instance / FOLDER / recording_id, folder / FOLDER / recording_id
        with contextlib.suppress(FileNotFoundError):
            try:
                os.link(source, link)
            except FileNotFoundError:
                raise
            except OSError:
                # It is on another disk, or on one without hard links.
                link = source
            files[f"{FOLDER}/{recording_id}"] = link
    return files


def _begin_small(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackupFailed(f"{path} can't be read: {error.strerror or error}") from None


@contextlib.contextmanager
def _flushing(folder: Path) -> Iterator[None]:
    """Flush often: a single large flush would delay the service's commits by seconds."""

    def flush() -> None:
        for path in list(folder.iterdir()):
            # It may be gone; the writer notices if writing fails.
            with contextlib.suppress(OSError):
                sync(path)

    with repeating(flush, 0.2, "flush"):
        yield


# Scheduled backups, and the one before an upgrade.

logger = logging.getLogger("testimonials")

# The background jobs: backup, off-site copy and restore test.
BACKUP_JOB = "backup"
COPY_JOB = "backup-copy"
VERIFY_JOB = "backup-verify"
RETRIED_AFTER = timedelta(hours=1)


def is_backup_wanted() -> bool:
    """Return whether this instance has scheduled backups, and anything to back up."""
    if not current_settings().backup_hours:
        return False
    return db.session.scalar(select(Account.id).limit(1)) is not None


def is_backup_due(row: Job) -> bool:
    """Return whether the next backup is due; it is due earlier after one that wasn't completed."""
    if not is_backup_wanted():
        return False
    length = timedelta(hours=current_settings().backup_hours)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return has_passed(row.started_at, length)


@every(BACKUP_JOB, "backups", longest=timedelta(hours=2), is_due=is_backup_due)
def make_scheduled_backup() -> Path:
    """Make a backup, remove old ones, and email about a failure; raise `BackupFailed`."""
    try:
        target = _make(SCHEDULED)
        # The new one is kept even if others seem to be newer because the clock was ahead.
        names = {path.name for path in target.parent.iterdir()} - {target.name}
        others = sorted(each for each in names if each.startswith(SCHEDULED) and read_time(each))
        remove_backups(target.parent, others[::-1][current_settings().backup_keep - 1 :])
    except BackupFailed as error:
        with write():
            mail_failure(
                BACKUP_JOB,
                f"The backup failed: {error}".partition(". ")[0],
                f"The scheduled backup of {app_url()} failed: {error}.",
                f"It is retried every hour. {UNTIL} Earlier backups are kept.",
            )
        raise
    logger.info("backup made: %s", target)
    return target


def run_backup_job(name: str) -> object:
    """Run a job of backups now; raise `BackupFailed`, also while another process runs it."""
    if not take_job(name, lambda _row: True):
        raise BackupFailed(
            "another process is running it, or was killed while running it: try again in two "
            "minutes"
        )
    return repeat_job(name)


def find_newest() -> KeptBackup | None:
    kept = list_kept(Path(current_settings().backup_path))
    return next((each for each in kept if each.is_scheduled), None)


def back_up_before(revision: str) -> None:
    """Make the backup before an upgrade to `revision`; raise `click.ClickException`."""
    if db.engine.dialect.name != "sqlite":
        logger.warning(
            "the database is upgraded to %s without a backup: `testimonials backup now` makes one "
            "of PostgreSQL before a new version is installed. The upgrade is done completely or "
            "not at all",
            revision,
        )
        return
    try:
        target = _make(f"before-{revision}")
    except BackupFailed as error:
        raise ClickException(
            f"The backup before the upgrade failed, so nothing was upgraded: {error}. Fix that, or "
            "skip the backup: testimonials db upgrade --no-backup"
        ) from None
    logger.info("the database before the upgrade to %s is kept in %s", revision, target)


def _make(kind: str) -> Path:
    settings = current_settings()
    folder = Path(settings.backup_path)
    if not folder.exists():
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise BackupFailed(f"{folder} can't be created: {error.strerror}") from None
        give_to_owner(folder, settings.instance_path)
    target = folder / name_backup(kind)
    make_backup(settings, target)
    return target


def remove_backups(folder: Path, names: Iterable[str]) -> None:
    for path in map(folder.joinpath, names):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise BackupFailed(f"the old {path} can't be removed: {error.strerror}") from None


# Emails to the operator as long as a job fails.

UNTIL = "You will get this email once a day until it works."


def mail_failure(job: str, subject: str, *lines: str) -> None:
    """Email the operator that a job of backups failed, at most once a day."""
    recipient, purpose = current_settings().operator_email, f"{job}-failed"
    told = select(OutboxMail.id).where(
        OutboxMail.purpose == purpose, OutboxMail.created_at > clock.now() - timedelta(days=1)
    )
    if recipient and db.session.scalar(told.limit(1)) is None:
        footnote = "This email goes to the address in the setting OPERATOR_EMAIL."
        send_plain_mail(recipient, purpose, " ".join(subject.split()), lines, footnote=footnote)


class StoredBackup(Base):
    """A backup in BACKUP_TO; it is stored here since reading that folder may be slow or fail."""

    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    # The value of BACKUP_TO at the time.
    place: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(Timestamp)
