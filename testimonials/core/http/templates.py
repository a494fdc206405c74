"""Templates, compiled once."""

import contextlib
import hashlib
import os
from pathlib import Path

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from jinja2.utils import LRUCache

from testimonials.core.settings.current import current_settings

FOLDER = "templates"
# A page has up to twenty. The others are read again, which takes a millisecond.
MOST_IN_MEMORY = 60


class CompiledTemplates(BytecodeCache):
    """Compiled templates in the instance folder, each with a hash of what it was compiled from.

    To compile those of the first page takes as long as to answer it a hundred times.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        # The one file has its templates in another folder at each start.
        return hashlib.sha256(name.encode()).hexdigest()[:32]

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            bucket.bytecode_from_string((self._folder / bucket.key).read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        path = self._folder / bucket.key
        draft = path.with_suffix(f".{os.getpid()}")
        # Where nothing can be written, or no instance is, it is compiled at each start.
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            draft.write_bytes(bucket.bytecode_to_string())
            draft.replace(path)


def keep_templates(app: Flask) -> None:
    folder = current_settings(app).instance_path / FOLDER
    app.jinja_env.bytecode_cache = CompiledTemplates(folder)
    app.jinja_env.cache = LRUCache(MOST_IN_MEMORY)  # type: ignore[assignment]
