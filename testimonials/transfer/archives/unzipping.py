"""Reading the files of a zip that may come from anybody: known names alone, and up to a limit."""

import io
import re
import zipfile
import zlib

from marshmallow import ValidationError

from testimonials.transfer.archives.writing import JSON_NAME

# What the zip module raises for what is damaged, encrypted, packed in unknown ways, or no file.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    io.UnsupportedOperation,
)
MAX_FILES = 200_000

_IMAGE_FILE = re.compile(r"images/[0-9a-f]{24}\.webp")


def require_known_files(file: zipfile.ZipFile) -> None:
    """Raise `ValidationError` for a zip that holds what no archive of a project does."""
    names = file.namelist()
    if len(names) > MAX_FILES or len(set(names)) != len(names):
        raise ValidationError("It holds too many files, or one twice.")
    if JSON_NAME not in names:
        raise ValidationError(f"There is no {JSON_NAME} in it.")
    for name in names:
        if name != JSON_NAME and not _IMAGE_FILE.fullmatch(name):
            raise ValidationError(f"It holds a file that doesn’t belong there: {name[:80]!r}.")


def read_entry(file: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a file's bytes; a small file that unpacks to a huge one is not unpacked to its end.

    Raises `ValidationError`.
    """
    try:
        with file.open(name) as opened:
            content = opened.read(limit + 1)
    except KeyError:
        raise ValidationError(f"There is no {name} in it.") from None
    if len(content) > limit:
        raise ValidationError(f"{name} is larger than {limit // (1024 * 1024)} MB.")
    return content
