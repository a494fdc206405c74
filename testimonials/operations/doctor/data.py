"""What `testimonials doctor` says of the database, the clock, backups and background work."""

import re
import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.data.sqlite_file import find_damage, find_obstacle
from testimonials.core.logs.scrubbing import scrub
from testimonials.core.mail.outbox import OutboxMail
from testimonials.extensions import begin_write, db
from testimonials.migrations import runner
from testimonials.operations.backup.scheduled import BACKUP_JOB, is_backup_wanted
from testimonials.operations.doctor.findings import NO_SCHEMA, Finding
from testimonials.operations.jobs.running import JOBS
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial

# What clocks that are set by the network differ by at most, and much more.
CLOCK_DIFFERENCE = timedelta(minutes=1)
# The jobs of each round are done every minute.
JOB_SILENCE = timedelta(minutes=15)
MOST_DAMAGE = 3
NOT_DAMAGED = (
    "The file may well be sound. Look at the disk (dmesg, mount, df) and at the modes of {path} "
    "and its folder, and run this as the service's own user."
)


def check_database() -> Iterator[Finding]:
    """Look whether the database answers and is whole."""
    path = current_settings().database_file
    if path is None:
        db.session.execute(text("SELECT 1"))
        return
    if not path.exists():
        # To connect would make an empty one.
        yield Finding(
            f"There is no database at {path}.",
            "`testimonials serve` makes a new one. If there should be data, look whether "
            "TESTIMONIALS_INSTANCE_PATH and TESTIMONIALS_DATABASE_URL name the right place.",
        )
        return
    if obstacle := find_obstacle(path):
        yield Finding(f"The database can't be used: {obstacle}.", NOT_DAMAGED.format(path=path))
        return
    # A damaged file may not even be opened as the service opens it.
    damage = find_damage(path)[:MOST_DAMAGE]
    for words in damage:
        yield Finding(
            f"The database is damaged: {scrub(words)}",
            "Stop the service, keep a copy of the files, and restore the newest backup: "
            "`testimonials restore FILE`.",
        )
    if not damage:
        yield from _check_writing(path)


def _check_writing(path: Path) -> Iterator[Finding]:
    """Look whether the file can be written to, without doing it."""
    try:
        begin_write()
    except OperationalError as error:
        if "locked" in str(error.orig):
            yield Finding(
                "Something has kept the database from being written to for over 5 seconds, so "
                "that the service answers 503 BUSY.",
                f"Find the program and end it: fuser -v {shlex.quote(str(path))}",
            )
        else:
            yield Finding(
                f"The database can't be written to: {error.orig}.", NOT_DAMAGED.format(path=path)
            )


def check_schema() -> Iterator[Finding]:
    """Look whether the database is at the schema of this program."""
    path = current_settings().database_file
    if path is not None and not path.exists():
        yield NO_SCHEMA
        return
    revision, newest = runner.current(db.engine), runner.head()
    if revision is None:
        yield Finding(
            "The database is empty.",
            "Start `testimonials serve`, or run `testimonials db upgrade`.",
        )
    elif revision > newest:
        yield Finding(
            f"The database is at revision {revision}, and this program knows {newest}.",
            "Install the newer version, or restore a backup made with this one.",
        )
    elif revision != newest:
        yield Finding(
            f"The database is at revision {revision}, and this program needs {newest}.",
            "Stop the service and run `testimonials db upgrade`.",
        )


def check_clock() -> Iterator[Finding]:
    """Look whether the clock goes with the database's, and whether it was ever ahead."""
    now = clock.now()
    if db.engine.dialect.name == "postgresql":
        theirs: datetime | None = db.session.scalar(select(func.now()))
        if theirs is not None and abs(theirs - now) > CLOCK_DIFFERENCE:
            yield Finding(
                f"The clock of this machine says {iso(now)}, the database's {iso(theirs)}.",
                "Let both be set by the network: timedatectl set-ntp true",
            )
    columns = (Testimonial.created_at, OutboxMail.created_at, Account.created_at)
    newest = max((time for column in columns if (time := _newest(column))), default=None)
    if newest is not None and newest > now + CLOCK_DIFFERENCE:
        yield Finding(
            f"The newest row is from {iso(newest)}, and now it is {iso(now)}: the clock was ahead, "
            "or is behind.",
            "Set it by the network: timedatectl set-ntp true. Links and limits count by it.",
        )


def check_backups() -> Iterator[Finding]:
    """Look whether the scheduled backups are made."""
    if not current_settings().is_sqlite:
        yield Finding(
            "PostgreSQL is not backed up by this program.",
            "Do it with pg_dump, and keep the secret key too: see Backup in docs/operating.md.",
            is_note=True,
        )
    elif not current_settings().backup_hours:
        yield Finding(
            "Backups by `serve` are switched off (BACKUP_HOURS=0).",
            "Run `testimonials backup FILE` by a timer of your own.",
            is_note=True,
        )
    if not is_backup_wanted():
        return
    job = db.session.get(BackgroundJob, BACKUP_JOB)
    if job is not None and job.error is not None:
        time = f" at {iso(job.failed_at)}" if job.failed_at else ""
        yield Finding(
            f"The last backup failed{time}: {scrub(job.error)}",
            "Mend that; `testimonials backup FILE` makes one now.",
        )
    folder = Path(current_settings().backup_path)
    times = [path.stat().st_mtime for path in folder.glob("*.tar.gz")] if folder.is_dir() else []
    hours = current_settings().backup_hours
    age = clock.now().timestamp() - max(times, default=0)
    if not times:
        yield Finding(
            f"There is no backup in {folder}.",
            "Is `testimonials serve` running? `testimonials backup FILE` makes one now.",
        )
    elif age > 2 * hours * 3600:
        yield Finding(
            f"The newest backup in {folder} is {age / 3600:.0f} hours old; one is due every "
            f"{hours} hours.",
            "Is `testimonials serve` running? `testimonials backup FILE` makes one now.",
        )


def check_work() -> Iterator[Finding]:
    """Look whether the background work is done."""
    known = {job.name: job for job in db.session.scalars(select(BackgroundJob))}
    names = [job.name for job in JOBS if job.name != BACKUP_JOB]
    ended = {name: known[name].finished_at for name in names if name in known}
    newest = max((time for time in ended.values() if time), default=None)
    if newest is None or newest < clock.now() - JOB_SILENCE:
        since = f"since {iso(newest)}" if newest else "on this database yet"
        yield Finding(
            f"No background work was done {since}.",
            "Start `testimonials serve`; it sends mail and sweeps too. Its log says what fails.",
        )
        return
    for name, time in ended.items():
        error = known[name].error
        if error is not None or time is None or time < clock.now() - JOB_SILENCE:
            words = f": {_first_line(error)}" if error else ""
            yield Finding(
                f"The job {name} last ended well {f'at {iso(time)}' if time else 'never'}{words}.",
                "Search the log for “background work failed”.",
            )


def _newest(column: object) -> datetime | None:
    found: datetime | None = db.session.scalar(select(func.max(column)))
    return found


def _first_line(error: str) -> str:
    return re.split(r"[\r\n]", scrub(error))[0][:200]
