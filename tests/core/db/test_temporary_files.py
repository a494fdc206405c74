"""Where large uploads are kept meanwhile."""

import os
import tempfile

import pytest

from testimonials import create_app
from testimonials.core.settings.table import load_settings


def test_the_instance_folder_comes_last(monkeypatch, tmp_path):
    # As in a container whose file system is read-only but for the instance folder.
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc", "/sys"])
    with pytest.raises(FileNotFoundError):
        tempfile.gettempdir()
    # Whatever is set here is taken back after the test.
    monkeypatch.setenv("SQLITE_TMPDIR", "")
    monkeypatch.delenv("SQLITE_TMPDIR")
    create_app(load_settings({}, {"instance_path": str(tmp_path)}))
    assert os.environ["SQLITE_TMPDIR"] == tempfile.gettempdir()
    assert tempfile.gettempdir() == str(tmp_path)
