"""Removing secrets and e-mail addresses from texts for a log or another service.

Strangers may have written them, so the patterns must run in linear time: texts are cut first, and
the patterns don't backtrack.
"""

import re

# Longer than any path or line of our own.
LONGEST = 300
MAX_LINES = 100

PATTERNS = (
    # A user and a password in a URL, before what looks like an e-mail address in it.
    (re.compile(r"(?<=://)[^\s/@\"':]*+:[^\s/@\"']*+(?=@)"), "(hidden)"),
    (
        re.compile(
            r"(?<![\w.+%~!#$&*/=?^`{|}'-])[\w.+%~!#$&*/=?^`{|}'-]++"
            r"@(?!\()[\w%-]++(?:\.[\w%-]++)+"
        ),
        "(address)",
    ),
    (re.compile(r"tst_(?:live|tok|sign)_\w++"), "(key)"),
    (re.compile(r"whsec_[\w+/=]++"), "(secret)"),
    # A signed token: payload, time and signature.
    (re.compile(r"(?<![\w-])[\w-]{8,}+\.[\w-]{5,8}+\.[\w-]{20,}+"), "(token)"),
    # A JSON Web Token.
    (re.compile(r"(?<![\w-])eyJ[\w-]*+\.[\w-]++\.[\w-]++"), "(token)"),
    # A session token, or another random one.
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "(token)"),
    # Characters that move a terminal's cursor or reverse a line.
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"), "\ufffd"),
)


def scrub(text: str, longest: int = LONGEST) -> str:
    """Return the first `longest` characters of `text`, without addresses, keys, tokens, passwords.

    A word that is cut is left out: half a secret would not be recognised.
    """
    if len(text) > longest:
        text = text[:longest]
        text = text[: max(text.rfind(end) for end in " /\n") + 1] + "..."
    for pattern, word in PATTERNS:
        text = pattern.sub(word, text)
    return text


def scrub_traceback(text: str) -> str:
    """Return the last lines of a traceback, each as `scrub` leaves it."""
    return "\n".join(scrub(line) for line in text.split("\n")[-MAX_LINES:])
