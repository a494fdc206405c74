"""The table of OWASP's requirements names each of them once, and tests and places that exist."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/security.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.splitlines()
    if re.match(r"\| \d", line)
]
# How many requirements of levels 1 and 2 each chapter of version 5.0.0 has.
COUNTS = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7]


def test_each_requirement_stands_once_in_its_place() -> None:
    assert {len(row) for row in ROWS} == {5}
    ids = [tuple(int(part) for part in row[0].split(".")) for row in ROWS]
    assert ids == sorted(set(ids))
    assert list(Counter(each[0] for each in ids).values()) == COUNTS
    assert Counter(row[1] for row in ROWS) == {"1": 70, "2": 183}


def test_each_row_has_a_verdict_and_a_reason() -> None:
    for identifier, _, requirement, verdict, evidence in ROWS:
        assert requirement, identifier
        assert evidence, identifier
        assert verdict in ("holds", "does not apply", "not yet"), identifier
        # A test, a file, or a part of the document itself.
        assert verdict != "holds" or re.search(r"`[\w./-]+\.\w+|\]\(#", evidence), identifier


def test_what_is_named_exists() -> None:
    tests = re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)
    assert len(tests) > 150
    for path, name in tests:
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(), f"{path}::{name}"
    files = re.findall(
        r"`((?:testimonials|packaging|docs)/[\w./-]+|[\w.]+\.toml|constraints.txt)`", TEXT
    )
    missing = [each for each in files if each != "testimonials.toml" and not (ROOT / each).exists()]
    assert missing == []
    headings = {
        re.sub(r"[^\w\s-]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", TEXT, re.M)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= headings
