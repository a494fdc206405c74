"""Links that prove a purchase: what a shop needs to sign them, and switching them off."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.collection.purchases.links import (
    count_verified,
    end_old_secret,
    find_old_secret,
    make_secret,
)
from testimonials.core.urls import collection_page_url
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import build_shell, require_proof, require_role, require_session
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access

purchase_links = Blueprint("purchase_links", __name__)

HERE = "purchase_links.show_purchases"


@purchase_links.get("/dashboard/projects/<project_id>/purchases")
@require_role(Role.ADMIN)
def show_purchases(access: Access) -> ResponseReturnValue:
    return _page(access)


@purchase_links.post("/dashboard/projects/<project_id>/purchases/secret")
@require_session
@require_proof("make a signing secret", HERE)
def replace_secret(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Make a secret, or replace the one that the form was about, and show it, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    if request.form.get("last_four", "") != (access.project.purchase_secret or "")[-4:]:
        db.session.rollback()
        return _go_back(_("This secret was replaced already. The new one was shown once."))
    secret = make_secret(access.project)
    record_project_event(EventType.PURCHASES_CHANGED, access.project)
    db.session.commit()
    return answer_privately(_page(access, secret))


@purchase_links.post("/dashboard/projects/<project_id>/purchases/off")
@require_role(Role.ADMIN, for_update=True)
def switch_off(access: Access) -> ResponseReturnValue:
    """Forget the secret: links that were signed with it open the plain form."""
    access.project.purchase_secret = None
    end_old_secret(access.project)
    record_project_event(EventType.PURCHASES_CHANGED, access.project)
    db.session.commit()
    return _go_back(_("These links open the plain form from now on."))


@purchase_links.post("/dashboard/projects/<project_id>/purchases/end-old")
@require_role(Role.ADMIN, for_update=True)
def end_old(access: Access) -> ResponseReturnValue:
    """End the former owner's secret at once."""
    end_old_secret(access.project)
    record_project_event(EventType.PURCHASES_CHANGED, access.project)
    db.session.commit()
    return _go_back(_("The former owner’s secret has ended."))


def _page(access: Access, new_secret: str = "") -> str:
    project = access.project
    return render_template(
        "dashboard/requests/purchases.html",
        shell=build_shell(access, "share"),
        notice=read_notice(),
        last_four=(project.purchase_secret or "")[-4:],
        new_secret=new_secret,
        old_until=project.old_purchase_secret_until if find_old_secret(project) else None,
        verified=count_verified(project),
        link=collection_page_url(project.slug, project.own_host),
    )


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(HERE), notice), 303)
