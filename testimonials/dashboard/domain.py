"""The page on which a project gets a host name of its own."""

from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import collection_page_url
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.projects import domains
from testimonials.projects.access import Access

CHECKS_PER_PROJECT = Limit("domain-check-page", 60, "for one project")

domain = ProjectPage(
    settings, "/dashboard/projects/<project_id>/domain", "project/domain.html", nav="settings"
)


class HostForm(FormSchema):
    host = Text(
        domains.LONGEST,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Write a host name of yours.")},
    )


@domain.show
def show_domain(access: Access) -> Values:
    project, found = access.project, domains.find_domain(access.project)
    return {
        "domain": found,
        "typed": {"host": found.host if found else ""},
        "page_url": collection_page_url(project.slug),
        "own_url": collection_page_url(project.slug, project.own_host)
        if project.own_host
        else None,
    }


@domain.save(HostForm)
def set_domain(access: Access, host: str) -> Done:
    """Say which name it shall be; the page then shows the records."""
    domains.set_domain(access.project, host)
    return Done()


def _look(access: Access) -> tuple[str, domains.Finding] | None:
    """Look the name up, before a lock is taken, so that nobody waits for the DNS."""
    if (found := domains.find_domain(access.project)) is None:
        return None
    limiter.count(CHECKS_PER_PROJECT, access.project.id)
    return found.host, domains.look_at(found.host)


@domain.save(at="/check", prepare=_look)
def check_domain(access: Access, prepared: tuple[str, domains.Finding] | None) -> Done:
    if prepared is not None:
        domains.note_finding(access.project, *prepared)
    return Done(anchor="state")


@domain.save(at="/remove")
def remove_domain(access: Access) -> Done:
    if domains.find_domain(access.project) is None:
        raise NotFound("There is no host name to remove.")
    domains.remove_domain(access.project)
    return Done(_("The host name is removed. Your links use the usual address again."))
