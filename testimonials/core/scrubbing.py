"""Taking secrets and people's addresses out of what leaves for a log or a service of others."""

import re

# Each is found wherever it stands: in a message, in a traceback, in an address of the web.
PATTERNS = (
    # A user and a password in an address, before what looks like e-mail in it.
    (re.compile(r"(?<=://)[^\s/@\"']*:[^\s/@\"']*(?=@)"), "(hidden)"),
    (re.compile(r"[\w.+%~!#$&*/=?^`{|}'-]+@(?!\()[\w%-]+(?:\.[\w%-]+)+"), "(address)"),
    (re.compile(r"tst_live_\w+"), "(key)"),
    (re.compile(r"whsec_\w+"), "(secret)"),
    # A signed token: payload, time and signature.
    (re.compile(r"[\w-]{8,}\.[\w-]{5,8}\.[\w-]{20,}"), "(token)"),
    # The token of a session, or any other that is random.
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "(token)"),
)


def scrub(text: str) -> str:
    """Give `text` without e-mail addresses, keys, tokens and passwords in addresses."""
    for pattern, word in PATTERNS:
        text = pattern.sub(word, text)
    return text
