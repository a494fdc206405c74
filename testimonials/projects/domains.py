"""A project's own host name: claiming, checking and serving it; what proxies ask about it."""

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
from testimonials.core.extensions import db, limiter
from testimonials.core.http import urls
from testimonials.core.http.blueprints import site
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.jobs import every
from testimonials.core.settings.table import current_settings
from testimonials.projects.events import DOMAIN_ADDED, DOMAIN_LOST, DOMAIN_REMOVED, DOMAIN_VERIFIED
from testimonials.projects.models import TXT_PREFIX, CustomDomain, Project
from testimonials.projects.projects import lock_project, mark_edited

# Looking a host name up, without the database: its records, and who answers there.

LOOKUP_SECONDS, ANSWER_SECONDS = 8.0, 5.0
MOST_BYTES = 200


@dataclass(frozen=True)
class Finding:
    # The TXT records. None: the look-up failed.
    texts: list[str] | None
    points_to: list[str] = field(default_factory=list)
    is_here: bool = False
    # It certainly leads elsewhere. If neither is true, it couldn't be opened.
    is_elsewhere: bool = False
    problem: str = ""


def make_mark() -> str:
    """Return what this service, and no other, answers at every host name that leads to it."""
    key = current_settings().secret_key.encode()
    return hmac.new(key, b"testimonials:own-hosts", hashlib.sha256).hexdigest()


NO_ADDRESS_YET = gettext_noop("The name has no address yet.")
NO_ADDRESS = gettext_noop("It leads to no address.")
NOT_PUBLIC = gettext_noop("It leads to a private network.")


def check_host(host: str) -> Finding:
    """Look up a host name and send it a request; this takes at most 15 seconds."""
    deadline = time.monotonic() + LOOKUP_SECONDS
    server = current_settings().dns_resolver
    try:
        texts = http_client.look_up(TXT_PREFIX + host, ("TXT",), server, deadline).texts
        records = http_client.look_up(host, ("A", "AAAA"), server, deadline)
    except http_client.LookupFailed as error:
        return Finding(None, problem=f"The name server didn’t say: {error}.")
    points_to = (records.names[:1] or records.addresses)[:5]
    if not records.addresses:
        problem = NO_ADDRESS_YET if not points_to else NO_ADDRESS
        return Finding(texts, points_to, is_elsewhere=True, problem=problem)
    return _open(host, Finding(texts, points_to), records, _own_addresses(server, deadline))


def _own_addresses(server: str, deadline: float) -> list[str]:
    name = urls.target_host()
    try:
        return [str(ipaddress.ip_address(name))]
    except ValueError:
        pass
    try:
        return http_client.look_up(name, ("A", "AAAA"), server, deadline).addresses
    except http_client.LookupFailed:
        return []


def _open(host: str, finding: Finding, records: http_client.Records, own: list[str]) -> Finding:
    allows_any = current_settings().webhook_addresses == "any"

    def is_allowed(address: str, _port: int) -> bool:
        return allows_any or address in own or http_client.is_public(address)

    points_here = urls.target_host() in records.names or bool(set(records.addresses) & set(own))
    try:
        answer = http_client.ask(
            urls.host_mark_url(host),
            ANSWER_SECONDS,
            MOST_BYTES,
            is_allowed,
            headers={"User-Agent": "Testimonials"},
            addresses=records.addresses,
        )
    except http_client.AddressRefused:
        return replace(finding, is_elsewhere=True, problem=NOT_PUBLIC)
    except (http_client.UrlRefused, OSError) as error:
        reason = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or error
        problem = ": ".join(
            filter(None, (f"{urls.own_host_url(host)} can’t be opened", str(reason)[:120]))
        )
        problem = f"It points here, but {problem}." if points_here else f"{problem}."
        return replace(finding, is_elsewhere=not points_here, problem=problem)
    is_here = hmac.compare_digest(answer.content, make_mark().encode())
    problem = "" if is_here else f"Something else answers there, with status {answer.status}."
    return replace(finding, is_here=is_here, is_elsewhere=not is_here, problem=problem)


# Which host names a project may have.

LONGEST = 253 - len("_testimonials.")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Names that lead to the local network, or nowhere.
LOCAL = frozenset({"localhost", "local", "internal", "invalid", "onion", "arpa", "localdomain"})


def read_host(text: str) -> str:
    """Return the host name in a text or URL, in ASCII. Raises `ValidationFailed`."""
    text = text.strip().lower()
    text = re.sub(r"\Ahttps?://", "", text).partition("/")[0].rstrip(".")
    try:
        host = text.encode("idna").decode()
    except UnicodeError:
        host = ""
    labels = host.split(".")
    is_name = len(labels) >= 2 and len(host) <= LONGEST and all(map(_LABEL.fullmatch, labels))
    if not is_name or labels[-1].isdigit() or labels[-1] in LOCAL:
        raise _refuse(gettext("Enter a host name, such as reviews.example.com."))
    if host in urls.own_names():
        raise _refuse(gettext("This is the service’s own name. Choose one of yours."))
    return host


def _refuse(message: str) -> ValidationFailed:
    return ValidationFailed.of({"host": [message]})


# Who holds a host name, and when links use it. Functions that change something take the locked
# project. The project whose token is in the TXT record holds the name; `Project.own_host` is set
# while this service answers there.

# How long a project keeps a name whose TXT record is missing, perhaps by mistake.
KEPT_WITHOUT_RECORD = timedelta(days=3)
# Each look-up may take 15 seconds, while other jobs wait.
DUE_AT_ONCE = 5
# The number of an advisory lock, unique in this service.
LOCK = 0x7465_7374_0004
CHECKS_PER_PROJECT = Limit("domain-check", 60, "for one project")


class DomainMissing(ServiceError):
    status = 404
    code = "NO_DOMAIN"
    meaning = "The project has no host name of its own."
    remedy = "Set one first."
    default_message = gettext_noop("This project has no host name.")


def find_domain(project: Project) -> CustomDomain | None:
    return db.session.get(CustomDomain, project.id)


def get_domain(project: Project) -> CustomDomain:
    domain = find_domain(project)
    if domain is None:
        raise DomainMissing
    return domain


def list_domains() -> Sequence[tuple[CustomDomain, Project]]:
    """Return all own host names with their projects, ordered by name."""
    query = select(CustomDomain, Project).join(Project, Project.id == CustomDomain.project_id)
    return [(row[0], row[1]) for row in db.session.execute(query.order_by(CustomDomain.host))]


def count_domains() -> Row[int, int, int]:
    """Count all names, those `serving`, and those without their TXT record (`troubled`)."""
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
    """Return whether a certificate may be requested: an existing project holds the name."""
    row = CustomDomain
    query = select(row.host).join(Project, Project.id == row.project_id)
    query = query.where(row.host == host.lower().rstrip("."), row.is_held.is_(True))
    query = query.where(Project.deleted_at.is_(None))
    return "\0" not in host and db.session.scalar(query) is not None


def set_domain(project: Project, text: str) -> CustomDomain:
    """Set the project's host name, which a job then looks up. Raises `ValidationFailed`.

    Setting the same name again changes nothing.
    """
    host = read_host(text)
    domain = find_domain(project)
    if domain is not None:
        if domain.host == host:
            return domain
        remove_domain(project)
    token = f"testimonials-{secrets.token_hex(16)}"
    domain = CustomDomain(project_id=project.id, host=host, token=token)
    db.session.add(domain)
    db.session.flush()
    record(DOMAIN_ADDED, project, host=host)
    return domain


def remove_domain(project: Project) -> None:
    domain = get_domain(project)
    db.session.delete(domain)
    db.session.flush()
    _use_host(project, None)
    record(DOMAIN_REMOVED, project, host=domain.host)
    urls.own_hosts().forget()


def store_finding(project: Project, host: str, finding: Finding) -> None:
    """Store what a look-up found out, unless the project now has another name."""
    domain = find_domain(project)
    if domain is None or domain.host != host:
        return
    now = domain.checked_at = clock.now()
    domain.problem = finding.problem
    if finding.texts is not None:
        domain.points_to = finding.points_to
        if domain.token in finding.texts:
            domain.missing_since = None
            if not domain.is_held:
                _grant(project, domain, finding.texts)
        elif domain.is_held:
            domain.missing_since = domain.missing_since or now
            if domain.missing_since <= now - KEPT_WITHOUT_RECORD:
                _release(project, domain)
        if domain.is_held and finding.is_here:
            domain.serving_since = domain.serving_since or now
            _use_host(project, domain.host)
        elif finding.is_elsewhere or not domain.is_held:
            domain.serving_since = None
            _use_host(project, None)
    # Look again soon while somebody is waiting for it, and rarely once it works.
    if domain.serving_since and not domain.missing_since and not domain.problem:
        domain.next_check_at = now + timedelta(hours=6)
    else:
        is_new = now - domain.created_at < timedelta(days=1)
        domain.next_check_at = now + (timedelta(minutes=5) if is_new else timedelta(hours=1))


def _grant(project: Project, domain: CustomDomain, texts: Sequence[str]) -> None:
    """Let the project hold its name, unless the holder's TXT record is still there too."""
    # One at a time, so that no two find the name free. SQLite has one writer anyway.
    if not current_settings().is_sqlite:
        db.session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    query = select(Project).join(CustomDomain, CustomDomain.project_id == Project.id)
    query = query.where(CustomDomain.host == domain.host, CustomDomain.is_held.is_(True))
    other = db.session.scalars(query.with_for_update(of=Project)).one_or_none()
    if other is not None and (holder := find_domain(other)) is not None:
        if holder.token in texts and other.deleted_at is None:
            domain.problem = gettext_noop(
                "Another project has this name. Remove its TXT record first."
            )
            return
        _release(other, holder)
    domain.is_held, domain.verified_at = True, clock.now()
    db.session.flush()
    record(DOMAIN_VERIFIED, project, host=domain.host)
    urls.own_hosts().forget()


def _release(project: Project, domain: CustomDomain) -> None:
    domain.is_held = domain.verified_at = domain.serving_since = domain.missing_since = None
    db.session.flush()
    _use_host(project, None)
    record(DOMAIN_LOST, project, host=domain.host)
    urls.own_hosts().forget()


def _use_host(project: Project, host: str | None) -> None:
    """Set the host name for links to the project's pages. None: the service's own."""
    if project.own_host == host:
        return
    if host is not None:
        others = update(Project).where(Project.own_host == host, Project.id != project.id)
        db.session.execute(others.values(own_host=None, feed_version=Project.feed_version + 1))
    project.own_host = host
    mark_edited(project)


# No transaction is open during DNS queries.


def look_up(project_id: str, host: str) -> tuple[str, Finding]:
    """Look up a project's host name on request; return it with what was found."""
    limiter.count(CHECKS_PER_PROJECT, project_id)
    return host, check_host(host)


@every("domains")
def check_due_domains() -> int:
    """Look up the names that are due; return how many."""
    row = CustomDomain
    query = select(row.project_id, row.host).join(Project, Project.id == row.project_id)
    query = query.where(row.next_check_at <= clock.now(), Project.deleted_at.is_(None))
    query = query.order_by(row.next_check_at).limit(DUE_AT_ONCE)
    due = db.session.execute(query).all()
    db.session.rollback()
    for project_id, host in due:
        finding = check_host(host)
        # The project may have been deleted in the meantime.
        with suppress(NotFound), write(partial(lock_project, project_id)) as project:
            store_finding(project, host, finding)
    return len(due)


STATES = ("waiting", "verified", "serving")


def describe_state(domain: Any) -> str:
    if not domain.is_held:
        return STATES[0]
    return STATES[2] if domain.serving_since else STATES[1]


def list_own_hosts() -> dict[str, str]:
    """Return the slugs of projects by the host names that serve their public pages.

    Reads on its own connection, since requests need this before they have one. Includes the names
    of deleted projects, so that nothing else of the service shows there.
    """
    query = select(CustomDomain.host, Project.slug).where(CustomDomain.is_held.is_(True))
    query = query.join(Project, Project.id == CustomDomain.project_id)
    with db.engine.connect() as connection:
        return {row.host: row.slug for row in connection.execute(query)}


# What proxies and this service itself ask about host names.


@site.get("/domains/ask")
def answer_proxy() -> ResponseReturnValue:
    """Answer 200 if Caddy may request a certificate for a name (on-demand TLS)."""
    name = request.args.get("domain", "")
    is_known = name.lower() in urls.own_names() or is_served(name)
    text = "yes\n" if is_known else "There is nothing at this host name.\n"
    return Response(text, 200 if is_known else 404, mimetype="text/plain")


@site.get("/domains/mark")
def show_mark() -> Response:
    """Prove that this service answers at the host name of the request."""
    response = Response(make_mark(), mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    return response
