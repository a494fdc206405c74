"""Passwords: what is good enough, and how they are kept."""

import threading
import unicodedata

from werkzeug.security import check_password_hash, generate_password_hash

MIN_LENGTH = 10
MAX_LENGTH = 1024
METHOD = "scrypt:32768:8:3"
# zxcvbn's time grows so steeply with length that 72 odd characters keep the one core busy for
# seconds; 24 take a fraction of one, and what lies behind them makes no password common.
JUDGED_LENGTH = 24

# Each hash takes 32 MiB for a moment; two at a time keep a rush of them from taking the memory.
_slots = threading.BoundedSemaphore(2)


def find_password_problem(password: str, email: str) -> str | None:
    """Say what is wrong with a new password, or give None when it is good."""
    if len(password) < MIN_LENGTH:
        return f"Use at least {MIN_LENGTH} characters; this has {len(password)}."
    if len(password) > MAX_LENGTH:
        return f"Use at most {MAX_LENGTH} characters."
    lowered = password.casefold()
    if lowered in email.casefold() or email.casefold() in lowered:
        return "Use something that is not your e-mail address."
    # Its word lists take 12 MB; only a process that sees a new password needs them.
    from zxcvbn import zxcvbn

    if zxcvbn(password[:JUDGED_LENGTH])["score"] < 2:
        return "This one is easy to guess. Use a few unrelated words, or a longer phrase."
    return None


def hash_password(password: str) -> str:
    """Give the salted scrypt hash under which a password is stored."""
    with _slots:
        return generate_password_hash(_normalize(password), method=METHOD)


def is_password(stored: str, password: str) -> bool:
    """Tell whether `password` is the one that `stored` was made of."""
    with _slots:
        return check_password_hash(stored, _normalize(password))


def _normalize(password: str) -> str:
    # The same password typed on two keyboards may come composed or decomposed.
    return unicodedata.normalize("NFKC", password)
