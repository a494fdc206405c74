"""The frame around every page: the account, the project, the navigation."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from flask import after_this_request, request, url_for
from werkzeug import Response

from testimonials.auth.cookies import OPENED, THEME, read_cookie, set_cookie
from testimonials.auth.sessions import SignedIn
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import write
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.images.colors import derive_colors
from testimonials.projects.access import Access, Role, list_last_shared
from testimonials.projects.brand import find_brand
from testimonials.projects.changes import kinds_of
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.projects.proposals import select_waiting
from testimonials.testimonials.inbox import count_tabs
from testimonials.testimonials.new_numbers import start_old_numbers_clock, starts_clock

THEMES = ("system", "light", "dark")
# The navigation of a project: each item's name, icon, label, endpoint, and the key after G.
INBOX = ("inbox", "inbox", gettext_noop("Inbox"), "dashboard.inbox.show_inbox", "i")
SETTINGS = (
    *("settings", "sliders", gettext_noop("Settings"), "dashboard.settings.show_settings", "s"),
)
PLACES = (
    INBOX,
    ("collect", "send", gettext_noop("Collect"), "dashboard.collect.show_collect", "c"),
    ("widget", "widget", gettext_noop("Widget"), "dashboard.widget.show_editor", "w"),
    ("insights", "chart", gettext_noop("Insights"), "dashboard.insights.show_insights", "n"),
    SETTINGS,
)
# How many projects the switcher lists; the page of projects has the others.
SWITCHED = 7
YEAR_SECONDS = 365 * 86400
# Pages of help, by endpoint or item of the navigation.
HELP = {
    "inbox": "decide",
    "collect": "ask",
    "widget": "site",
    "dashboard.collect.show_page_editor": "media",
    "dashboard.settings.show_brand": "brand",
    "dashboard.settings.show_domain": "domain",
    "dashboard.people.show_people": "people",
    "dashboard.people.show_all_people": "people",
    "dashboard.settings.show_developers": "agent",
    "dashboard.settings.show_agents": "agent",
}


def build_shell(who: SignedIn | Access, active: str) -> dict[str, Any]:
    theme = read_cookie(THEME) or "system"
    access = who if isinstance(who, Access) else None
    owner, project = (who.user, who.project) if isinstance(who, Access) else (who, None)
    if project and starts_clock(project):
        _start_clock(project.id)
    topic = HELP.get(request.endpoint or "") or HELP.get(active)
    return {
        "email": owner.email,
        "who": owner.name,
        "has_name": owner.display_name is not None,
        "project": project and describe_project(project),
        "is_admin": access is not None and access.is_admin,
        "is_owner": access is not None and access.role == Role.OWNER,
        "may_decide": access is not None and access.may_decide,
        **_describe_switcher(owner, project),
        "active": active,
        "home_url": url_for("dashboard.home.show_start"),
        "help_url": (
            url_for("site.show_help_page", topic=topic) if topic else url_for("site.show_help")
        ),
        "places": [
            (name, glyph, translate(label), endpoint, key)
            for name, glyph, label, endpoint, key in (
                PLACES if access is not None and access.is_admin else (INBOX, SETTINGS)
            )
        ],
        "counts": access and count_inbox(access),
        "theme": theme if theme in THEMES else "system",
    }


def count_inbox(access: Access) -> dict[str, int]:
    """Return the count of each tab, and how many decisions are `waiting` for this person."""
    id, kinds = access.project.id, None if access.is_admin else kinds_of(access)
    return count_tabs(id, proposed=select_waiting(id, kinds))[id]


def _start_clock(project_id: str) -> None:
    """Limit how long the project shows its old numbers, now that its team can see the new ones."""

    @after_this_request
    def start(response: Response) -> Response:
        with write(partial(lock_project, project_id)) as project:
            start_old_numbers_clock(project)
        return response


def list_switched(owner: SignedIn, project: Project | None) -> Sequence[Project]:
    """Return the projects of the switcher, last opened first; one more if there are more."""
    return list_last_shared(owner.account_id, _read_opened(project), SWITCHED + 1)


def _read_opened(project: Project | None) -> list[str]:
    current = [project.id] if project else []
    opened = dict.fromkeys([*current, *read_cookie(OPENED).split(".")])
    return list(filter(is_identifier, opened))[:SWITCHED]


def _describe_switcher(owner: SignedIn, project: Project | None) -> dict[str, Any]:
    rows = list_switched(owner, project)
    if len(rows) > 1:
        _keep_opened(_read_opened(project))
    last = describe_project(rows[0]) if rows else None
    if not (has_more := len(rows) > SWITCHED):
        rows = sorted(rows, key=lambda row: (row.created_at, row.id), reverse=True)
    names = Counter(row.called for row in rows)
    return {
        "projects": [
            describe_project(row)
            | {
                "is_current": project is not None and row.id == project.id,
                # Distinguishes projects of the same name, such as copies.
                "address": f"/{row.slug}" if names[row.called] > 1 else "",
            }
            for row in rows[:SWITCHED]
        ],
        "has_more": has_more,
        "last": last,
    }


def _keep_opened(opened: list[str]) -> None:
    """Store the last opened projects in a cookie, if they have changed."""
    if ".".join(opened) == read_cookie(OPENED):
        return

    @after_this_request
    def keep(response: Response) -> Response:
        set_cookie(response, OPENED, ".".join(opened), YEAR_SECONDS)
        return response


def describe_project(project: Project) -> dict[str, Any]:
    brand = find_brand(project)
    return {
        "name": project.called,
        "initial": project.called[:1].upper(),
        "url": url_for("dashboard.inbox.show_inbox", project_id=project.id),
        "logo_url": brand.logo_url,
        "colours": derive_colors(brand.color).light,
    }
