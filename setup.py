"""Compiles the catalogs before setuptools builds the package, for an editable install as well.

All else about the package stands in pyproject.toml.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

TRANSLATIONS = Path(__file__).parent / "testimonials" / "translations"
# The same sources make the same bytes on any day.
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def compile_catalogs() -> None:
    """Write the `.mo` beside each `.po` that has changed since, in one step."""
    for source in sorted(TRANSLATIONS.glob("*/LC_MESSAGES/*.po")):
        target, changed = source.with_suffix(".mo"), source.stat().st_mtime_ns
        # The time of its source says which one it was made from; an older one counts as another.
        if target.exists() and target.stat().st_mtime_ns == changed:
            continue
        with source.open("rb") as file:
            catalog = read_po(file, locale=source.parents[1].name, abort_invalid=True)
        catalog.creation_date = catalog.revision_date = DAY
        unfinished = target.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as file:
            write_mo(file, catalog)
        os.utime(unfinished, ns=(changed, changed))
        unfinished.replace(target)


if __name__ == "__main__":
    # Tests compile too, where there is no need of it.
    from setuptools import setup

    compile_catalogs()
    setup()
