"""The operator's pages: what needs somebody, the jobs, the security events and the limits."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.guards import require_proof
from testimonials.dashboard.notices import read_notice
from testimonials.operations.health import list_jobs
from testimonials.operator.accounts_view import list_accounts
from testimonials.operator.guards import operator_shell, require_operator
from testimonials.operator.overview.view import describe_server
from testimonials.operator.security_view import list_limits, list_security_events

operator = Blueprint("operator", __name__)


@operator.get("/operator")
@require_operator
def show_server(owner: SignedIn) -> ResponseReturnValue:
    return render_template(
        "operator/server.html",
        shell=operator_shell(owner, "server"),
        notice=read_notice(),
        rows=list_accounts({})["rows"][:5],
        **describe_server(),
    )


@operator.post("/operator/open")
@require_operator
@require_proof("open the operator’s pages", "dashboard.show_start")
def open_server(owner: SignedIn) -> ResponseReturnValue:
    """Go on to the page that asked for a proof; reading stays open for an hour."""
    target = safe_target(request.form.get("target", ""))
    return redirect(target or url_for(".show_server"), 303)


@operator.get("/operator/jobs")
@require_operator
def show_jobs(owner: SignedIn) -> ResponseReturnValue:
    shell = operator_shell(owner, "jobs")
    return render_template("operator/jobs.html", shell=shell, jobs=list_jobs())


@operator.get("/operator/security")
@require_operator
def show_security(owner: SignedIn) -> ResponseReturnValue:
    shown = list_security_events(request.args.get("before", ""))
    return render_template(
        "operator/security.html", shell=operator_shell(owner, "security"), **shown
    )


@operator.get("/operator/limits")
@require_operator
def show_limits(owner: SignedIn) -> ResponseReturnValue:
    shell = operator_shell(owner, "limits")
    return render_template("operator/limits.html", shell=shell, limits=list_limits())
