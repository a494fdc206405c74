"""`scripts/minify`: writes `static/widget/minified.json`, the widget's code as it is served.

The service doesn't need Node.js, so the minified code is kept beside its source.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from testimonials.widget.script import CORE, FOLDER, MINIFIED, PIECES, digest_sources

ROOT = Path(__file__).parents[1]
TERSER = ROOT / "packages" / "examples" / "node_modules" / ".bin" / "terser"
OPTIONS = [
    "--module",
    "--ecma",
    "2020",
    "--mangle",
    "--compress",
    "passes=3,unsafe_arrows,pure_getters,conditionals=false",
]


def minify_all() -> dict[str, str]:
    """Return the minified core and pieces, and a digest of their sources."""
    found = {"sources": digest_sources(), "core": minify(CORE)}
    return found | {name: minify(files) for name, files in PIECES.items() if files}


def minify(files: Iterable[str]) -> str:
    """Return these files as a single minified module."""
    source = "".join((FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in files)
    source = source.replace("export const ", "const ")
    command = [TERSER, *OPTIONS]
    found = subprocess.run(command, input=source, capture_output=True, check=True, text=True)
    return found.stdout.strip()


def main() -> None:
    text = json.dumps(minify_all(), ensure_ascii=False, indent=0)
    (FOLDER / MINIFIED).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
