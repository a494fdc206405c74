"""Checks of Python, settings, files and the disk."""

import email.policy
import errno
import ipaddress
import os
import platform
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from testimonials.core.data.outages import MAKE_ROOM
from testimonials.core.data.temporary_files import choose_temporary_folder
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.health import (
    MEGABYTE,
    check_disk,
    check_room_left,
    data_folders,
)
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX, unknown_variables

# Several uploads of the largest photo at once.
UPLOADS = 50 * MEGABYTE
MOUNTS = Path("/proc/self/mounts")
# Their locks and shared memory aren't reliable enough for SQLite.
NETWORK_KINDS = {
    "9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
}  # fmt: skip


def check_python() -> Iterator[Finding]:
    # Not by version: distributions fix older releases too.
    if not hasattr(email.policy.Policy, "verify_generated_headers"):
        yield Finding(
            f"The mail library of Python {platform.python_version()} can write one header as two "
            "(CVE-2024-6923). The service checks its headers itself.",
            "Install Python 3.11.10, 3.12.5, 3.13.0 or later.",
        )


def check_settings() -> Iterator[Finding]:
    settings = current_settings()
    for variable in unknown_variables():
        yield Finding(
            f"{variable} is not a setting and is ignored.",
            "Check its spelling: `testimonials config show` lists all settings.",
        )
    for name, origin in (("BASE_URL", settings.base_url), ("APP_URL", settings.app_url)):
        if is_loopback(origin):
            if settings.smtp_url:
                yield Finding(
                    f"{name} is {origin}, which other machines can't reach; links in mail and "
                    "snippets start with it.",
                    f"Set {PREFIX}{name} to the public address of the service.",
                )
        elif origin.startswith("http://"):
            yield Finding(
                f"{name} is {origin}: passwords and keys travel unencrypted, and browsers block "
                "the widget on https pages.",
                f"Put a proxy with TLS in front and set {PREFIX}{name} to its https:// address.",
            )
    file = settings.database_file
    kind = find_filesystem(file.parent) if file is not None else ""
    if kind in NETWORK_KINDS:
        yield Finding(
            f"The SQLite file is on a network share ({kind}), where it can be damaged.",
            "Move it to a local disk, or move to PostgreSQL.",
        )


def check_files() -> Iterator[Finding]:
    settings = current_settings()
    folder = settings.instance_path
    paths = [folder, folder / "secret_key", folder / "testimonials.toml"]
    if settings.database_file is not None:
        paths += [Path(f"{settings.database_file}{ending}") for ending in ("", "-wal", "-shm")]
    if (backups := Path(settings.backup_path)).is_dir():
        paths += [backups, *backups.glob("*.tar.gz")]
    for path in filter(Path.exists, dict.fromkeys(paths)):
        found = path.stat()
        if found.st_mode & 0o077:
            yield Finding(
                f"{path} has the mode {stat.S_IMODE(found.st_mode):04o}: others may read it.",
                f"chmod {'0700' if path.is_dir() else '0600'} {shlex.quote(str(path))}",
            )
        if found.st_uid != folder.stat().st_uid:
            yield Finding(
                f"{path} belongs to another user than the instance folder.",
                f"chown --reference={shlex.quote(str(folder))} {shlex.quote(str(path))}",
            )


def check_room() -> Iterator[Finding]:
    settings = current_settings()
    temporary = choose_temporary_folder(settings.instance_path)
    free = shutil.disk_usage(temporary).free
    if free < UPLOADS and temporary not in data_folders():
        yield Finding(
            f"The folder for temporary files, {temporary}, has {free // MEGABYTE} MB free: photo "
            "uploads and large exports fail.",
            "Make room there, or set TMPDIR to another folder and restart.",
        )
    folders = " or ".join(dict.fromkeys(data_folders()))
    disk, room = check_disk(), check_room_left()
    if not disk.is_ok:
        is_full = disk.detail.endswith((os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)))
        yield Finding(
            f"The disk of {folders} {disk.detail}.",
            MAKE_ROOM
            if is_full
            else "Find out why (dmesg, mount, df), fix it and restart the "
            "service. A disk that became read-only is often failing.",
        )
    elif not room.is_ok:
        yield Finding(f"The disk of {folders} has {room.detail}.", MAKE_ROOM)
    elif (file := settings.database_file) is not None and file.exists():
        size, free = file.stat().st_size, _free_near(Path(settings.backup_path))
        if free < size:
            yield Finding(
                f"{free // MEGABYTE} MB are free for backups of {size // MEGABYTE} MB.",
                f"Set BACKUP_PATH to a folder on another disk, or make room. {MAKE_ROOM}",
            )


def _free_near(path: Path) -> int:
    folder = next(each for each in (path, *path.absolute().parents) if each.exists())
    return shutil.disk_usage(folder).free


def find_filesystem(folder: Path, mounts: Path = MOUNTS) -> str:
    """Return the type of file system that a folder is on, or "" if the system doesn't tell."""
    lines = mounts.read_text(errors="replace").splitlines() if mounts.exists() else []
    # Spaces and the like are written as octal numbers.
    kinds = {
        point.encode().decode("unicode_escape"): kind
        for _, point, kind, *_ in (line.split() for line in lines)
    }
    path = folder.resolve()
    return next((kinds[str(each)] for each in (path, *path.parents) if str(each) in kinds), "")


def is_loopback(origin: str) -> bool:
    """Return whether an address leads to this machine alone."""
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
