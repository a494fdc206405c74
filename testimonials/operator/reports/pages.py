"""The operator's page of reports."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import require_proof
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.operator.guards import operator_shell, require_operator
from testimonials.operator.reports.services import (
    REASONS,
    list_reports,
    read_reported,
    settle_report,
)

operator_reports = Blueprint("operator_reports", __name__)

HERE = "operator_reports.show_reports"


@operator_reports.get("/operator/reports")
@require_operator
def show_reports(owner: SignedIn) -> ResponseReturnValue:
    return answer_privately(_page(owner))


@operator_reports.post("/operator/reports/<report_id>/settle")
@require_operator
@require_proof("settle a report", HERE)
def settle(owner: SignedIn, report_id: str) -> ResponseReturnValue:
    begin_write()
    settle_report(report_id)
    db.session.commit()
    return redirect(add_notice(url_for(HERE), "Settled"), 303)


@operator_reports.post("/operator/reports/<report_id>/read")
@require_operator
@require_proof("read what somebody wrote", HERE)
def read(owner: SignedIn, report_id: str) -> ResponseReturnValue:
    """Show a testimonial, which the owner's activity then says with the reason."""
    begin_write()
    try:
        row = read_reported(report_id, request.form.get("reason", ""))
    except ValidationFailed as error:
        db.session.rollback()
        return answer_privately(_page(owner, error.errors, report_id), 422)
    db.session.commit()
    shell = operator_shell(owner, "reports")
    return answer_privately(render_template("operator/reported.html", shell=shell, row=row))


def _page(owner: SignedIn, errors: object = None, wrong_id: str = "") -> str:
    return render_template(
        "operator/reports.html",
        shell=operator_shell(owner, "reports"),
        notice=read_notice(),
        waiting=list_reports(),
        settled=list_reports(is_settled=True),
        reasons=REASONS,
        errors=errors or {},
        wrong_id=wrong_id,
    )
