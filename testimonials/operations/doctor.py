"""The doctor's checks of the database, background work, recordings and backups."""

import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import DatabaseError, OperationalError

from testimonials.auth.credentials import find_claimed_account
from testimonials.auth.events import COMPANY_REFUSED
from testimonials.auth.oidc.accounts import ProviderSilent
from testimonials.auth.oidc.client import ProviderAway, ProviderRefused, current_provider
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.clock import iso
from testimonials.core.db import migrate
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.sqlite import advise_restore, find_damage
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.urls import company_return_url
from testimonials.core.jobs import Job, find_other_place
from testimonials.core.logs import scrub
from testimonials.core.settings.table import PREFIX, current_settings
from testimonials.integrations.webhooks.endpoints import name_host
from testimonials.integrations.webhooks.log import list_failing
from testimonials.operations.backup.creating import (
    BACKUP_JOB,
    COPY_JOB,
    VERIFY_JOB,
    is_backup_wanted,
)
from testimonials.operations.backup.offsite import is_copy_wanted
from testimonials.operations.health import LONGEST_WAIT, find_last_work, list_jobs
from testimonials.projects.models import Project
from testimonials.projects.projects import reserved_slugs
from testimonials.testimonials.media.recordings import MEGABYTE, find_whole_share, media_folder
from testimonials.testimonials.media.uploads import find_missing


@dataclass(frozen=True)
class Finding:
    """A problem and what to do about it, without secrets; a note isn't a problem."""

    problem: str
    advice: str
    is_note: bool = False


NO_SCHEMA = Finding(
    "Not checked, because the database is not ready.",
    "Follow the advice above, then run this again.",
)


def check_backups() -> Iterator[Finding]:
    """Check that a host makes backups, copies them off-site, and tests restoring them."""
    settings = current_settings()
    hours, days = 2 * settings.backup_hours, 2 * settings.backup_verify_days
    if not settings.backup_hours:
        yield Finding(
            "Scheduled backups are switched off (BACKUP_HOURS=0).",
            "Run `testimonials backup make FILE` from a timer of your own.",
            is_note=True,
        )
    if is_backup_wanted():
        yield from _check_done(BACKUP_JOB, "backup", "backup now", hours)
        if is_copy_wanted():
            yield from _check_done(COPY_JOB, "copy of a backup", "backup now", hours)
        if days:
            yield from _check_done(
                VERIFY_JOB, "restore on trial", "backup verify", hours + 24 * days
            )
    place = Path(settings.backup_to)
    if settings.backup_to and place.exists() and _share_disk(place, settings.instance_path):
        yield Finding(
            f"BACKUP_TO ({place}) is on the same disk as the data, so both can be lost at once.",
            "If it should be on another disk, is that mounted?",
            is_note=True,
        )
    program = (shlex.split(settings.backup_command) or [""])[0]
    if program and shutil.which(program) is None:
        yield Finding(
            f"BACKUP_COMMAND begins with {program}, which is not a program on this machine.",
            "Install it, or write its whole path.",
        )


def _check_done(name: str, what: str, command: str, hours: int) -> Iterator[Finding]:
    """Report a job that failed or is late; a failure elsewhere is a note unless it is late."""
    job = db.session.get(Job, name)
    last = job.finished_at if job is not None else None
    is_late = last is None or clock.now() - last > timedelta(hours=hours)
    if job is not None and job.error is not None:
        other = find_other_place(job)
        where = f" on {other}" if other else ""
        yield Finding(
            f"The last {what} failed at {iso(job.failed_at or clock.now())}{where}: "
            f"{scrub(job.error)}",
            "Run `testimonials doctor` there."
            if other
            else f"Fix that, then try again: `testimonials {command}`.",
            is_note=bool(other) and not is_late,
        )
    elif is_late:
        yield Finding(
            f"There was no {what} {f'since {iso(last)}' if last else 'yet'}.",
            f"Is `testimonials serve` running? `testimonials {command}` does it now.",
        )


def _share_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev


def check_company() -> Iterator[Finding]:
    """Check that the SSO provider answers, and that it can confirm who somebody is."""
    settings = current_settings()
    if not settings.oidc_issuer:
        return
    try:
        current_provider().find_keys(None)
    except (ProviderAway, ProviderRefused) as error:
        yield Finding(
            f"The company's sign-in can't be used: {error.reason}",
            f"Check {PREFIX}OIDC_ISSUER, letter by letter, and that this machine can reach it. The "
            f"provider has to send browsers back to {company_return_url()}.",
        )
    if _was_silent():
        yield Finding(
            f"{settings.oidc_issuer} doesn't say when it last asked somebody who they are "
            "(auth_time), so nobody can confirm their identity with it.",
            "They confirm with a passkey, or by a link in an email. Some providers send it once "
            "that is turned on for this client; Google never does.",
            is_note=True,
        )
    if settings.oidc_groups and find_claimed_account(settings.oidc_workspace.lower()) is None:
        yield Finding(
            f"No account has the address {settings.oidc_workspace}, so groups give no roles.",
            f"Correct {PREFIX}OIDC_WORKSPACE, or sign in with that address once.",
        )


def _was_silent() -> bool:
    """Tell whether a confirmation with the provider lacked `auth_time` in the last 30 days."""
    query = select(Event.id).where(
        Event.id >= first_identifier(clock.now() - timedelta(days=30)),
        Event.type == COMPANY_REFUSED,
        Event.details["reason"].as_string() == ProviderSilent.reason,
    )
    return db.session.scalar(query.limit(1)) is not None


# Checks of the database, the clock, recordings and background work.

# Clocks that are set over the network differ by far less.
CLOCK_DIFFERENCE = timedelta(minutes=1)
SET_CLOCK = "Let the network set the clock: timedatectl set-ntp true"
NOT_DAMAGED = (
    "The file may be intact. Check the disk (dmesg, mount, df) and the permissions of {path} and "
    "its folder, and run this as the service's own user."
)


def check_database() -> Iterator[Finding]:
    path = current_settings().database_file
    if path is None:
        yield from _check_writing_there()
        return
    if not path.exists():
        yield Finding(
            f"There is no database at {path}.",
            "`testimonials serve` creates one, or says that a restore was interrupted. If there "
            "should be data, check TESTIMONIALS_INSTANCE_PATH and TESTIMONIALS_DATABASE_URL.",
        )
        return
    try:
        damage = find_damage(path)[:3]
    except sqlite3.OperationalError as error:
        yield Finding(f"The database can't be used: {error}.", NOT_DAMAGED.format(path=path))
        return
    for words in damage:
        yield Finding(f"The database is damaged: {scrub(words)}", advise_restore())
    if not damage:
        yield from _check_writing(path)


def _check_writing_there() -> Iterator[Finding]:
    """Write a megabyte to PostgreSQL, and roll it back."""
    db.session.execute(text("SELECT 1"))
    rows = "SELECT repeat(md5(n::text), 32) FROM generate_series(1, 1000) n"
    try:
        db.session.execute(text(f"CREATE TABLE written_by_the_doctor AS {rows}"))
    except DatabaseError as error:
        yield Finding(
            f"The database can't be written to: {scrub(' '.join(str(error.orig).split()))}.",
            "See PostgreSQL's log, its disk (df), and whether it is a standby.",
        )
    finally:
        db.session.rollback()


def _check_writing(path: Path) -> Iterator[Finding]:
    try:
        lock_for_writing()
    except OperationalError as error:
        if "locked" not in str(error.orig):
            yield Finding(
                f"The database can't be written to: {error.orig}.", NOT_DAMAGED.format(path=path)
            )
            return
        yield Finding(
            "Another program has locked the database for over 5 seconds, so the service answers "
            "503 BUSY.",
            f"Find and end it: fuser -v {shlex.quote(str(path))}",
        )


def check_schema() -> Iterator[Finding]:
    path = current_settings().database_file
    if path is not None and not path.exists():
        yield NO_SCHEMA
        return
    revision, newest = migrate.current(db.engine), migrate.head()
    problem = f"The database is at revision {revision}, and this version needs {newest}."
    if revision is None:
        yield Finding(
            "The database is empty.", "Start `testimonials serve` or run `testimonials db upgrade`."
        )
    elif revision == migrate.OLDER:
        yield Finding(problem, f"The database can't be upgraded: {migrate.OLDER_ADVICE}.")
    elif migrate.is_newer(revision):
        yield Finding(problem, "Install the newer version, or restore a backup made with this one.")
    elif revision != newest:
        yield Finding(problem, "Stop the service and run `testimonials db upgrade`.")


def check_clock() -> Iterator[Finding]:
    """Compare this machine's clock with the newest event and PostgreSQL's; `check_urls` compares
    those of the URLs.
    """
    now = clock.now()
    newest = db.session.scalar(select(Event.created_at).order_by(Event.id.desc()).limit(1))
    if newest is not None and newest > now + CLOCK_DIFFERENCE:
        yield Finding(
            f"Something happened at {iso(newest)}, but it is {iso(now)}: this machine's clock was "
            "ahead, or is behind.",
            SET_CLOCK,
        )
    if db.engine.dialect.name == "postgresql":
        theirs: datetime | None = db.session.scalar(select(func.now()))
        if theirs is not None and abs(theirs - now) > CLOCK_DIFFERENCE:
            yield Finding(
                f"This machine's clock says {iso(now)}, the database's {iso(theirs)}.", SET_CLOCK
            )


def check_work() -> Iterator[Finding]:
    """Report if no job other than backups was done lately, and the jobs that failed."""
    rows = [row for row in list_jobs() if row.id not in (BACKUP_JOB, COPY_JOB, VERIFY_JOB)]
    newest = find_last_work(rows)
    if newest is None or newest < clock.now() - LONGEST_WAIT:
        since = f"since {iso(newest)}" if newest else "on this database yet"
        yield Finding(
            f"No background work has been done {since}.",
            "Start `testimonials serve`, which also sends mail. Its log says what fails.",
        )
        return
    for row in rows:
        if row.error is not None:
            time = iso(row.finished_at) if row.finished_at else "never"
            yield Finding(
                f"The job {row.id} last succeeded: {time}: {scrub(row.error)}.",
                "Search the log for “background work failed”.",
            )


def check_slugs() -> Iterator[Finding]:
    """Find projects whose slug is now the path of a page of the service."""
    query = select(Project.slug).where(
        Project.slug.in_(reserved_slugs()), Project.deleted_at.is_(None)
    )
    for slug in db.session.scalars(query.order_by(Project.slug)):
        yield Finding(
            f"Nobody can see the page of the project at /{slug}: the service has its own page "
            "there.",
            f"Tell its owner (testimonials projects show {slug}) to choose another address in the "
            "settings. The widget isn’t affected.",
        )


def check_webhooks() -> Iterator[Finding]:
    for endpoint in list_failing():
        since = iso(endpoint.failing_since or clock.now())
        yield Finding(
            f"The webhook endpoint {endpoint.id} at {name_host(endpoint)} of the project "
            f"{endpoint.project_id} has accepted nothing since {since}.",
            f"testimonials webhooks deliveries {endpoint.id} says why. After three days it is "
            "switched off, and its owner gets an email.",
        )


def check_recordings() -> Iterator[Finding]:
    """Compare recordings with their files, and their size with the limit."""
    if missing := find_missing():
        yield Finding(
            f"The files of {len(missing)} recording(s) are missing, such as {missing[0]}.",
            f"Put them back into {media_folder()} from a backup: its members media/<id>.",
        )
    if (share := find_whole_share()).is_nearly_full:
        yield Finding(
            f"Recordings take {share.bytes // MEGABYTE} of {share.limit // MEGABYTE} MB.",
            "Raise TESTIMONIALS_ALL_RECORDINGS_MEGABYTES, or look at "
            "`testimonials recordings list`.",
        )
