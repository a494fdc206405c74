"""Style sheets and scripts: each address that a page or a script names is a file."""

import re
from pathlib import Path

import testimonials

ROOT = Path(testimonials.__file__).parent
STATIC = ROOT / "static"


def read_all(folder: Path, pattern: str) -> dict[Path, str]:
    """Return the text of each file of a kind."""
    return {path: path.read_text(encoding="utf-8") for path in folder.rglob(pattern)}


def test_every_named_file_exists_and_every_file_is_named() -> None:
    pages = "\n".join(read_all(ROOT / "templates", "*.html").values())
    named = {STATIC / name for name in re.findall(r"'((?:js|css|img)/[^']+\.\w+)'", pages)}
    for path, script in read_all(STATIC / "js", "*.js").items():
        found = re.findall(r"(?:from |import |import\()'(\.[^']+)'", script)
        named |= {(path.parent / name).resolve() for name in found}
    kinds = ("js", "css", "img")
    assert named == {path for kind in kinds for path in (STATIC / kind).rglob("*.*")}
