"""The dashboard's first pages: projects, a new one and its first steps, and the theme."""

from collections.abc import Sequence
from typing import Any

from flask import Response, jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import case, exists, func, select

from testimonials.auth.accounts import get_account
from testimonials.auth.cookies import THEME, set_cookie
from testimonials.auth.sessions import SignedIn
from testimonials.collection.models import MailedRequest
from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import home
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import format_day, gettext_noop
from testimonials.core.http.i18n import gettext as _
from testimonials.dashboard import shell
from testimonials.dashboard.brand import next_address
from testimonials.dashboard.formatting import describe_plan
from testimonials.dashboard.framework import AccountPage, Done, ProjectPage, Values, require_session
from testimonials.dashboard.inbox_data import read_page
from testimonials.projects.access import Access, search_shared
from testimonials.projects.defaults import (
    BUSINESS_NAME_LENGTH,
    IS_HIDDEN,
    KEEPS_SAMPLES,
    WEBSITE_LENGTH,
)
from testimonials.projects.events import PROJECT_RESTORED
from testimonials.projects.models import Project
from testimonials.projects.projects import create_project
from testimonials.projects.settings import GRACE, list_deleted, restore_from_trash
from testimonials.projects.team import list_memberships
from testimonials.projects.website import enqueue_reading
from testimonials.testimonials.inbox import count_tabs
from testimonials.testimonials.models import Testimonial
from testimonials.widget.sightings import find_newest_sighting

PAGE_SIZE = 24
MAX_SEARCH = 100


@home.get("/dashboard")
@require_session
def show_start(owner: SignedIn) -> ResponseReturnValue:
    """Redirect to the inbox of the last opened project, or to the list of many projects."""
    projects = shell.list_switched(owner, None)
    if len(projects) > shell.SWITCHED:
        return redirect(url_for(".show_projects"), 303)
    if not projects:
        return redirect(url_for(".show_new_project"), 303)
    return redirect(_inbox_of(projects[0]), 303)


def _inbox_of(project: Project) -> str:
    return url_for("dashboard.inbox.show_inbox", project_id=project.id)


projects = AccountPage(home, "/dashboard/projects", "projects.html", nav="projects")


@projects.show
def show_projects(owner: SignedIn) -> Values:
    """List the projects, or those that match ``?q=``."""
    q = request.args.get("q", "").replace("\0", "").strip()[:MAX_SEARCH]
    page = read_page(request.args.get("page", "1"))
    skip = (page - 1) * PAGE_SIZE
    rows = search_shared(owner.account_id, q, skip, PAGE_SIZE + 1)
    listed, has_next = rows[:PAGE_SIZE], len(rows) > PAGE_SIZE
    return {
        "projects": _describe(owner, listed),
        "q": q,
        "pager": {
            "prev_url": _address(q, page - 1) if page > 1 else None,
            "next_url": _address(q, page + 1) if has_next else None,
            "label": _("%(first)s to %(last)s", first=skip + 1, last=skip + len(listed)),
        },
        "deleted": _describe_deleted(owner),
    }


def _describe(owner: SignedIn, projects: Sequence[Project]) -> list[dict[str, Any]]:
    memberships = list_memberships(owner.account_id, projects)
    counts = count_tabs(*(project.id for project in projects))
    return [
        shell.describe_project(project)
        | {
            "slug": project.slug,
            "is_active": project.is_active,
            "waiting": counts[project.id]["pending"],
            "membership": memberships.get(project.id),
        }
        for project in projects
    ]


def _describe_deleted(owner: SignedIn) -> list[dict[str, Any]]:
    return [
        shell.describe_project(row) | {"id": row.id, "until": format_day(row.deleted_at + GRACE)}
        for row in list_deleted(owner.account_id)
        if row.deleted_at is not None
    ]


def _address(q: str, page: int) -> str:
    return url_for(".show_projects", q=q or None, page=page if page > 1 else None)


@projects.save(at="/<project_id>/take-back")
def take_back_project(owner: SignedIn, project_id: str) -> Done:
    project = restore_from_trash(owner.account_id, project_id)
    record(PROJECT_RESTORED, project, name=project.name)
    return Done(to=_inbox_of(project))


class NewProjectForm(FormSchema):
    business_name = OneLine(
        BUSINESS_NAME_LENGTH,
        attribute="businessName",
        missing=gettext_noop("Enter the name of your business."),
    )
    website = OneLine(WEBSITE_LENGTH, load_default="")


new_project = AccountPage(home, "/dashboard/projects/new", "new_project.html", nav="projects")


@new_project.show
def show_new_project(owner: SignedIn) -> Values:
    return {
        "limit": describe_plan(get_account(owner.account_id)),
        "deleted": _describe_deleted(owner),
    }


address = AccountPage(home, "/dashboard/projects/new/address", "")


@address.show
def show_address(owner: SignedIn) -> Response:
    """Return the address for the name being typed (``?name=``)."""
    return jsonify(address=next_address(request.args.get("name", "")))


@new_project.save(NewProjectForm)
def create_project_here(owner: SignedIn, **values: Any) -> Done:
    """Create a project, and go on to its brand; an account's first project gets samples."""
    project = create_project(owner.account_id, values, finds_slug=True)
    enqueue_reading(project)
    return Done(to=url_for("dashboard.settings.show_brand", project_id=project.id))


theme = AccountPage(home, "/dashboard/theme", "", part_of="dashboard.account.show_account")


@theme.save({"theme": Choice(*shell.THEMES, required=True)})
def choose_theme(owner: SignedIn, theme: str) -> Done:
    return Done(finish=lambda response: set_cookie(response, THEME, theme, shell.YEAR_SECONDS))


# The first steps of a new project, at the top of its inbox.

INBOX = "dashboard.inbox.show_inbox"
# Enough to see which steps are done, even after a large import.
NEWEST = 500


def note(project: Project, flag: str) -> None:
    if not project.dashboard_config.get(flag):
        project.dashboard_config = project.dashboard_config | {flag: True}


def describe_first_steps(access: Access, approved: int) -> dict[str, Any]:
    """Return which steps are done, and whether to ask about the samples."""
    return {
        "first_steps": _describe_steps(access),
        "offers_samples": bool(approved) and access.may_decide and _has_samples(access.project),
    }


def _describe_steps(access: Access) -> dict[str, Any] | None:
    """Return the steps; None if all are done or hidden, or the person is no admin."""
    project = access.project
    if not access.is_admin or project.dashboard_config.get(IS_HIDDEN):
        return None
    done = _find_done(project)
    count = sum(done.values())
    return {"done": done, "count": count, "left": len(done) - count} if count < len(done) else None


def _has_samples(project: Project) -> bool:
    """Return whether there are samples that nobody has chosen to keep."""
    if project.dashboard_config.get(KEEPS_SAMPLES):
        return False
    is_sample = (Testimonial.project_id == project.id, Testimonial.status == "demo")
    is_any = exists().where(*is_sample, Testimonial.deleted_at.is_(None))
    return bool(db.session.scalar(select(is_any)))


def _find_done(project: Project) -> dict[str, bool]:
    newest = (
        select(Testimonial.source, Testimonial.reviewed_at)
        .where(Testimonial.project_id == project.id)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(NEWEST)
        .subquery()
    )
    arrived, reviewed, asked = db.session.execute(
        select(
            func.count(case((newest.c.source == "public_page", 1))),
            func.count(newest.c.reviewed_at),
            exists().where(MailedRequest.project_id == project.id),
        )
    ).one()
    return {
        "ask": asked or arrived > 0,
        "approve": reviewed > 0,
        "embed": find_newest_sighting(project.id) is not None,
    }


steps = ProjectPage(home, "first-steps", "", part_of=INBOX)


@steps.save(at="/hide")
def hide_steps(access: Access) -> Done:
    note(access.project, IS_HIDDEN)
    return Done()
