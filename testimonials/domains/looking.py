"""What is found out about a host name, without the database: its records, and who answers there."""

import hashlib
import hmac
import ipaddress
import time
from dataclasses import dataclass, field

from testimonials.core.hosts.resolver import AAAA, TXT, A, LookupFailed, Records, look_up
from testimonials.core.public_addresses import AddressRefused, UrlRefused, ask, is_public
from testimonials.core.urls import host_mark_url, own_host_url, target_host
from testimonials.core.web.languages import gettext_noop
from testimonials.domains.models import TXT_PREFIX
from testimonials.settings.current import current_settings

LOOKUP_SECONDS, ANSWER_SECONDS = 8.0, 5.0
MOST_BYTES = 200
MOST_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """What was found out about a host name."""

    # None: nobody could say.
    texts: list[str] | None
    points_to: list[str] = field(default_factory=list)
    is_here: bool = False
    # Whether it certainly leads elsewhere; where neither, it couldn't be opened.
    is_elsewhere: bool = False
    problem: str = ""


def make_mark() -> str:
    """Return what this service, and no other, answers at every host name that leads to it."""
    key = current_settings().secret_key.encode()
    return hmac.new(key, b"testimonials:own-hosts", hashlib.sha256).hexdigest()


NO_ADDRESS_YET = gettext_noop("The name has no address yet.")
NO_ADDRESS = gettext_noop("It leads to no address.")
NOT_PUBLIC = gettext_noop("It leads to an address in no public network.")


def look_at(host: str) -> Finding:
    """Look a host name up and open it; takes a quarter of a minute at most."""
    end = time.monotonic() + LOOKUP_SECONDS
    server = current_settings().dns_resolver
    try:
        texts = look_up(TXT_PREFIX + host, (TXT,), server, end).texts
        records = look_up(host, (A, AAAA), server, end)
    except LookupFailed as error:
        return Finding(None, problem=f"The name server didn’t say: {error}.")
    points_to = (records.names[:1] or records.addresses)[:MOST_NAMED]
    if not records.addresses:
        problem = NO_ADDRESS_YET if not points_to else NO_ADDRESS
        return Finding(texts, points_to, is_elsewhere=True, problem=problem)
    return _open(host, Finding(texts, points_to), records, _find_ours(server, end))


def _find_ours(server: str, end: float) -> list[str]:
    """Return the addresses of the service's own name."""
    name = target_host()
    try:
        return [str(ipaddress.ip_address(name))]
    except ValueError:
        pass
    try:
        return look_up(name, (A, AAAA), server, end).addresses
    except LookupFailed:
        return []


def _open(host: str, found: Finding, records: Records, ours: list[str]) -> Finding:
    allows_any = current_settings().webhook_addresses == "any"

    def is_allowed(address: str, _port: int) -> bool:
        return allows_any or address in ours or is_public(address)

    points_here = target_host() in records.names or bool(set(records.addresses) & set(ours))
    url = host_mark_url(host)
    try:
        answer = ask(
            url,
            ANSWER_SECONDS,
            MOST_BYTES,
            is_allowed,
            headers={"User-Agent": "Testimonials"},
            addresses=records.addresses,
        )
    except AddressRefused:
        return _with(found, is_elsewhere=True, problem=NOT_PUBLIC)
    except (UrlRefused, OSError) as error:
        return _with(
            found, is_elsewhere=not points_here, problem=_explain(host, error, points_here)
        )
    is_here = hmac.compare_digest(answer.content, make_mark().encode())
    problem = "" if is_here else f"Something else answers there, with status {answer.status}."
    return _with(found, is_here=is_here, is_elsewhere=not is_here, problem=problem)


def _with(found: Finding, **values: object) -> Finding:
    return Finding(found.texts, found.points_to, **values)  # type: ignore[arg-type]


def _explain(host: str, error: Exception, points_here: bool) -> str:
    reason = str(getattr(error, "verify_message", "") or getattr(error, "strerror", "") or error)
    said = f": {reason[:120]}" if reason else ""
    if points_here:
        return f"It points here, but {own_host_url(host)} can’t be opened{said}."
    return f"{own_host_url(host)} can’t be opened{said}."
