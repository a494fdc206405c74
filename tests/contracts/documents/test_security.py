"""The table of OWASP's requirements names each of them once, and tests and places that exist."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/security.md").read_text()
ROWS = re.findall(r"^\| (\d[\d., ]+) \| (.+) \| (.+) \|$", TEXT, re.MULTILINE)
# How many requirements of levels 1 and 2 each chapter of version 5.0.0 has.
COUNTS = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7]


def ids_that_do_not_apply() -> list[str]:
    """Return the ids of that section, whose ranges name the first and the last."""
    section = TEXT.partition("## Doesn't apply\n")[2].partition("\n## ")[0]
    found = []
    for start, last, end in re.findall(r"(\d+\.\d+\.)(\d+)(?:-\d+\.\d+\.(\d+))?", section):
        found += [f"{start}{number}" for number in range(int(last), int(end or last) + 1)]
    return found


def test_each_requirement_stands_once():
    ids = [each for row in ROWS for each in row[0].split(", ")] + ids_that_do_not_apply()
    assert len(ids) == len(set(ids))
    assert list(Counter(sorted(int(each.split(".")[0]) for each in ids)).values()) == COUNTS


def test_what_holds_has_evidence():
    held = TEXT.partition("## What holds\n")[2]
    for line in re.findall(r"^\| \d.*", held, re.MULTILINE):
        # A test, a file, or a part of the document itself.
        assert re.search(r"`test_\w+`|`[\w./-]+\.\w+|\]\(#", line), line


def test_what_is_named_exists():
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    tests = set(re.findall(r"`(test_\w+)`", TEXT))
    assert len(tests) > 70
    assert tests <= set(re.findall(r"def (test_\w+)\(", sources))
    files = re.findall(r"`([a-z][\w-]*/[\w./-]+\.\w+|[\w.]+\.toml|constraints.txt)`", TEXT)
    assert len(files) > 50
    missing = [
        each
        for each in files
        # Of the program the names begin in its package.
        if each != "testimonials.toml"
        and not any((ROOT / start / each).exists() for start in ("", "testimonials"))
    ]
    assert missing == []
