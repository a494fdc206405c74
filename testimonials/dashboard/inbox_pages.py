"""The inbox: the list, decisions one by one and many at once, and undoing them.

A decision answers a form with a redirect back to the list, and a script with JSON.
"""

from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, current_app, jsonify, redirect, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.auth.sessions import SignedIn
from testimonials.core.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.web import safe_target
from testimonials.dashboard.checklist import describe_checklist
from testimonials.dashboard.describe import describe_testimonial
from testimonials.dashboard.guards import build_shell, require_session
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Role, find_shared_project
from testimonials.projects.models import Project
from testimonials.testimonials.inbox import (
    PAGE_SIZE,
    SOURCES,
    TABS,
    InboxFilter,
    count_tabs,
    find_rows,
    list_inbox,
)
from testimonials.testimonials.moderation import (
    ACTIONS,
    ActionRefused,
    apply_action,
    find_testimonial,
    make_undo_token,
    undo_batch,
)

inbox = Blueprint("inbox", __name__)

MAX_SEARCH = 200
NOTICE_SECONDS = 60

notice_purpose = TokenPurpose("notice")
EMPTY = {
    "pending": ("Nothing waits for you", "What customers send on your collection page lands here."),
    "approved": ("Nothing is approved yet", "Approved testimonials show in your widget."),
    "rejected": ("Nothing is rejected", "Rejected testimonials show nowhere and stay here."),
    "all": ("No testimonials yet", "Send customers the link to your collection page."),
    "trash": ("The trash is empty", "Deleted testimonials stay here for 30 days."),
}


@inbox.get("/dashboard/projects/<project_id>/inbox")
@require_session
def show_inbox(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Show one tab of the inbox, searched and filtered as the address says."""
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR)
    wanted = read_filter(request.args)
    page = _read_page(request.args.get("page", "1"))
    rows, page, total = list_inbox(project.id, wanted, page)
    base = f"/dashboard/projects/{project.id}"
    shell = build_shell(owner, "inbox", project)
    return render_template(
        "dashboard/inbox.html",
        shell=shell,
        checklist=describe_checklist(project) if shell["is_admin"] else None,
        notice=_read_notice(base),
        project={
            "name": project.name,
            "page_url": f"{current_app.config['APP_URL']}/{project.slug}",
            "is_active": project.is_active,
        },
        tabs=_describe_tabs(base, count_tabs(project.id), wanted.tab),
        filters=_describe_filters(base, wanted),
        status=wanted.tab,
        items=[describe_testimonial(row, base) for row in rows],
        total=total,
        bulk_action=f"{base}/bulk",
        pager=_describe_pager(base, wanted, page, total),
        add_url=f"{base}/testimonials/new",
        return_to=_address(base, wanted, page),
        empty=_describe_empty(base, project, wanted),
    )


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/action")
@require_session
def decide(owner: SignedIn, project_id: str, testimonial_id: str) -> ResponseReturnValue:
    """Do one thing to one testimonial."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR, for_update=True)
    row = find_testimonial(project, testimonial_id)
    name = _read_action()
    batch, count = apply_action(project, [row], name, owner.email)
    if not count:
        raise ActionRefused(f"{row.author_name} is {_describe_state(row)} already.")
    text = f"{ACTIONS[name].done} {row.author_name}"
    token = make_undo_token(project, batch)
    db.session.commit()
    return _answer(project, text, token)


@inbox.post("/dashboard/projects/<project_id>/bulk")
@require_session
def decide_many(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Do one thing to all chosen testimonials, or to all that the filter finds."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR, for_update=True)
    is_all = request.form.get("all") == "1"
    ids = request.form.getlist("ids")
    rows = find_rows(project.id, read_filter(request.form), ids, is_all=is_all)
    name = _read_action()
    batch, count = apply_action(project, rows, name, owner.email)
    if not count:
        raise ActionRefused("Nothing was chosen that this can be done to.")
    token = make_undo_token(project, batch)
    db.session.commit()
    noun = "testimonial" if count == 1 else "testimonials"
    return _answer(project, f"{ACTIONS[name].done} {count} {noun}", token)


@inbox.post("/dashboard/projects/<project_id>/undo")
@require_session
def undo(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Put back what one decision changed."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR, for_update=True)
    undo_batch(project, request.form.get("undo", ""), owner.email)
    db.session.commit()
    return _answer(project, "Undone", None)


@inbox.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    """Tell a script why, and take a person back to the list with the reason."""
    db.session.rollback()
    if _wants_json():
        return jsonify({"message": error.message}), error.status
    return redirect(_with_notice(_return_target(), error.message, None), 303)


def read_filter(values: Any) -> InboxFilter:
    """Read what is asked for from an address or a form; what makes no sense counts as any."""
    tab, rating, source = values.get("status"), values.get("rating"), values.get("source", "")
    return InboxFilter(
        tab=tab if tab in TABS else "pending",
        q=values.get("q", "").replace("\0", "").strip()[:MAX_SEARCH],
        rating=int(rating) if rating in ("1", "2", "3", "4", "5") else None,
        source=source if source in SOURCES else "",
    )


def _answer(project: Project, text: str, token: str | None) -> ResponseReturnValue:
    undo_url = f"/dashboard/projects/{project.id}/undo" if token else None
    if _wants_json():
        notice = {"text": text, "undo_url": undo_url, "undo_token": token}
        return jsonify({"ok": True, "notice": notice, "counts": count_tabs(project.id)})
    return redirect(_with_notice(_return_target(), text, token), 303)


def _wants_json() -> bool:
    return bool(request.accept_mimetypes.best == "application/json")


def _return_target() -> str:
    inbox_url = describe_path(request.path)
    return safe_target(request.form.get("return_to", "")) or inbox_url


def describe_path(path: str) -> str:
    """Give the inbox of the project that a path of the dashboard is about."""
    return "/".join(path.split("/")[:4]) + "/inbox"


def _with_notice(target: str, text: str, token: str | None) -> str:
    # It rides in the address, so that the server keeps nothing of it; signed, so that nobody can
    # put words of their own into somebody's dashboard.
    values = {"notice": notice_purpose.sign([text, token])}
    return target + ("&" if "?" in target else "?") + urlencode(values)


def _read_notice(base: str) -> dict[str, str | None] | None:
    try:
        (text, token), _ = notice_purpose.read(request.args.get("notice", ""), NOTICE_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return {
        "text": text,
        "undo_url": f"{base}/undo" if token else None,
        "undo_token": token,
    }


def _read_action() -> str:
    name = request.form.get("action", "")
    if name not in ACTIONS:
        raise ActionRefused("This page doesn’t know what to do. Load it again.")
    return name


def _describe_state(row: Any) -> str:
    return "in the trash" if row.deleted_at else str(row.status)


def _address(base: str, wanted: InboxFilter, page: int = 1) -> str:
    values = {
        "status": wanted.tab,
        "q": wanted.q,
        "rating": str(wanted.rating or ""),
        "source": wanted.source,
        "page": str(page) if page > 1 else "",
    }
    return f"{base}/inbox?" + urlencode({name: text for name, text in values.items() if text})


def _describe_tabs(base: str, counts: dict[str, int], current: str) -> list[dict[str, Any]]:
    return [
        {
            "key": tab,
            "label": tab.capitalize(),
            "count": counts[tab],
            "url": f"{base}/inbox?status={tab}",
            "is_current": tab == current,
        }
        for tab in TABS
    ]


def _describe_filters(base: str, wanted: InboxFilter) -> dict[str, Any]:
    return {
        "q": wanted.q,
        "rating": str(wanted.rating or ""),
        "source": wanted.source,
        "action": f"{base}/inbox",
        "has_any": wanted.is_narrowed,
        "clear_url": f"{base}/inbox?status={wanted.tab}",
    }


def _describe_pager(base: str, wanted: InboxFilter, page: int, total: int) -> dict[str, Any]:
    first, last = (page - 1) * PAGE_SIZE + 1, min(page * PAGE_SIZE, total)
    return {
        "prev_url": _address(base, wanted, page - 1) if page > 1 else None,
        "next_url": _address(base, wanted, page + 1) if last < total else None,
        "label": f"{first} to {last} of {total}" if last >= first else "",
    }


def _describe_empty(base: str, project: Project, wanted: InboxFilter) -> dict[str, Any]:
    if wanted.is_narrowed:
        return {
            "title": "Nothing found",
            "text": "No testimonial here matches the search and the filters.",
            "action_label": "Clear them",
            "action_url": f"{base}/inbox?status={wanted.tab}",
        }
    title, text = EMPTY[wanted.tab]
    is_start = wanted.tab in ("pending", "all")
    return {
        "title": title,
        "text": text,
        "action_label": "Open the collection page" if is_start else None,
        "action_url": f"{current_app.config['APP_URL']}/{project.slug}" if is_start else None,
    }


def _read_page(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else 1
