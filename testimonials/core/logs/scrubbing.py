"""Taking secrets and people's addresses out of what leaves for a log or a service of others.

The texts come from strangers, so the work grows no faster than their length: they are cut first,
and each pattern begins only where a run of its characters begins and gives nothing of it back.
"""

import re

# Longer than any path or line of ours.
LONGEST = 300
MOST_LINES = 100

# Each is found wherever it stands: in a message, in a traceback, in an address of the web.
PATTERNS = (
    # A user and a password in an address, before what looks like e-mail in it.
    (re.compile(r"(?<=://)[^\s/@\"':]*+:[^\s/@\"']*+(?=@)"), "(hidden)"),
    (
        re.compile(
            r"(?<![\w.+%~!#$&*/=?^`{|}'-])[\w.+%~!#$&*/=?^`{|}'-]++"
            r"@(?!\()[\w%-]++(?:\.[\w%-]++)+"
        ),
        "(address)",
    ),
    (re.compile(r"tst_live_\w++"), "(key)"),
    (re.compile(r"whsec_\w++"), "(secret)"),
    # A signed token: payload, time and signature.
    (re.compile(r"(?<![\w-])[\w-]{8,}+\.[\w-]{5,8}+\.[\w-]{20,}+"), "(token)"),
    # The token of a session, or any other that is random.
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "(token)"),
    # What moves a terminal's cursor or turns a line around.
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"), "\ufffd"),
)


def scrub(text: str, longest: int = LONGEST) -> str:
    """Return the first `longest` characters of `text`, with no addresses, keys, tokens, passwords.

    The word that is cut through is left out: half a secret would not be recognised as one.
    """
    if len(text) > longest:
        text = text[:longest]
        text = text[: max(text.rfind(end) for end in " /\n") + 1] + "..."
    for pattern, word in PATTERNS:
        text = pattern.sub(word, text)
    return text


def scrub_traceback(text: str) -> str:
    """Return the last lines of a traceback, each as `scrub` leaves it."""
    return "\n".join(scrub(line) for line in text.split("\n")[-MOST_LINES:])
