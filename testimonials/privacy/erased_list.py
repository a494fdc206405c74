"""The list of what was erased, as a file beside the data and beside its backups."""

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import delete, select

from testimonials.core import clock
from testimonials.core.data.erased import KINDS, PROJECT, Erased
from testimonials.core.data.sqlite_file import open_file
from testimonials.core.faults import refusing
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import give_to_owner, sync

logger = logging.getLogger("testimonials")

NAME = "erased.json"
FORMAT = "testimonials-erased"

# Kind and id, to when it was erased in milliseconds.
ErasedList = dict[tuple[str, str], int]


class ListDamaged(Exception):
    """The file is not a list of what was erased."""


def read_list(file: Path) -> ErasedList:
    """Return what the file says, nothing if there is none; raise `ListDamaged`."""
    try:
        return parse_list(file.read_bytes(), str(file))
    except FileNotFoundError:
        return {}


def parse_list(content: bytes, name: str) -> ErasedList:
    """Return what a file of this name says; raise `ListDamaged`."""
    with refusing(lambda _fault: ListDamaged(f"{name} is damaged")):
        values = json.loads(content)
        if values["format"] != FORMAT:
            raise ValueError(FORMAT)
        rows = [(str(row["kind"]), str(row["id"]), int(row["at"])) for row in values["erased"]]
    return {(kind, id): at for kind, id, at in rows if kind in KINDS}


def read_table(database: Path) -> ErasedList:
    """Return what an SQLite database says; nothing if it is older than the table, or damaged."""
    if not database.exists():
        return {}
    with contextlib.suppress(sqlite3.Error), open_file(database, wait=1) as opened:
        rows = opened.execute("SELECT kind, id, erased_at FROM erased").fetchall()
        return {(kind, id): at for kind, id, at in rows}
    return {}


def find_projects(database: Path) -> set[str]:
    """Return the ids of the projects in an SQLite database, none if it can't be read."""
    if not database.exists():
        return set()
    with contextlib.suppress(sqlite3.Error), open_file(database, wait=1) as opened:
        return {row[0] for row in opened.execute("SELECT id FROM project")}
    return set()


def join_lists(lists: Iterable[ErasedList]) -> ErasedList:
    """Return everything in any of the lists, with the latest time of each."""
    joined: ErasedList = {}
    for each in lists:
        for key, at in each.items():
            joined[key] = max(at, joined.get(key, at))
    return joined


def render_list(erased: ErasedList) -> bytes:
    """Return the content of the file."""
    rows = [{"kind": key[0], "id": key[1], "at": at} for key, at in sorted(erased.items())]
    return json.dumps({"format": FORMAT, "erased": rows}, indent=0).encode()


def write_list(folder: Path, erased: ErasedList) -> None:
    """Write the file into a folder, whole or not at all."""
    draft = folder / f".{NAME}.{os.getpid()}"
    try:
        draft.write_bytes(render_list(erased))
        draft.chmod(0o600)
        give_to_owner(draft, folder)
        sync(draft)
        draft.replace(folder / NAME)
    finally:
        draft.unlink(missing_ok=True)


def learn_files() -> None:
    """Add to the database what only the files know; the caller commits.

    They know more after a restore from before there was a table, and on a new machine.
    """
    learn_erased(join_lists(_read_or_nothing(folder / NAME) for folder in _list_folders()))


def learn_erased(erased: ErasedList) -> None:
    """Add to the database what a list knows; the caller commits."""
    since = clock.to_milliseconds(clock.expired_until(current_settings().erased_days))
    known = read_known()
    for (kind, id), at in erased.items():
        is_back = kind == PROJECT and db.session.get(Project, id) is not None
        if at > max(since, known.get((kind, id), 0)) and not is_back:
            db.session.merge(Erased(kind=kind, id=id, erased_at=clock.from_milliseconds(at)))
    db.session.flush()


def write_lists() -> None:
    """Write what the database knows beside it, and beside its backups."""
    erased = read_known()
    for folder in _list_folders():
        try:
            if folder.is_dir() and _read_or_nothing(folder / NAME) != erased:
                write_list(folder, erased)
        except OSError as error:
            # A full disk, or one that is away, must not keep the sweep from its work.
            logger.warning("%s can't be written to %s: %s", NAME, folder, error.strerror)


def delete_old_erasures() -> int:
    """Forget what was erased so long ago that no backup has it; return how many."""
    until = clock.expired_until(current_settings().erased_days)
    old = delete(Erased).where(Erased.erased_at <= until).returning(Erased.id)
    return len(db.session.scalars(old).all())


def _list_folders() -> list[Path]:
    settings = current_settings()
    elsewhere = [Path(settings.backup_to)] if settings.backup_to else []
    return [settings.instance_path, Path(settings.backup_path), *elsewhere]


def read_known() -> ErasedList:
    """Return what the database knows."""
    rows = db.session.scalars(select(Erased))
    return {(row.kind, row.id): clock.to_milliseconds(row.erased_at) for row in rows}


def _read_or_nothing(file: Path) -> ErasedList:
    """Return what the file says; one that is damaged is written anew."""
    try:
        return read_list(file)
    except (ListDamaged, OSError):
        return {}
