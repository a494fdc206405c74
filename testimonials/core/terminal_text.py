"""Words of strangers in messages: nothing in them may steer the terminal that shows them."""

import json
import re

# They shape letters and emoji, and steer nothing.
JOINERS = "\u200c\u200d"


def make_printable(text: str, longest: int | None = None) -> str:
    """Return a text on one line without control characters, cut if it is longer than told."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def write_json(value: object) -> str:
    """Return indented JSON; letters are readable, and what steers a terminal is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub(r"[^\n -~]", lambda found: _escape(found[0]), text)


def _escape(letter: str) -> str:
    is_shown = letter.isprintable() or letter in JOINERS
    return letter if is_shown else json.dumps(letter).strip('"')
