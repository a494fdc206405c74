"""The folder for large uploads and downloads in transit."""

import os
import tempfile
from pathlib import Path


def choose_temporary_folder(instance_path: Path) -> str:
    """Return the folder for temporary files of this process: the system's, or the instance's.

    In a container the instance folder may be the only writable one.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = str(instance_path)
        # SQLite chooses its own otherwise.
        os.environ.setdefault("SQLITE_TMPDIR", tempfile.tempdir)
        return tempfile.tempdir
