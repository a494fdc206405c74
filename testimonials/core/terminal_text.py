"""Text from strangers in messages: nothing in it may control the terminal that shows it."""

import json
import re

# They shape letters and emoji, and are harmless.
JOINERS = "\u200c\u200d"


def make_printable(text: str, longest: int | None = None) -> str:
    """Return a text on one line without control characters, cut at `longest` characters."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def write_json(value: object) -> str:
    """Return indented JSON with readable letters and escaped control characters."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub(r"[^\n -~]", lambda found: _escape(found[0]), text)


def _escape(letter: str) -> str:
    is_shown = letter.isprintable() or letter in JOINERS
    return letter if is_shown else json.dumps(letter).strip('"')
