"""Part of the one file alone: unpacks large libraries in C when they're wanted.

Fonts for pictures come with Pillow's. They are most of what each start would unpack, and a service
on SQLite that nobody sends a photo or signs in to by a passkey needs none of them. The file keeps
them as modules of bytes (see testimonials.spec), which are read like any other module. Each worker
may be the first to want them, so a file gets its name whole.
"""

import importlib
import lzma
import os
import sys
from importlib.machinery import ModuleSpec

# By the package that needs them.
LATE = {
    "PIL": "late_pillow",
    "_cffi_backend": "late_cryptography",
    "cbor2": "late_cryptography",
    "cryptography": "late_cryptography",
    "psycopg_binary": "late_psycopg",
}


class LateLibraries:
    """A finder that finds nothing; it makes sure that others do."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Unpack what `name` needs, before the other finders look for it."""
        if module := LATE.pop(name, None):
            folder: str = sys._MEIPASS  # type: ignore[attr-defined]
            done = os.path.join(folder, module)
            # Each photo is decoded in a new process, which needn't read all of it again.
            if not os.path.exists(done):
                for place, content in importlib.import_module(module).FILES.items():
                    unpack(os.path.join(folder, place), content)
                del sys.modules[module]
                open(done, "w").close()
            importlib.invalidate_caches()
        return None


def unpack(path: str, content: bytes) -> None:
    """Write a compressed file, unless another process has."""
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    with open(draft, "wb") as file:
        file.write(lzma.decompress(content))
    os.rename(draft, path)


def read_from_own_inode() -> None:
    """Read modules from the file that runs, also after an upgrade has put another in its place."""
    if os.path.exists("/proc/self/exe"):
        importlib.import_module("pyimod02_importers").pyz_archive._filename = "/proc/self/exe"


read_from_own_inode()
sys.meta_path.insert(0, LateLibraries())  # type: ignore[arg-type]
