"""Passwords: which are good enough, and how they are stored."""

import io
import json
import re
import threading
from collections.abc import Iterable
from typing import Any

from werkzeug.security import check_password_hash, generate_password_hash

from testimonials.core.http.i18n import gettext
from testimonials.core.images.worker import decoder
from testimonials.core.text import normalize

MIN_LENGTH = 10
# Of UTF-8, counted before anything else is done with a password: what normalizes text takes time
# that grows with the square of its length, and whoever sends a password is still a stranger.
MAX_BYTES = 1024
METHOD = "scrypt:32768:8:3"
# zxcvbn's time grows so steeply with length that 72 odd characters keep a core busy for seconds;
# 24 take a fraction of one, and no common password is longer.
JUDGED_LENGTH = 24

# Of zxcvbn's scores from 0 to 4: more than a hundred million guesses.
LEAST_SCORE = 3
# Characters added to a word to satisfy a rule, such as 2024!!, are what guessers try first.
MOST_DECORATION = 8

# Each hash takes 32 MiB for a moment.
_slots = threading.BoundedSemaphore(2)


def find_password_problem(password: str, email: str, names: Iterable[str] = ()) -> str | None:
    """Return what is wrong with a new password, or None.

    `names` are what somebody who knows the owner would try: of businesses, pages, the service.
    """
    if _is_too_long(password):
        return gettext(
            "Use at most %(most)s characters, fewer with accents or emoji.", most=MAX_BYTES
        )
    if len(password) < MIN_LENGTH:
        return gettext(
            "Use at least %(least)s characters; this has %(count)s.",
            least=MIN_LENGTH,
            count=len(password),
        )
    lowered = password.casefold()
    if lowered in email.casefold() or email.casefold() in lowered:
        return gettext("Use something that is not your e-mail address.")
    file = io.BytesIO(json.dumps([password, _list_words([email, *names])]).encode())
    if decoder.run(judge, file, waits=True)[0]["is_guessable"]:
        return gettext("This one is easy to guess. Use a few unrelated words, or a longer phrase.")
    return None


def judge(file: bytes) -> tuple[dict[str, Any], bytes]:
    """Be the work of a process of its own: the word lists take 14 MB, which end with it."""
    return {"is_guessable": is_guessable(*json.loads(file))}, b""


def is_guessable(password: str, words: list[str]) -> bool:
    from zxcvbn import zxcvbn

    core = re.sub(r"\A[\W\d_]+|(?<![\W\d_])[\W\d_]++\Z", "", password)
    is_decorated = 0 < len(core) >= len(password) - MOST_DECORATION
    if zxcvbn(password[:JUDGED_LENGTH], words)["score"] < LEAST_SCORE:
        return True
    # Without punctuation, names that were strung together with dashes are found too.
    core = re.sub(r"[\W_]+", "", core)[:JUDGED_LENGTH]
    judged = zxcvbn(core, words) if core and is_decorated else None
    if judged is None or judged["score"] > 1:
        return False
    return all(part["pattern"] == "dictionary" for part in judged["sequence"])


def _list_words(names: Iterable[str]) -> list[str]:
    """Return the words in names and addresses, and each name as one word."""
    found = [re.findall(r"[^\W_]+", name.lower()) for name in names]
    return [
        word[:JUDGED_LENGTH] for words in found for word in (*words, "".join(words)) if word[2:]
    ]


def hash_password(password: str) -> str:
    with _slots:
        return generate_password_hash(_normalize(password), method=METHOD)


def is_password(stored: str, password: str) -> bool:
    """Tell whether this is the password; one over `MAX_BYTES` is nobody's."""
    if _is_too_long(password):
        return False
    with _slots:
        return check_password_hash(stored, _normalize(password))


def _is_too_long(password: str) -> bool:
    return len(password) > MAX_BYTES or len(password.encode(errors="replace")) > MAX_BYTES


def _normalize(password: str) -> str:
    # The same password typed on two keyboards may come composed or decomposed.
    return normalize("NFKC", password)
