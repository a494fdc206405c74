"""Checks of the database, the clock, recordings and background work."""

import shlex
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.damage import advise_restore
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.data.sqlite_file import find_damage
from testimonials.core.logs.scrubbing import scrub
from testimonials.core.mail.outbox import OutboxMail
from testimonials.extensions import begin_write, db
from testimonials.media.quota import MEGABYTE, find_whole_share
from testimonials.media.removal import find_missing, find_orphans
from testimonials.media.store import media_folder
from testimonials.migrations import runner
from testimonials.operations.doctor.findings import NO_SCHEMA, Finding
from testimonials.operations.health import LONGEST_WAIT
from testimonials.operations.jobs.registry import JOBS
from testimonials.projects.models import Project
from testimonials.projects.slugs import reserved_slugs
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial
from testimonials.webhooks.deliveries import list_failing
from testimonials.webhooks.services import name_host

# Far more than clocks set by the network differ by.
CLOCK_DIFFERENCE = timedelta(minutes=1)
MAX_DAMAGE = 3
SET_CLOCK = "Let the network set the clock: timedatectl set-ntp true"
NOT_DAMAGED = (
    "The file may be intact. Check the disk (dmesg, mount, df) and the permissions of {path} and "
    "its folder, and run this as the service's own user."
)


def check_database() -> Iterator[Finding]:
    path = current_settings().database_file
    if path is None:
        db.session.execute(text("SELECT 1"))
        return
    if not path.exists():
        yield Finding(
            f"There is no database at {path}.",
            "`testimonials serve` creates one. If there should be data, check "
            "TESTIMONIALS_INSTANCE_PATH and TESTIMONIALS_DATABASE_URL.",
        )
        return
    try:
        damage = find_damage(path)[:MAX_DAMAGE]
    except sqlite3.OperationalError as error:
        yield Finding(f"The database can't be used: {error}.", NOT_DAMAGED.format(path=path))
        return
    for words in damage:
        yield Finding(f"The database is damaged: {scrub(words)}", advise_restore())
    if not damage:
        yield from _check_writing(path)


def _check_writing(path: Path) -> Iterator[Finding]:
    try:
        begin_write()
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
    revision, newest = runner.current(db.engine), runner.head()
    problem = f"The database is at revision {revision}, and this version needs {newest}."
    if revision is None:
        yield Finding(
            "The database is empty.", "Start `testimonials serve` or run `testimonials db upgrade`."
        )
    elif revision == runner.OLDER:
        yield Finding(problem, f"The database can't be upgraded: {runner.OLDER_ADVICE}.")
    elif runner.is_newer(revision):
        yield Finding(problem, "Install the newer version, or restore a backup made with this one.")
    elif revision != newest:
        yield Finding(problem, "Stop the service and run `testimonials db upgrade`.")


def check_clock() -> Iterator[Finding]:
    now = clock.now()
    if db.engine.dialect.name == "postgresql":
        theirs: datetime | None = db.session.scalar(select(func.now()))
        if theirs is not None and abs(theirs - now) > CLOCK_DIFFERENCE:
            yield Finding(
                f"This machine's clock says {iso(now)}, the database's {iso(theirs)}.", SET_CLOCK
            )
    for column in (Testimonial.created_at, OutboxMail.created_at, Account.created_at):
        newest: datetime | None = db.session.scalar(select(func.max(column)))
        if newest is not None and newest > now + CLOCK_DIFFERENCE:
            yield Finding(
                f"The newest row is from {iso(newest)}, but it is {iso(now)}: the clock was ahead, "
                "or is behind.",
                SET_CLOCK,
            )
            return


def check_work() -> Iterator[Finding]:
    known = {job.name: job for job in db.session.scalars(select(BackgroundJob))}
    rows = [known[job.name] for job in JOBS if job.name in known]
    newest = max((row.finished_at for row in rows if row.finished_at), default=None)
    oldest = clock.now() - LONGEST_WAIT
    if newest is None or newest < oldest:
        since = f"since {iso(newest)}" if newest else "on this database yet"
        yield Finding(
            f"No background work has been done {since}.",
            "Start `testimonials serve`, which also sends mail. Its log says what fails.",
        )
        return
    for row in rows:
        if row.error is not None or row.finished_at is None or row.finished_at < oldest:
            time = iso(row.finished_at) if row.finished_at else "never"
            words = f": {scrub(row.error)}" if row.error else ""
            yield Finding(
                f"The job {row.name} last succeeded: {time}{words}.",
                "Search the log for “background work failed”.",
            )


def check_slugs() -> Iterator[Finding]:
    """Find projects whose page a newer version of the service hides behind one of its own."""
    query = select(Project.slug).where(
        Project.slug.in_(reserved_slugs()), Project.deleted_at.is_(None)
    )
    for slug in db.session.scalars(query.order_by(Project.slug)):
        yield Finding(
            f"Nobody sees the page of the project at /{slug}: the service has one there itself.",
            f"Tell its owner (testimonials projects show {slug}) to choose another address in the "
            "settings. The widget isn’t concerned.",
        )


def check_webhooks() -> Iterator[Finding]:
    for endpoint in list_failing():
        since = iso(endpoint.failing_since or clock.now())
        yield Finding(
            f"The webhook endpoint {endpoint.id} at {name_host(endpoint)} of the project "
            f"{endpoint.project_id} has accepted nothing since {since}.",
            f"testimonials webhooks deliveries {endpoint.id} says why. After three days it is "
            "switched off, and its owner gets a mail.",
        )


def check_recordings() -> Iterator[Finding]:
    """Compare recordings with their files, and what they take with what they may."""
    if missing := find_missing():
        yield Finding(
            f"The files of {len(missing)} recording(s) are missing, such as {missing[0]}.",
            f"Put them back into {media_folder()} from a backup: its members media/<id>.",
        )
    if files := find_orphans():
        yield Finding(
            f"{len(files)} file(s) in {media_folder()} belong to no recording.",
            "`serve` removes them each minute; is it running?",
            is_note=True,
        )
    if (share := find_whole_share()).is_nearly_full:
        yield Finding(
            f"Recordings take {share.bytes // MEGABYTE} of {share.limit // MEGABYTE} MB.",
            "Raise TESTIMONIALS_ALL_RECORDINGS_MEGABYTES, or look at "
            "`testimonials recordings list`.",
        )
