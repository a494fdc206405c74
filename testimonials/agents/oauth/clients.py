"""The programs that connect by OAuth, and where they may be answered.

Anybody may register, so a client's id is a signed text that holds its name and addresses: nothing
is stored, and a client is trusted with nothing but to be answered where it said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from testimonials.core.text_rules import PORT
from testimonials.core.web.signing import TokenPurpose

MAX_NAME = 80
MAX_URI = 500
MAX_URIS = 5
URI_RULE = (
    "A redirect_uri starts with https://, or with http:// for a program on the person’s computer "
    "(127.0.0.1 or localhost, at any port). It has no fragment."
)
UNNAMED = "An unnamed program"

# The web with TLS, or a program on the person's own machine. Nothing that a browser might read in
# another way than we do: no user names, fragments, backslashes or other than ASCII.
_URI = re.compile(
    rf"(?:https://[A-Za-z0-9.-]+|(http://(?:127\.0\.0\.1|localhost)))(?::{PORT})?"
    r"(?:/[!$%&'*+,./0-9:;=@A-Z_a-z~()-]*)?(?:\?[!$%&'*+,./0-9:;=?@A-Z_a-z~()-]*)?"
)

client_purpose = TokenPurpose("oauth-client")


@dataclass(frozen=True)
class Client:
    """A program; only its addresses mean something, since it chose its name itself."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]

    def may_answer_at(self, uri: str) -> bool:
        """Return whether `uri` is one of its own; on a person's machine, at any port."""
        return any(_without_port(uri) == _without_port(own) for own in self.redirect_uris)


def is_redirect_uri(uri: object) -> bool:
    """Return whether a client may be answered at `uri`."""
    return isinstance(uri, str) and len(uri) <= MAX_URI and _URI.fullmatch(uri) is not None


def register_client(name: str, redirect_uris: Sequence[str]) -> Client:
    """Return a new client, from addresses that `is_redirect_uri` allows."""
    printable = "".join(each if each.isprintable() else " " for each in name)
    name = " ".join(printable.split())[:MAX_NAME].strip() or UNNAMED
    client_id = client_purpose.sign([name, list(redirect_uris)])
    return Client(client_id, name, tuple(redirect_uris))


def find_client(client_id: str) -> Client | None:
    """Return the client with this id, None if it was not made here."""
    if (found := client_purpose.find(client_id, 2)) is None:
        return None
    return Client(client_id, found[0], tuple(found[1]))


def describe_place(uri: str) -> str:
    """Return in words where a client is answered."""
    is_local = uri.startswith("http:")
    return "a program on this computer" if is_local else urlsplit(uri).netloc


def origin_of(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def _without_port(uri: str) -> str:
    """Return the address without the port of a program on the same machine, which changes."""
    if (found := _URI.fullmatch(uri)) is None or not found[1]:
        return uri
    return re.sub(rf"^({re.escape(found[1])}):[0-9]+", r"\1", uri)
