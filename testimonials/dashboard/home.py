"""The dashboard's first pages: projects, and the theme."""

from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.accounts import get_account
from testimonials.auth.cookies import set_cookie, theme_cookie
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.event_texts import translate_browser
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import home
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import Text
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import format_day, gettext_noop
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url
from testimonials.dashboard.formatting import (
    describe_age,
    describe_plan,
    describe_time,
    start_small,
)
from testimonials.dashboard.framework import require_session
from testimonials.dashboard.inbox_data import read_page
from testimonials.dashboard.shell import THEMES, build_shell
from testimonials.projects.access import search_shared
from testimonials.projects.defaults import BUSINESS_NAME_LENGTH, SLUG_LENGTH, WEBSITE_LENGTH
from testimonials.projects.events import PROJECT_RESTORED
from testimonials.projects.projects import create_project
from testimonials.projects.settings import GRACE, list_deleted, take_back
from testimonials.projects.team import list_memberships
from testimonials.testimonials.inbox import count_tabs

PAGE_SIZE = 24
MAX_SEARCH = 100
home.add_app_template_filter(clock.iso, "iso")
home.add_app_template_filter(describe_time, "full")
home.add_app_template_filter(describe_age, "age")
home.add_app_template_filter(start_small)
home.add_app_template_filter(translate_browser, "browser")


class NewProjectForm(FormSchema):
    business_name = Text(
        BUSINESS_NAME_LENGTH,
        one_line=True,
        required=True,
        attribute="businessName",
        error_messages={"required": gettext_noop("Add the name of the business.")},
    )
    website = Text(WEBSITE_LENGTH, one_line=True, load_default="")
    slug = Text(SLUG_LENGTH, one_line=True)


@home.get("/dashboard")
@require_session
def show_start(owner: SignedIn) -> ResponseReturnValue:
    """Go to the inbox of the only project, or to the list of projects."""
    projects = search_shared(owner.account_id, "", 0, 2)
    if len(projects) == 1:
        return redirect(url_for("dashboard.inbox.show_inbox", project_id=projects[0].id), 303)
    return redirect(url_for(".show_projects"), 303)


@home.get("/dashboard/projects")
@require_session
def show_projects(owner: SignedIn) -> ResponseReturnValue:
    """Show a page of the projects, or of those that ``?q=`` finds."""
    return _page(owner, {}, {})


@home.post("/dashboard/projects")
@require_session
def create_project_here(owner: SignedIn) -> ResponseReturnValue:
    """Create a project; an account's first one starts with samples."""
    sent = NewProjectForm().read(request.form)
    if sent.errors:
        return _page(owner, sent.errors, sent.typed), 422
    begin_write()
    try:
        project = create_project(owner.account_id, sent.values)
    except ServiceError as error:
        db.session.rollback()
        return _page(owner, to_form_errors(error), sent.typed), 422
    db.session.commit()
    return redirect(url_for("dashboard.inbox.show_inbox", project_id=project.id), 303)


@home.post("/dashboard/projects/<project_id>/take-back")
@require_session
def take_back_project(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    begin_write()
    project = take_back(owner.account_id, project_id)
    record(PROJECT_RESTORED, project, name=project.name)
    db.session.commit()
    return redirect(url_for("dashboard.inbox.show_inbox"), 303)


@home.post("/dashboard/theme")
@require_session
def choose_theme(owner: SignedIn) -> ResponseReturnValue:
    theme = request.form.get("theme", "system")
    response = redirect(url_for("dashboard.account.show_account"), 303)
    if theme in THEMES:
        set_cookie(response, theme_cookie(), theme, 365 * 86400)
    return response


def _page(owner: SignedIn, errors: Errors, values: dict[str, str]) -> str:
    found = _find_page(owner)
    shared = found["projects"]
    return render_template(
        "dashboard/projects.html",
        shell=build_shell(owner, "projects"),
        memberships=list_memberships(owner.account_id, shared),
        counts=count_tabs(*(project.id for project in shared)),
        deleted={
            project: format_day(project.deleted_at + GRACE)
            for project in list_deleted(owner.account_id)
            if project.deleted_at is not None
        },
        errors=errors,
        values=values,
        page_base=collection_page_url(""),
        limit=describe_plan(get_account(owner.account_id)),
        **found,
    )


def _find_page(owner: SignedIn) -> dict[str, Any]:
    """Return the page of projects that the address asks for, and the addresses around it."""
    q = request.args.get("q", "").replace("\0", "").strip()[:MAX_SEARCH]
    page = read_page(request.args.get("page", "1"))
    skip = (page - 1) * PAGE_SIZE
    rows = search_shared(owner.account_id, q, skip, PAGE_SIZE + 1)
    shown = rows[:PAGE_SIZE]
    return {
        "projects": shown,
        "q": q,
        "is_part": bool(q) or page > 1 or len(rows) > PAGE_SIZE,
        "pager": {
            "prev_url": _address(q, page - 1) if page > 1 else None,
            "next_url": _address(q, page + 1) if len(rows) > PAGE_SIZE else None,
            "label": _("%(first)s to %(last)s", first=skip + 1, last=skip + len(shown))
            if shown
            else "",
        },
    }


def _address(q: str, page: int) -> str:
    return url_for(".show_projects", q=q or None, page=page if page > 1 else None)
