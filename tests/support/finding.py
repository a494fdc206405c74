"""What stands in a page or a mail."""

import re
from html import unescape


def find(pattern: str, text: str) -> str:
    """Return the group of a pattern in a text, as a browser reads it."""
    found = re.search(pattern, text)
    assert found, f"{pattern} isn't in: {text}"
    return unescape(found[1])
