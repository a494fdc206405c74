"""The operator's page about projects' own host names: looking them up, and removing them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import require_proof
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.domains.looking import look_at
from testimonials.domains.services import get_domain, list_first, note_finding, remove_domain
from testimonials.extensions import begin_write, db
from testimonials.operator.guards import operator_shell, require_operator
from testimonials.projects.services import get_project, lock_project

operator_domains = Blueprint("operator_domains", __name__)

HERE = "operator_domains.show_domains"
MOST_LISTED = 200


@operator_domains.get("/operator/domains")
@require_operator
def show_domains(owner: SignedIn) -> ResponseReturnValue:
    page = render_template(
        "operator/domains.html",
        shell=operator_shell(owner, "domains"),
        notice=read_notice(),
        domains=list_first(MOST_LISTED),
        most=MOST_LISTED,
    )
    return answer_privately(page)


@operator_domains.post("/operator/domains/check")
@require_operator
@require_proof("look a host name up", HERE)
def check(owner: SignedIn) -> ResponseReturnValue:
    project_id = request.form.get("project", "")
    host = get_domain(get_project(project_id)).host
    # Before the lock is taken, so that nobody waits for the DNS.
    db.session.rollback()
    finding = look_at(host)
    begin_write()
    note_finding(lock_project(project_id), host, finding)
    db.session.commit()
    return redirect(add_notice(url_for(HERE), f"Looked up: {host}"), 303)


@operator_domains.post("/operator/domains/remove")
@require_operator
@require_proof("remove a host name", HERE)
def remove(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    project = lock_project(request.form.get("project", ""))
    host = get_domain(project).host
    remove_domain(project)
    db.session.commit()
    return redirect(add_notice(url_for(HERE), f"Removed: {host}"), 303)
