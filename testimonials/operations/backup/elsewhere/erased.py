"""The list of what was erased beside backups that are in a bucket, and what a restore knows of it.

In a folder the sweep keeps it; a bucket is asked only when there is something to write.
"""

from datetime import timedelta
from pathlib import Path

from flask import current_app

from testimonials.core.data.erased import PROJECT
from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.elsewhere.buckets import NotThere, PlaceFailed
from testimonials.operations.backup.elsewhere.copying import CopyFailed
from testimonials.operations.backup.elsewhere.places import open_place
from testimonials.operations.backup.scheduled import RETRIED_AFTER
from testimonials.privacy.erased_list import (
    NAME,
    ErasedList,
    ListDamaged,
    find_folder,
    find_projects,
    join_lists,
    learn_erased,
    parse_list,
    read_known,
    read_list,
    read_table,
    render_list,
)
from testimonials.settings.current import current_settings
from testimonials.settings.parsers import BUCKET
from testimonials.settings.table import Settings

# Between the rounds of the thread for backups, which are a minute apart.
PAUSE = timedelta(seconds=50)
# Where a process keeps the list that it saw in the bucket.
EXTENSION = "testimonials_erased_list"


def is_list_wanted() -> bool:
    """Return whether backups are in a bucket, and the list there may lack something."""
    settings = current_settings()
    if not settings.backup_to.startswith(BUCKET):
        return False
    known = read_known()
    db.session.rollback()
    return current_app.extensions.get(EXTENSION) != known


def is_list_due(row: BackgroundJob) -> bool:
    """Return whether it is time to look, an hour after a failure."""
    return is_over(row.started_at, RETRIED_AFTER if row.error else PAUSE)


def keep_list() -> None:
    """Learn from the list in the bucket, and write it anew if it lacks something; commits.

    Raises `CopyFailed`.
    """
    settings = current_settings()
    try:
        try:
            there = read_bucket_list(settings)
        except ListDamaged:
            # Written anew, as in a folder. It has no content to compare with.
            there = None
        begin_write()
        learn_erased(there or {})
        known = read_known()
        db.session.commit()
        if there != known:
            content = render_list(known)
            open_place(settings.backup_to).write(NAME, [content], len(content))
    except PlaceFailed as error:
        raise CopyFailed(f"{NAME}: {error}") from None
    current_app.extensions[EXTENSION] = known


def read_bucket_list(settings: Settings) -> ErasedList:
    """Return the list in the bucket BACKUP_TO, nothing without one.

    Raises `PlaceFailed` and `ListDamaged`.
    """
    if not settings.backup_to.startswith(BUCKET):
        return {}
    try:
        content = b"".join(open_place(settings.backup_to).read(NAME))
    except NotThere:
        return {}
    return parse_list(content, f"{settings.backup_to}/{NAME}")


def list_erased(
    source: str, settings: Settings, database: Path | None, unpacked: Path
) -> ErasedList:
    """Return what was erased, as far as anything here knows.

    That is the SQLite file that is replaced, the one in the backup, and the lists beside both.
    Raises `ListDamaged`, and `PlaceFailed` if a bucket can't be asked.
    """
    tables = (read_table(database) if database else {}, read_table(unpacked))
    folders = {settings.instance_path, Path(source).absolute().parent, find_folder(settings)}
    files = [read_list(folder / NAME) for folder in folders if folder is not None]
    # A project that was deleted, and then imported again, is there.
    back = {(PROJECT, id) for id in (find_projects(database) if database else ())}
    joined = join_lists((*tables, *files, read_bucket_list(settings)))
    return {key: at for key, at in joined.items() if key not in back}
