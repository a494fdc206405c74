"""The page on which a project gets a host name of its own."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.urls import collection_page_url
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.fields import Text
from testimonials.core.web.forms import FormSchema
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.rate_limits import Limit
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, lock_again, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.domains import services
from testimonials.domains.looking import look_at
from testimonials.domains.names import LONGEST
from testimonials.extensions import db, limiter
from testimonials.projects.access import Access, Role

domain_pages = Blueprint("domain_pages", __name__)

CHECKS_PER_PROJECT = Limit("domain-check-page", 60, "for one project")


class HostForm(FormSchema):
    host = Text(
        LONGEST,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Write a host name of yours.")},
    )


@domain_pages.get("/dashboard/projects/<project_id>/domain")
@require_role(Role.ADMIN)
def show_domain(access: Access) -> str:
    return _page(access)


@domain_pages.post("/dashboard/projects/<project_id>/domain")
@require_role(Role.ADMIN, for_update=True)
def set_domain(access: Access) -> ResponseReturnValue:
    """Say which name it shall be; the page then shows the records."""
    sent = HostForm().read(request.form)
    try:
        if sent.errors:
            raise ValidationFailed.of(sent.errors)
        services.set_domain(access.project, sent.values["host"])
    except ValidationFailed as error:
        db.session.rollback()
        return _page(access, to_form_errors(error, "host"), sent.typed["host"]), 422
    db.session.commit()
    return redirect(url_for(".show_domain"), 303)


@domain_pages.post("/dashboard/projects/<project_id>/domain/check")
@require_role(Role.ADMIN)
def check_domain(access: Access) -> ResponseReturnValue:
    """Look the name up now."""
    found = services.find_domain(access.project)
    if found is not None:
        limiter.count(CHECKS_PER_PROJECT, access.project.id)
        # Before the lock is taken, so that nobody waits for the DNS.
        finding = look_at(found.host)
        services.note_finding(lock_again(access, Role.ADMIN), found.host, finding)
        db.session.commit()
    return redirect(url_for(".show_domain") + "#state", 303)


@domain_pages.post("/dashboard/projects/<project_id>/domain/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_domain(access: Access) -> ResponseReturnValue:
    if services.find_domain(access.project) is None:
        raise NotFound("There is no host name to remove.")
    services.remove_domain(access.project)
    db.session.commit()
    notice = _("The host name is removed. Your links use the usual address again.")
    return redirect(add_notice(url_for(".show_domain"), notice), 303)


def _page(access: Access, errors: Errors | None = None, typed: str = "") -> str:
    project = access.project
    return render_template(
        "dashboard/project/domain.html",
        shell=build_shell(access, "settings"),
        notice=read_notice(),
        errors=errors or {},
        typed=typed,
        domain=services.find_domain(project),
        page_url=collection_page_url(project.slug),
        own_url=collection_page_url(project.slug, project.own_host) if project.own_host else None,
    )
