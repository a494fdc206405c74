"""Which host names a project may have."""

import re

from testimonials.core.urls import own_names
from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.languages import gettext

LONGEST = 253 - len("_testimonials.")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Names that lead to machines of one's own, or to nothing.
LOCAL = frozenset({"localhost", "local", "internal", "invalid", "onion", "arpa", "localdomain"})


def read_host(text: str) -> str:
    """Return a host name as the DNS has it; what surrounds it in an address is left out.

    Raises `ValidationFailed`.
    """
    text = text.strip().lower()
    text = re.sub(r"\Ahttps?://", "", text).partition("/")[0].rstrip(".")
    try:
        host = text.encode("idna").decode()
    except UnicodeError:
        host = ""
    labels = host.split(".")
    is_name = len(labels) >= 2 and len(host) <= LONGEST and all(map(_LABEL.fullmatch, labels))
    if not is_name or labels[-1].isdigit() or labels[-1] in LOCAL:
        raise _refuse(gettext("Write a host name of yours, such as reviews.example.com."))
    if host in own_names():
        raise _refuse(gettext("This is the service’s own name. Choose one of yours."))
    return host


def _refuse(message: str) -> ValidationFailed:
    return ValidationFailed.of({"host": [message]})
