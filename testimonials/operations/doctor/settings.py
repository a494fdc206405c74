"""What `testimonials doctor` says of settings, files and the disk."""

import ipaddress
import os
import platform
import shlex
import shutil
import stat
from collections.abc import Iterator
from email.errors import MessageError
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

from testimonials.core.data.temporary_files import choose_temporary_folder
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.health import (
    LEAST_FREE,
    MEGABYTE,
    check_disk,
    check_room_left,
    data_folders,
)
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX as PREFIX
from testimonials.settings.table import unknown_variables

# The largest photo for each of some requests at once.
UPLOADS = 50 * MEGABYTE
MOUNTS = Path("/proc/self/mounts")
# On these, locks and shared memory between processes don't hold what SQLite needs.
NETWORK_KINDS = {
    "9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
}  # fmt: skip

# Distributions mend older releases too, so what the library does counts, and not its number.
SAFE_PYTHONS = "3.11.10, 3.12.5 or 3.13.0"


class _TwoLines(str):
    name = "Subject"

    def fold(self, **_: object) -> str:
        return "Subject: one\nBcc: another\n"


def writes_extra_headers() -> bool:
    """Tell whether this Python's mail library lets one header become two (CVE-2024-6923)."""
    message = EmailMessage()
    message["Subject"] = _TwoLines()
    try:
        return "Bcc" in message.as_string()
    except MessageError:
        return False


def check_python() -> Iterator[Finding]:
    """Look whether this Python has a weakness that touches the service."""
    if writes_extra_headers():
        yield Finding(
            f"Python {platform.python_version()} has a mail library that lets one header become "
            "two (CVE-2024-6923). The service writes and checks its headers itself; nothing else "
            "stands behind that.",
            f"Install a newer release: {SAFE_PYTHONS}, or later.",
        )


def check_settings() -> Iterator[Finding]:
    """Look for settings that are misspelt, or that don't fit each other."""
    settings = current_settings()
    for variable in unknown_variables():
        yield Finding(
            f"{variable} is no setting and is ignored.",
            "Check its spelling: `testimonials config show` lists all.",
        )
    for name, origin in (("BASE_URL", settings.base_url), ("APP_URL", settings.app_url)):
        yield from _check_origin(name, origin, bool(settings.smtp_url))
    file = settings.database_file
    kind = find_filesystem(file.parent) if file is not None else ""
    if kind in NETWORK_KINDS:
        yield Finding(
            f"The SQLite file is on a network share ({kind}), where it can be damaged.",
            "Move it to a disk of this machine, or move to PostgreSQL.",
        )


def check_files() -> Iterator[Finding]:
    """Look whether anybody but the service's user may read what it keeps."""
    settings = current_settings()
    folder = settings.instance_path
    paths = [folder, folder / "secret_key", folder / "testimonials.toml"]
    if settings.database_file is not None:
        paths += [Path(f"{settings.database_file}{ending}") for ending in ("", "-wal", "-shm")]
    if (backups := Path(settings.backup_path)).is_dir():
        paths += [backups, *backups.glob("*.tar.gz")]
    for path in filter(Path.exists, dict.fromkeys(paths)):
        found = path.stat()
        wanted = 0o700 if path.is_dir() else 0o600
        if found.st_mode & 0o077:
            yield Finding(
                f"{path} has the mode {stat.S_IMODE(found.st_mode):04o}: others may read it.",
                f"chmod {wanted:04o} {shlex.quote(str(path))}",
            )
        if found.st_uid != folder.stat().st_uid:
            yield Finding(
                f"{path} belongs to another user than the instance folder.",
                f"chown --reference={shlex.quote(str(folder))} {shlex.quote(str(path))}",
            )


def check_room() -> Iterator[Finding]:
    """Look whether there is room on the disk, also for uploads and for a copy of the database."""
    yield from _check_temporary_folder()
    found = check_disk()
    folders = " or ".join(dict.fromkeys(data_folders()))
    if not found.is_ok:
        yield Finding(
            f"The disk of {folders} {found.detail}.",
            "Look why (dmesg, mount, df). A disk that became read-only most often fails: nothing "
            "is stored until it is mended and the service is started again.",
        )
        return
    room = check_room_left()
    if not room.is_ok:
        yield Finding(
            f"The disk of {folders} has {room.detail}.",
            f"Make room: at least {LEAST_FREE // MEGABYTE} MB. `testimonials prune` removes what "
            "has had its time.",
        )
        return
    settings = current_settings()
    database = settings.database_file
    if database is None or not database.exists():
        return
    size = database.stat().st_size
    free = shutil.disk_usage(nearest_folder(Path(settings.backup_path))).free
    if free < size:
        yield Finding(
            f"{free // MEGABYTE} MB are free for backups of {size // MEGABYTE} MB.",
            "Make room, or set BACKUP_PATH to a folder on another disk.",
        )


def _check_temporary_folder() -> Iterator[Finding]:
    folder = choose_temporary_folder(current_settings().instance_path)
    free = shutil.disk_usage(folder).free
    if free < UPLOADS and folder not in data_folders():
        yield Finding(
            f"The folder for temporary files, {folder}, has {free // MEGABYTE} MB free: photos "
            "can't be uploaded, nor large projects exported.",
            "Make room there, or name another folder by TMPDIR and start again.",
        )


def nearest_folder(path: Path) -> Path:
    """Return the folder, or the nearest one above it that is there already."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def find_filesystem(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the kind of file system that a folder is on; empty where the machine doesn't tell."""
    if not mounts.exists():
        return ""
    best, kind = "", ""
    target = os.path.realpath(folder)
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        _, point, found, *_ = line.split()
        # Spaces and the like are written as octal numbers.
        point = point.encode().decode("unicode_escape")
        is_above = target == point or target.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, found
    return kind


def is_loopback(origin: str) -> bool:
    """Tell whether an address leads to this machine alone."""
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _check_origin(name: str, origin: str, has_mail: bool) -> Iterator[Finding]:
    if is_loopback(origin):
        if has_mail:
            yield Finding(
                f"{name} is {origin}, which leads nowhere from other machines; links in mails and "
                "snippets start with it.",
                f"Set {PREFIX}{name} to the address under which the world sees the service.",
            )
    elif origin.startswith("http://"):
        yield Finding(
            f"{name} is {origin}: passwords and keys travel readable, and browsers refuse the "
            "widget on pages with https.",
            f"Put a proxy with TLS in front and set {PREFIX}{name} to its https:// address.",
        )
