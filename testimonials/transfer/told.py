"""Words of strangers in messages: nothing in them may steer the terminal that shows them."""


def make_printable(text: str, longest: int | None = None) -> str:
    """Give a text on one line without control characters, cut if it is longer than told."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in line)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"
