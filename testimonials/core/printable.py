"""Words of strangers in messages: nothing in them may steer the terminal that shows them."""

# They shape letters and emoji, and steer nothing.
JOINERS = "\u200c\u200d"


def make_printable(text: str, longest: int | None = None) -> str:
    """Give a text on one line without control characters, cut if it is longer than told."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"
