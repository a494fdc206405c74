"""Where large uploads and downloads are kept while they come and go."""

import os
import tempfile
from pathlib import Path


def choose_temporary_folder(instance_path: Path) -> str:
    """Return the folder for temporary files of this process: the system's, or the instance's.

    In a container the instance folder may be the only one that can be written to.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = str(instance_path)
        # SQLite looks for a folder by itself.
        os.environ.setdefault("SQLITE_TMPDIR", tempfile.tempdir)
        return tempfile.tempdir
