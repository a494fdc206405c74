"""A project's own host name: claiming, checking, serving it; what proxies ask about one."""

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from flask import Response, request
from flask.typing import ResponseReturnValue
from sqlalchemy import Row, func, select, update

from testimonials.core import clock, http_client
from testimonials.core.audit import record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import site
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.hosts import own_hosts
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.urls import host_mark_url, own_host_url, own_names, target_host
from testimonials.core.jobs import every
from testimonials.core.settings.current import current_settings
from testimonials.projects.events import DOMAIN_ADDED, DOMAIN_LOST, DOMAIN_REMOVED, DOMAIN_VERIFIED
from testimonials.projects.models import TXT_PREFIX, CustomDomain, Project
from testimonials.projects.projects import lock_project, mark_edited

# What is found out about a host name, without the database: its records, and who answers there.

LOOKUP_SECONDS, ANSWER_SECONDS = 8.0, 5.0
MOST_BYTES = 200
MOST_NAMED = 5


@dataclass(frozen=True)
class Finding:
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
        texts = http_client.look_up(TXT_PREFIX + host, ("TXT",), server, end).texts
        records = http_client.look_up(host, ("A", "AAAA"), server, end)
    except http_client.LookupFailed as error:
        return Finding(None, problem=f"The name server didn’t say: {error}.")
    points_to = (records.names[:1] or records.addresses)[:MOST_NAMED]
    if not records.addresses:
        problem = NO_ADDRESS_YET if not points_to else NO_ADDRESS
        return Finding(texts, points_to, is_elsewhere=True, problem=problem)
    return _open(host, Finding(texts, points_to), records, _find_ours(server, end))


def _find_ours(server: str, end: float) -> list[str]:
    name = target_host()
    try:
        return [str(ipaddress.ip_address(name))]
    except ValueError:
        pass
    try:
        return http_client.look_up(name, ("A", "AAAA"), server, end).addresses
    except http_client.LookupFailed:
        return []


def _open(host: str, found: Finding, records: http_client.Records, ours: list[str]) -> Finding:
    allows_any = current_settings().webhook_addresses == "any"

    def is_allowed(address: str, _port: int) -> bool:
        return allows_any or address in ours or http_client.is_public(address)

    points_here = target_host() in records.names or bool(set(records.addresses) & set(ours))
    url = host_mark_url(host)
    try:
        answer = http_client.ask(
            url,
            ANSWER_SECONDS,
            MOST_BYTES,
            is_allowed,
            headers={"User-Agent": "Testimonials"},
            addresses=records.addresses,
        )
    except http_client.AddressRefused:
        return replace(found, is_elsewhere=True, problem=NOT_PUBLIC)
    except (http_client.UrlRefused, OSError) as error:
        return replace(
            found, is_elsewhere=not points_here, problem=_explain(host, error, points_here)
        )
    is_here = hmac.compare_digest(answer.content, make_mark().encode())
    problem = "" if is_here else f"Something else answers there, with status {answer.status}."
    return replace(found, is_here=is_here, is_elsewhere=not is_here, problem=problem)


def _explain(host: str, error: Exception, points_here: bool) -> str:
    reason = str(getattr(error, "verify_message", "") or getattr(error, "strerror", "") or error)
    said = f": {reason[:120]}" if reason else ""
    if points_here:
        return f"It points here, but {own_host_url(host)} can’t be opened{said}."
    return f"{own_host_url(host)} can’t be opened{said}."


# Which host names a project may have.

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


# The rules of own host names: who may have which, and when links use it.
#
# `project` is locked wherever something changes. A name is held by the project whose token its TXT
# record says; `Project.own_host` is set while this service answers there.

# How long a name stays whose TXT record is gone: a mistake in a zone is no farewell.
KEPT_WITHOUT_RECORD = timedelta(days=3)
SOON, LATER, SELDOM = timedelta(minutes=5), timedelta(hours=1), timedelta(hours=6)
EAGER = timedelta(days=1)
# Each may take a quarter of a minute, for which other jobs wait.
DUE_AT_ONCE = 5


class DomainMissing(ServiceError):
    status = 404
    code = "NO_DOMAIN"
    meaning = "The project has no host name of its own."
    remedy = "Set one first."
    default_message = gettext_noop("This project has no host name of its own.")


def find_domain(project: Project) -> CustomDomain | None:
    return db.session.get(CustomDomain, project.id)


def get_domain(project: Project) -> CustomDomain:
    found = find_domain(project)
    if found is None:
        raise DomainMissing
    return found


def list_domains() -> Sequence[tuple[CustomDomain, Project]]:
    """Return all own host names with their projects, for the operator, by name."""
    query = select(CustomDomain, Project).join(Project, Project.id == CustomDomain.project_id)
    return [(row[0], row[1]) for row in db.session.execute(query.order_by(CustomDomain.host))]


def count_domains() -> Row[int, int, int]:
    """Count the names: `total`, those `serving`, and `troubled` those whose TXT record is gone."""
    query = (
        select(
            func.count().label("total"),
            func.count(CustomDomain.serving_since).label("serving"),
            func.count(CustomDomain.missing_since).label("troubled"),
        )
        .select_from(CustomDomain)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(Project.deleted_at.is_(None))
    )
    return db.session.execute(query).one()


def is_served(host: str) -> bool:
    """Return whether a certificate may be asked for: somebody has proved that the name is theirs,
    and their project is there."""
    query = (
        select(CustomDomain.host)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(
            CustomDomain.host == host.lower().rstrip("."),
            CustomDomain.is_held.is_(True),
            Project.deleted_at.is_(None),
        )
    )
    return "\0" not in host and db.session.scalar(query) is not None


def set_domain(project: Project, text: str) -> CustomDomain:
    """Say which host name the project shall have; it begins to be looked up.

    The same again changes nothing. Raises `ValidationFailed`.
    """
    host = read_host(text)
    domain = find_domain(project)
    if domain is not None and domain.host == host:
        return domain
    if domain is not None:
        remove_domain(project)
    domain = CustomDomain(
        project_id=project.id,
        host=host,
        token=f"testimonials-{secrets.token_hex(16)}",
    )
    db.session.add(domain)
    db.session.flush()
    record(DOMAIN_ADDED, project, host=host)
    return domain


def remove_domain(project: Project) -> None:
    domain = get_domain(project)
    db.session.delete(domain)
    db.session.flush()
    _use(project, None)
    record(DOMAIN_REMOVED, project, host=domain.host)
    own_hosts().forget()


def note_finding(project: Project, host: str, finding: Finding) -> CustomDomain | None:
    """Store what was found out about the project's host name; None if it has another by now."""
    domain = find_domain(project)
    if domain is None or domain.host != host:
        return None
    domain.checked_at = clock.now()
    domain.problem = finding.problem
    if finding.texts is None:
        _plan(domain)
        return domain
    domain.points_to = finding.points_to
    if domain.token in finding.texts:
        domain.missing_since = None
        if not domain.is_held:
            _take(project, domain, finding.texts)
    elif domain.is_held:
        domain.missing_since = domain.missing_since or clock.now()
        if domain.missing_since <= clock.now() - KEPT_WITHOUT_RECORD:
            _lose(project, domain)
    if domain.is_held and finding.is_here:
        domain.serving_since = domain.serving_since or clock.now()
        _use(project, domain.host)
    elif finding.is_elsewhere or not domain.is_held:
        domain.serving_since = None
        _use(project, None)
    _plan(domain)
    return domain


def _take(project: Project, domain: CustomDomain, texts: Sequence[str]) -> None:
    """Let the project hold its name, unless somebody else does whose record is there too."""
    holder = db.session.scalars(
        select(CustomDomain).where(CustomDomain.host == domain.host, CustomDomain.is_held.is_(True))
    ).one_or_none()
    if holder is not None:
        other = db.session.get_one(Project, holder.project_id)
        if holder.token in texts and other.deleted_at is None:
            domain.problem = gettext_noop(
                "Another project has this name. Remove its TXT record first."
            )
            return
        _lose(other, holder)
    domain.is_held, domain.verified_at = True, clock.now()
    db.session.flush()
    record(DOMAIN_VERIFIED, project, host=domain.host)
    own_hosts().forget()


def _lose(project: Project, domain: CustomDomain) -> None:
    domain.is_held = domain.verified_at = domain.serving_since = domain.missing_since = None
    db.session.flush()
    _use(project, None)
    record(DOMAIN_LOST, project, host=domain.host)
    own_hosts().forget()


def _use(project: Project, host: str | None) -> None:
    """Let links to the project's pages use a host name, or the service's own."""
    if project.own_host == host:
        return
    if host is not None:
        taken = update(Project).where(Project.own_host == host, Project.id != project.id)
        db.session.execute(taken.values(own_host=None, feed_version=Project.feed_version + 1))
    project.own_host = host
    mark_edited(project)


def _plan(domain: CustomDomain) -> None:
    """Choose when to look again: soon while somebody waits for it, seldom once it works."""
    now = clock.now()
    if domain.serving_since and not domain.missing_since and not domain.problem:
        wait = SELDOM
    else:
        wait = SOON if now - domain.created_at < EAGER else LATER
    domain.next_check_at = now + wait


# Looking at host names, in requests and in the background; nothing waits for the DNS with a
# transaction.


@every("domains")
def check_due_domains() -> int:
    """Look at the names that are due and store what is found; return how many."""
    query = (
        select(CustomDomain.project_id, CustomDomain.host)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(CustomDomain.next_check_at <= clock.now(), Project.deleted_at.is_(None))
        .order_by(CustomDomain.next_check_at)
        .limit(DUE_AT_ONCE)
    )
    due = db.session.execute(query).all()
    db.session.rollback()
    for project_id, host in due:
        finding = look_at(host)
        # It may be deleted in the meantime.
        with suppress(NotFound), write(partial(lock_project, project_id)) as project:
            note_finding(project, host, finding)
    return len(due)


STATES = ("waiting", "verified", "serving")


def describe_state(domain: Any) -> str:
    if not domain.is_held:
        return STATES[0]
    return STATES[2] if domain.serving_since else STATES[1]


def list_own_hosts() -> dict[str, str]:
    """Return the host names at whose root a project's public pages are, each with its slug.

    They are read on a connection of its own, since a request asks before it has one. The name of a
    deleted project stays among them, so that nothing else of the service shows there.
    """
    query = (
        select(CustomDomain.host, Project.slug)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(CustomDomain.is_held.is_(True))
    )
    with db.engine.connect() as connection:
        return {row.host: row.slug for row in connection.execute(query)}


# What proxies and this service itself ask about host names.


@site.get("/domains/ask")
def answer_proxy() -> ResponseReturnValue:
    """Answer 200 if a certificate may be asked for a host name, as Caddy's on-demand TLS wants."""
    name = request.args.get("domain", "")
    is_ours = name.lower() in own_names()
    is_known = is_ours or is_served(name)
    text = "yes\n" if is_known else "There is nothing at this host name.\n"
    return Response(text, 200 if is_known else 404, mimetype="text/plain")


@site.get("/domains/mark")
def show_mark() -> Response:
    """Say that this very service answers here, at whatever host name."""
    response = Response(make_mark(), mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    return response
