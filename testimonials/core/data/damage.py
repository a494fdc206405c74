"""A damaged SQLite file: how it is recognised, and what is said of it wherever it shows."""

import contextlib
import logging
import sqlite3
from pathlib import Path

from flask import has_app_context

from testimonials.core.data.kept_backups import list_kept
from testimonials.core.data.sqlite_file import find_damage
from testimonials.settings.current import current_settings
from testimonials.settings.table import Settings, load_settings

logger = logging.getLogger("testimonials")

# In the instance folder, for all processes: the number of the damaged file, and what is wrong.
MARK = "damaged"


def is_damage(error: BaseException) -> bool:
    """Return whether SQLite, also by way of SQLAlchemy, says that the file is damaged."""
    code: int = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_lost(file: Path | None) -> bool:
    """Return whether an empty file is not that of a new instance, which has no backups."""
    settings = _find_settings()
    return (
        file is not None
        and file == settings.database_file
        and bool(list_kept(Path(settings.backup_path)))
    )


def describe_damage(reason: str, *, is_public: bool = False) -> str:
    """Return what is wrong, and the advice; no folder is named if it `is_public`."""
    advice = advise_restore(is_public=is_public)
    return f"The database is damaged: {reason.rstrip('.')}. {advice}"


def advise_restore(*, is_public: bool = False) -> str:
    """Return where the newest backup is, and the one command that restores it."""
    settings = _find_settings()
    for place in filter(None, (settings.backup_path, settings.backup_to)):
        with contextlib.suppress(OSError):
            if kept := list_kept(Path(place)):
                where = "" if is_public else f" in {place}"
                return (
                    f"The newest backup is {kept[0].name}{where}. Stop the service, then run "
                    f"`testimonials restore {kept[0].name} --replace`; the damaged files are kept."
                )
    return (
        "There is no backup in BACKUP_PATH or BACKUP_TO. Fetch one from where you keep others, "
        "stop the service, then run `testimonials restore FILE --replace`."
    )


def note_damage(reason: str) -> None:
    """Let `read_damage` tell of it in all processes, until there is another file."""
    settings = _find_settings()
    with contextlib.suppress(OSError):
        (settings.instance_path / MARK).write_text(f"{_number_file(settings)} {reason}")


def read_damage() -> str | None:
    """Return what was noted of the file that is there now."""
    settings = _find_settings()
    with contextlib.suppress(OSError):
        number, _, reason = (settings.instance_path / MARK).read_text().partition(" ")
        return reason if number == _number_file(settings) else None
    return None


def look_for_damage() -> None:
    """Read the whole file, and note and log what is wrong, or that nothing is."""
    settings = _find_settings()
    if settings.database_file is None:
        return
    try:
        found = find_damage(settings.database_file)
    except sqlite3.OperationalError:
        # Something else is wrong, and whoever uses the file is told.
        return
    if found:
        note_damage(found[0])
        logger.error(describe_damage(found[0]))
    else:
        (settings.instance_path / MARK).unlink(missing_ok=True)


def _number_file(settings: Settings) -> str:
    # A restore puts another file in its place.
    return str(settings.database_file.stat().st_ino) if settings.database_file else ""


def _find_settings() -> Settings:
    return current_settings() if has_app_context() else load_settings(makes_instance=False)
