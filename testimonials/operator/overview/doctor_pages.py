"""The doctor as a page: everything is checked, and each finding says what to do."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import require_proof
from testimonials.extensions import db
from testimonials.operations.doctor.findings import Finding
from testimonials.operations.doctor.running import examine, is_fine
from testimonials.operator.guards import operator_shell, require_operator

operator_doctor = Blueprint("operator_doctor", __name__)

HERE = "operator_doctor.show_doctor"


@operator_doctor.get("/operator/doctor")
@require_operator
def show_doctor(owner: SignedIn) -> ResponseReturnValue:
    return answer_privately(_page(owner))


@operator_doctor.post("/operator/doctor")
@require_operator
@require_proof("run the doctor", HERE)
def run_doctor(owner: SignedIn) -> ResponseReturnValue:
    """Check everything that takes seconds: settings, files, addresses, mail, backups."""
    # No connection to the database is held while name servers and mail servers answer.
    db.session.rollback()
    return answer_privately(_page(owner, examine(is_short=True)))


def _page(owner: SignedIn, found: dict[str, list[Finding]] | None = None) -> str:
    rows = list((found or {}).items())
    return render_template(
        "operator/doctor.html",
        shell=operator_shell(owner, "doctor"),
        found=found,
        wrong=[row for row in rows if not is_fine(row[1])],
        right=[row for row in rows if is_fine(row[1])],
    )
