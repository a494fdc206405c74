"""The backups that are kept: their names, and which of them are removed."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from testimonials.core.settings.table import Settings

# What `serve` makes each day, and what it makes before an upgrade.
SCHEDULED = "scheduled"
_NAME = re.compile(r"(scheduled|backup|before-[0-9]{4})-([0-9]{8}T[0-9]{6}Z)\.tar\.gz")
_TIME = "%Y%m%dT%H%M%SZ"


class KeptBackup(NamedTuple):
    name: str
    size: int
    made_at: datetime

    @property
    def is_scheduled(self) -> bool:
        return self.name.startswith(SCHEDULED)


def read_time(name: str) -> datetime | None:
    """Return when a backup was made, as its name says; None if it is no name of a backup."""
    if (found := _NAME.fullmatch(name)) is None:
        return None
    try:
        return datetime.strptime(found[2], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def list_kept(folder: Path) -> list[KeptBackup]:
    """Return the backups in a folder, newest first; none if there is no such folder."""
    found = []
    if folder.is_dir():
        for path in folder.iterdir():
            made_at = read_time(path.name)
            if made_at is not None and path.is_file():
                found.append(KeptBackup(path.name, path.stat().st_size, made_at))
    return sort_kept(found)


def find_kept(file: Path, settings: Settings) -> Path:
    """Return where a backup is: as `file` says, or of that name in BACKUP_PATH or BACKUP_TO."""
    if not file.exists() and file.name == str(file):
        for place in filter(None, (settings.backup_path, settings.backup_to)):
            if (found := Path(place) / file).is_file():
                return found
    return file


def sort_kept(found: Iterable[KeptBackup]) -> list[KeptBackup]:
    return sorted(found, key=lambda each: (each.made_at, each.name), reverse=True)


def choose_expired(found: Iterable[KeptBackup], settings: Settings) -> list[KeptBackup]:
    """Return the scheduled backups in BACKUP_TO that nothing asks to keep, oldest first.

    Kept are the newest BACKUP_KEEP, and the newest of each of so many weeks and months.
    """
    scheduled = sort_kept(each for each in found if each.is_scheduled)
    kept = set(scheduled[: settings.backup_keep])
    for form, count in (
        ("%G-%V", settings.backup_keep_weeks),
        ("%Y-%m", settings.backup_keep_months),
    ):
        periods: dict[str, KeptBackup] = {}
        for each in scheduled:
            periods.setdefault(each.made_at.strftime(form), each)
        kept |= set(list(periods.values())[:count])
    return [each for each in reversed(scheduled) if each not in kept]
