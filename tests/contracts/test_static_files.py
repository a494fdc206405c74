"""Style sheets and scripts: what names them, and the one way in which scripts send."""

import re
from pathlib import Path

import testimonials

ROOT = Path(testimonials.__file__).parent
STATIC = ROOT / "static"


def read_all(folder: Path, pattern: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in folder.rglob(pattern)}


def test_every_named_file_exists_and_every_file_is_named() -> None:
    pages = "\n".join(read_all(ROOT / "templates", "*.html").values())
    named = {STATIC / name for name in re.findall(r"'((?:js|css|img)/[^']+\.\w+)'", pages)}
    for path, script in read_all(STATIC / "js", "*.js").items():
        found = re.findall(r"(?:from |import |import\()'(\.[^']+)'", script)
        named |= {(path.parent / name).resolve() for name in found}
    kinds = ("js", "css", "img")
    assert named == {path for kind in kinds for path in (STATIC / kind).rglob("*.*")}


def test_one_script_sends_for_all() -> None:
    scripts = read_all(STATIC / "js", "*.js")
    assert [path.name for path, text in scripts.items() if "method: 'POST'" in text] == ["post.js"]
    # A file that is no module would leave its names to all others.
    pages = "\n".join(read_all(ROOT / "templates", "*.html").values())
    assert not re.findall(r"<script src=\S+'static'", pages)
