"""Restoring a backup, and verifying one by restoring it on trial."""

import contextlib
import logging
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import URL, exists, make_url, select, text
from sqlalchemy.exc import DatabaseError

from testimonials.core import clock
from testimonials.core.audit import Actor, ActorKind, Event, record_changes
from testimonials.core.db import migrate, sqlite
from testimonials.core.db.erasure import PROJECT, Erased
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.migrate import OLDER, OLDER_ADVICE, is_newer, name_revision
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, init_extensions
from testimonials.core.faults import refusing
from testimonials.core.jobs import Job, every, has_passed
from testimonials.core.settings.instance import FolderInUse, give_to_owner, hold_alone, sync
from testimonials.core.settings.table import EXTENSION as SETTINGS_EXTENSION
from testimonials.core.settings.table import Settings, current_settings, load_settings
from testimonials.integrations.webhooks.log import delete_old_deliveries
from testimonials.operations.backup import creating, offsite
from testimonials.operations.backup.archive import (
    DATABASE,
    RECORDING,
    SETTINGS,
    Manifest,
    RestoreRefused,
    read_archive,
    working_folder,
)
from testimonials.operations.database import MoveRefused, move_database, opened_file
from testimonials.operations.expiry import MAX_AT_ONCE
from testimonials.projects.models import Project
from testimonials.testimonials.changes import delete_old_proposals
from testimonials.testimonials.counts import find_wrong_counts
from testimonials.testimonials.media.recordings import FOLDER
from testimonials.testimonials.models import Recording
from testimonials.testimonials.word_index import find_wrong_words
from testimonials.transfer import erasure

WORK = ".unfinished-restore-"
# The suffixes of a database and the files that belong to it.
COMPANIONS = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Restored:
    """What a restore did, or would do."""

    manifest: Manifest
    # A path, or the address of a PostgreSQL database.
    database: str
    # The folders with the old files.
    kept: list[Path]
    # How much was erased after the backup was made, and so was erased again.
    erased_again: int


def restore_backup(
    source: Path, settings: Settings, *, is_replacing: bool, is_trial: bool
) -> Restored:
    """Restore the backup `source` into the instance folder, or only check it if `is_trial`.

    Raises `RestoreRefused`, and `FolderInUse` if a program uses the instance, unless `is_trial`.
    """
    folder = settings.instance_path
    try:
        with (
            contextlib.nullcontext() if is_trial else hold_alone(folder),
            working_folder(folder, WORK) as work,
        ):
            with source.open("rb") as stream:
                manifest = read_archive(stream, work)
            check_backup(manifest, work)
            # The backup's settings say where its database goes; without any, the folder's do.
            file = work / SETTINGS if SETTINGS in manifest["members"] else None
            target = load_settings(makes_instance=False, file=file)
            database = target.database_file and target.database_file.resolve()
            own = [name for name in manifest["members"] if not RECORDING.fullmatch(name)]
            places = {DATABASE: database} if database else {}
            places |= {name: folder / name for name in own if name != DATABASE}
            if any((work / FOLDER).iterdir()) or (folder / FOLDER).exists():
                # The folder is replaced as a whole, so that no recordings without rows are left.
                places[FOLDER] = folder / FOLDER
            if not is_trial:
                _require_free(work, places, is_replacing=is_replacing)
            erased = list_erased(source, settings, database, work / DATABASE)
            with opened_backup(work, target):
                if not is_trial:
                    note_restored(database)
                erased_again = erase_again(work, erased)
            kept = [] if is_trial else _put(work, places, target, erased)
            return Restored(manifest, _name_database(target), kept, erased_again)
    except erasure.ListDamaged as error:
        raise RestoreRefused(str(error)) from None
    except MoveRefused as error:
        raise RestoreRefused(error.message.rstrip(".")) from None
    except (DatabaseError, migrate.SchemaError) as error:
        raise RestoreRefused(f"its database can't be used: {_name_fault(error)}") from None
    except OSError as error:
        path = f": {error.filename}" if error.filename else ""
        raise RestoreRefused(f"{error.strerror or error}{path}") from None


def _name_fault(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", error)).split())


def list_erased(
    source: Path, settings: Settings, database: Path | None, unpacked: Path
) -> erasure.ErasedList:
    """Return what was erased according to any list; raise `ListDamaged`.

    These are in the SQLite file that is replaced, in the one of the backup, beside both, and in
    BACKUP_TO.
    """
    tables = (erasure.read_table(database) if database else {}, erasure.read_table(unpacked))
    folders = {settings.instance_path, source.absolute().parent}
    if settings.backup_to:
        folders.add(Path(settings.backup_to))
    files = [erasure.read_list(folder / erasure.NAME) for folder in folders]
    # Projects that were deleted, and then imported again, are there.
    back = {(PROJECT, id) for id in (erasure.find_projects(database) if database else ())}
    joined = erasure.join_lists((*tables, *files))
    return {key: at for key, at in joined.items() if key not in back}


@contextlib.contextmanager
def opened_backup(work: Path, settings: Settings) -> Iterator[None]:
    """Open the database in `work` as that of an application, after upgrading it."""
    file = URL.create("sqlite", database=str(work / DATABASE))
    url = file.render_as_string(hide_password=False)
    settings = replace(settings, instance_path=work, database_url=url, ratelimit_storage_url="")
    app = Flask("testimonials")
    app.extensions[SETTINGS_EXTENSION] = settings
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    init_extensions(app)
    with app.app_context():
        try:
            migrate.upgrade(db.engine)
            yield
        finally:
            db.session.remove()
            db.engine.dispose()


def erase_again(work: Path, erased: erasure.ErasedList) -> int:
    """Erase what is on the list from the opened backup; return how much that was."""
    with write():
        for (kind, id), at in erased.items():
            db.session.merge(Erased(kind=kind, id=id, erased_at=clock.from_milliseconds(at)))
        db.session.flush()
        if count := erasure.erase_again(erased):
            delete_old_proposals()
            delete_old_deliveries(MAX_AT_ONCE)
            # The segments of the search index contain deleted words until they are merged.
            merge = "INSERT INTO testimonial_search (testimonial_search) VALUES ('optimize')"
            db.session.execute(text(merge))
    kept = set(db.session.scalars(select(Recording.id)))
    for file in list((work / FOLDER).iterdir()):
        if file.name not in kept:
            file.unlink()
    return count


def note_restored(replaced: Path | None) -> None:
    """Add an entry about the restore to each public record, with the head that was replaced.

    Anybody who has kept a later head than the backup's can see that entries are missing.
    """
    heads: dict[str, dict[str, Any]] = {}
    if replaced is not None and replaced.exists():
        with contextlib.suppress(sqlite3.Error), sqlite.open_file(replaced, wait=1) as opened:
            query = "SELECT project_id, seq, hash FROM record_head"
            heads = {id: {"seq": seq, "hash": hash} for id, seq, hash in opened.execute(query)}
    has_record = exists().where(Event.project_id == Project.id, Event.entry.is_not(None))
    with write():
        for project in db.session.scalars(select(Project).where(has_record)).all():
            entry = {"kind": "restored", "replaced": heads.get(project.id)}
            row = {"type": "", "before": None, "created_at": clock.now(), "entry": entry}
            by = Actor(ActorKind.OPERATOR)
            record_changes(project, [row], by, batch_id=new_identifier())


@refusing(lambda _fault: RestoreRefused("its manifest is wrong"))
def check_backup(manifest: Manifest, work: Path) -> None:
    """Check the database in `work`, whose checksum is right; raise `RestoreRefused`."""
    database = work / DATABASE
    try:
        if damage := sqlite.find_damage(database):
            raise RestoreRefused(f"its database is damaged: {damage[0]}")
        revision = name_revision(
            manifest["schemaRevision"], sqlite.list_columns(database, "account")
        )
        if revision == OLDER:
            raise RestoreRefused(OLDER_ADVICE)
        if is_newer(revision):
            raise RestoreRefused(
                "it was made by a newer version of this program "
                f"({manifest['programVersion']}, revision {revision}). Install that version"
            )
    except sqlite3.Error as error:
        raise RestoreRefused(f"its database can't be read: {error}") from None


def _require_free(work: Path, places: dict[str, Path], *, is_replacing: bool) -> None:
    """Raise `RestoreRefused` or `FolderInUse` if a file can't be put in its place.

    Replacing a database, or a different secret or settings, needs `is_replacing`.
    """
    for name, place in places.items():
        if is_replacing or not place.exists():
            continue
        if name == FOLDER:
            is_other = any(place.iterdir())
        else:
            is_other = name == DATABASE or (work / name).read_bytes() != place.read_bytes()
        if is_other:
            raise RestoreRefused(
                f"{place} already exists. Add --replace to put this backup in its place; the old "
                "files are kept"
            )
    if DATABASE in places and sqlite.is_in_use(places[DATABASE]):
        raise FolderInUse(f"A program is using {places[DATABASE]}. Stop it, then try again.")


def _name_database(settings: Settings) -> str:
    if settings.database_file is not None:
        return str(settings.database_file.resolve())
    return make_url(settings.database_url).render_as_string(hide_password=True)


def _put(
    work: Path, places: dict[str, Path], target: Settings, erased: erasure.ErasedList
) -> list[Path]:
    """Put all files in their places; return the folders with the old ones."""
    folder, kept = target.instance_path, []

    def put_files() -> None:
        if erased:
            erasure.write_list(folder, erased)
        kept.extend(_replace(work, places, folder))

    if DATABASE in places:
        put_files()
    else:
        with opened_file(work / DATABASE) as engine:
            move_database(engine, target.database_url, put_files)
    return kept


def _replace(work: Path, places: dict[str, Path], instance: Path) -> list[Path]:
    """Replace the files; return the folders to which the old ones were moved.

    The new ones are first written beside them, so that nothing changes if the disk is full.
    """
    folders = {place.parent for place in places.values()}
    aside = f"before-restore-{clock.now():%Y%m%dT%H%M%SZ}"
    while any((folder / aside).exists() for folder in folders):
        aside += "-2"
    drafts = {place: place.with_name(place.name + migrate.RESTORED) for place in places.values()}
    try:
        for path in (work / FOLDER).iterdir():
            give_to_owner(path, instance)
            sync(path)
        for name, place in places.items():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A restore that was killed may have left it.
            _remove(drafts[place])
            shutil.move(work / name, drafts[place])
            give_to_owner(drafts[place], instance)
            sync(drafts[place])
    except BaseException:
        for draft in drafts.values():
            _remove(draft)
        raise
    # The database goes first and comes last: in between, nothing starts with a mixture.
    for place in drafts:
        _move_aside(place, place.parent / aside, instance)
    for place, draft in reversed(drafts.items()):
        draft.rename(place)
        sync(place.parent)
    return sorted(folder / aside for folder in folders if (folder / aside).exists())


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft)
    else:
        draft.unlink(missing_ok=True)


def _move_aside(place: Path, aside: Path, instance: Path) -> None:
    for suffix in COMPANIONS:
        old = place.with_name(place.name + suffix)
        if old.exists():
            aside.mkdir(mode=0o700, exist_ok=True)
            give_to_owner(aside, instance)
            old.rename(aside / old.name)


# The state of backups, for the operator's page and the commands.


@dataclass(frozen=True)
class BackupState:
    """The newest backup, and the last results of backups, copies and restore tests."""

    # BACKUP_TO, or else BACKUP_PATH; `last_at` is the time of the newest backup there.
    place: str
    last_at: datetime | None
    last_size: int | None
    last_error: str | None
    verified_at: datetime | None
    verified_error: str | None
    is_running: bool


def describe_backups() -> BackupState:
    """Return the state of backups, without reading BACKUP_TO."""
    settings = current_settings()
    names = (creating.BACKUP_JOB, creating.COPY_JOB, creating.VERIFY_JOB)
    made, copied, verified = (db.session.get(Job, name) or Job(id=name) for name in names)
    place = settings.backup_to
    backups = offsite.read_stored(place) if place else sqlite.list_kept(Path(settings.backup_path))
    newest = next((each for each in backups if each.is_scheduled), None)
    steps = [made, copied] if offsite.is_copy_wanted() else [made]
    return BackupState(
        place=settings.backup_to or settings.backup_path,
        last_at=newest.made_at if newest else None,
        last_size=newest.size if newest else None,
        last_error=next((row.error for row in steps if row.error), None),
        verified_at=verified.finished_at,
        verified_error=verified.error,
        is_running=any(row.leased_until and row.leased_until > clock.now() for row in steps),
    )


def drop_old(*, is_trial: bool = False) -> list[sqlite.KeptBackup]:
    """Remove all but the newest scheduled and the newest other backup from BACKUP_PATH.

    Returns those that were removed, or would be in a trial. Raises `BackupFailed`.
    """
    folder = Path(current_settings().backup_path)
    kept = sqlite.list_kept(folder)
    newest = {each.is_scheduled: each for each in reversed(kept)}
    old = [each for each in kept if each not in newest.values()]
    creating.remove_backups(folder, [] if is_trial else [each.name for each in old])
    return old


# Verifying the newest backup by restoring it into a temporary folder.

logger = logging.getLogger("testimonials")


class VerifyFailed(creating.BackupFailed):
    """A backup can't be restored."""

    what = "no backup that can be restored"


@dataclass(frozen=True)
class Verified:
    """A backup that was restored on trial."""

    source: Path
    manifest: Manifest
    # How much was erased after the backup was made, and so was erased again.
    erased_again: int


def is_verify_due(row: Job) -> bool:
    """Return whether a verification is due; it is due earlier after one that failed."""
    settings, place = current_settings(), current_settings().backup_to
    has_backup = offsite.read_stored(place) if place else creating.find_newest()
    if not settings.backup_verify_days or not has_backup:
        return False
    length = timedelta(days=settings.backup_verify_days)
    if row.error is not None or row.leased_until is not None:
        length = min(length, timedelta(days=1))
    return has_passed(row.started_at, length)


@every(creating.VERIFY_JOB, "backups", longest=timedelta(days=1), is_due=is_verify_due)
def verify_newest() -> Verified:
    """Verify the newest backup in BACKUP_TO, or in BACKUP_PATH; raise `VerifyFailed`."""
    settings = current_settings()
    folder = Path(settings.backup_to or settings.backup_path)
    try:
        backups = offsite.list_copies(folder) if settings.backup_to else sqlite.list_kept(folder)
    except offsite.CopyFailed as error:
        raise VerifyFailed(str(error)) from None
    newest = next((each for each in backups if each.is_scheduled), None)
    if newest is None:
        raise VerifyFailed(f"there is no scheduled backup in {folder}")
    verified = verify(settings, folder / newest.name)
    logger.info("restored on trial, and sound: %s", verified.source)
    return verified


def verify(settings: Settings, source: Path) -> Verified:
    """Restore a backup into a temporary folder, upgrade it there, and check everything.

    What was erased since the backup is erased from it, as in a restore. Recordings are only
    compared with their checksums. Raises `VerifyFailed`.
    """
    try:
        with working_folder(settings.instance_path, ".unfinished-verify-") as work:
            with source.open("rb") as stream:
                manifest = read_archive(stream, work, keeps_recordings=False)
            check_backup(manifest, work)
            erased = list_erased(source, settings, settings.database_file, work / DATABASE)
            with opened_backup(work, settings):
                erased_again = erase_again(work, erased)
                findings = _check_whole()
    except (RestoreRefused, erasure.ListDamaged, migrate.SchemaError) as error:
        raise VerifyFailed(f"{source}: {error}") from None
    except (DatabaseError, sqlite3.Error) as error:
        reason = _name_fault(error)
        raise VerifyFailed(f"{source}: its database can't be used: {reason}") from None
    except OSError as error:
        raise VerifyFailed(f"{source}: {error.strerror or error}") from None
    if findings:
        raise VerifyFailed(f"{source}: {findings[0]}")
    return Verified(source, manifest, erased_again)


def _check_whole() -> list[str]:
    """Check the database like `db check`; return the errors."""
    if findings := migrate.check_database(db.engine):
        return findings
    connection = db.session.connection()
    return find_wrong_counts(connection) + find_wrong_words(connection)
