"""The rules of own host names: who may have which, and when links use it.

`project` is locked wherever something changes. A name is held by the project whose token its TXT
record says; `Project.own_host` is set while this service answers there.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import case, func, select, update

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core import clock
from testimonials.core.hosts.own_hosts import own_hosts
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.domains.looking import Finding
from testimonials.domains.models import CustomDomain
from testimonials.domains.names import read_host
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_edited

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


@dataclass(frozen=True)
class DomainCounts:
    """How many names there are, which serve, and whose TXT record is gone."""

    total: int
    serving: int
    troubled: int


def find_domain(project: Project) -> CustomDomain | None:
    return db.session.get(CustomDomain, project.id)


def get_domain(project: Project) -> CustomDomain:
    """Return the project's own host name; raise `DomainMissing`."""
    found = find_domain(project)
    if found is None:
        raise DomainMissing
    return found


def list_domains() -> Sequence[tuple[CustomDomain, Project]]:
    """Return all own host names with their projects, for the operator, by name."""
    query = select(CustomDomain, Project).join(Project, Project.id == CustomDomain.project_id)
    return [(row[0], row[1]) for row in db.session.execute(query.order_by(CustomDomain.host))]


def count_domains() -> DomainCounts:
    """Count the names of projects that are not deleted."""
    query = (
        select(
            func.count(),
            func.count(case((CustomDomain.serving_since.is_not(None), 1))),
            func.count(CustomDomain.missing_since),
        )
        .select_from(CustomDomain)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(Project.deleted_at.is_(None))
    )
    return DomainCounts(*db.session.execute(query).one())


def load_hosts() -> Mapping[str, str]:
    """Return the names that are held, each with the slug of its project.

    On a connection of its own, since a request asks before it has one. The name of a deleted
    project stays among them, so that nothing else of the service shows there.
    """
    query = select(CustomDomain.host, Project.slug).join(
        Project, Project.id == CustomDomain.project_id
    )
    with db.engine.connect() as connection:
        rows = connection.execute(query.where(CustomDomain.is_held.is_(True))).all()
    return {row[0]: row[1] for row in rows}


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
        points_to=[],
        problem="",
        next_check_at=clock.now(),
        created_at=clock.now(),
    )
    db.session.add(domain)
    db.session.flush()
    record_project_event(EventType.DOMAIN_ADDED, project, host=host)
    return domain


def remove_domain(project: Project) -> None:
    """Give the project's own host name up; links use the service's address again."""
    domain = get_domain(project)
    db.session.delete(domain)
    db.session.flush()
    _use(project, None)
    record_project_event(EventType.DOMAIN_REMOVED, project, host=domain.host)
    own_hosts().forget()


def list_due() -> Sequence[tuple[str, str]]:
    """Return the ids of projects whose names are to be looked at now, and the names."""
    query = (
        select(CustomDomain.project_id, CustomDomain.host)
        .join(Project, Project.id == CustomDomain.project_id)
        .where(CustomDomain.next_check_at <= clock.now(), Project.deleted_at.is_(None))
        .order_by(CustomDomain.next_check_at)
        .limit(DUE_AT_ONCE)
    )
    return [(row[0], row[1]) for row in db.session.execute(query)]


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
        _miss(project, domain)
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
    record_project_event(EventType.DOMAIN_VERIFIED, project, host=domain.host)
    own_hosts().forget()


def _miss(project: Project, domain: CustomDomain) -> None:
    domain.missing_since = domain.missing_since or clock.now()
    if domain.missing_since <= clock.now() - KEPT_WITHOUT_RECORD:
        _lose(project, domain)


def _lose(project: Project, domain: CustomDomain) -> None:
    domain.is_held = domain.verified_at = domain.serving_since = domain.missing_since = None
    db.session.flush()
    _use(project, None)
    record_project_event(EventType.DOMAIN_LOST, project, host=domain.host)
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
