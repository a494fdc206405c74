"""Reports of abuse: the public form, and how the operator handles them."""

from collections.abc import Sequence

from flask import render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from testimonials.collection.events import REPORT_SENT, REPORT_SETTLED
from testimonials.collection.models import AbuseReport
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import delete_rows, find_row, write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import collection
from testimonials.core.http.errors import NotFound, ValidationFailed, require_found
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import FormSchema, SentForm
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit, client_key
from testimonials.core.http.security import answer_privately
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project
from testimonials.testimonials.events import TEXTS_READ
from testimonials.testimonials.models import Testimonial


def delete_old_reports(limit: int) -> int:
    """Delete up to `limit` reports settled more than REPORT_DAYS ago; return how many."""
    until = clock.expired_until(current_settings().report_days)
    old = select(AbuseReport.id).where(AbuseReport.settled_at <= until).limit(limit)
    return delete_rows(AbuseReport, AbuseReport.id.in_(old))


# The reasons that visitors can choose, translated for them.
REASONS = {
    "fraud": gettext_noop("It is spam or fraud"),
    "hurtful": gettext_noop("It insults or threatens someone"),
    "private": gettext_noop("It reveals something private about someone"),
    "other": gettext_noop("Something else"),
}
PAGES = ("collection", "wall", "testimonial")
MOST_WORDS = 1000


def add_report(
    project: Project, reason: str, words: str = "", page: str = PAGES[0], testimonial: str = ""
) -> None:
    """Store a visitor's report; the project's owner isn't notified."""
    is_one = is_identifier(testimonial) and page == "testimonial"
    report = AbuseReport(
        project_id=project.id,
        testimonial_id=testimonial if is_one else None,
        page=page,
        reason=reason,
        words=words[:MOST_WORDS],
    )
    db.session.add(report)
    record(REPORT_SENT, None, slug=project.slug)


def list_reports(*, is_settled: bool = False) -> Sequence[tuple[AbuseReport, Project]]:
    """Return 200 reports with their projects: the oldest open ones, or the newest settled ones."""
    query = select(AbuseReport, Project).join(Project, Project.id == AbuseReport.project_id)
    if is_settled:
        query = query.where(AbuseReport.settled_at.is_not(None))
        query = query.order_by(AbuseReport.settled_at.desc())
    else:
        query = query.where(AbuseReport.settled_at.is_(None)).order_by(AbuseReport.id)
    rows = db.session.execute(query.limit(200))
    return [(row[0], row[1]) for row in rows]


def settle_report(report_id: str) -> AbuseReport:
    """Mark a report as settled. Raises `NotFound`."""
    report, _ = _find_report(report_id)
    report.settled_at = report.settled_at or clock.now()
    record(REPORT_SETTLED, None, report=report.id)
    return report


def read_reported(report_id: str, reason: str) -> Testimonial:
    """Return the reported testimonial; record for its owner who read it and why.

    Raises `NotFound`, and `ValidationFailed` without a reason.
    """
    why = " ".join(reason.split())[:MOST_WORDS]
    if not why:
        problem = "Give a reason: it is written to the owner’s activity."
        raise ValidationFailed.of({"reason": [problem]})
    report, project = _find_report(report_id)
    row = db.session.get(Testimonial, report.testimonial_id) if report.testimonial_id else None
    if row is None or row.project_id != project.id:
        raise NotFound("The report isn’t about a single testimonial, or that was deleted.")
    record(TEXTS_READ, project, reason=why)
    return row


def _find_report(report_id: str) -> tuple[AbuseReport, Project]:
    report = require_found(find_row(AbuseReport, report_id), "There is no report with this id.")
    return report, db.session.get_one(Project, report.project_id)


# “Report this page” is a form for visitors that asks for no address and sends no mail.

PER_ADDRESS = Limit("report-ip", 5, "from one IP address")
PER_PROJECT = Limit("report-project", 50, "about one page", hours=24)


class ReportForm(FormSchema):
    """A report about a page or a testimonial on it."""

    reason = Choice(*REASONS, required=True)
    words = Text(64 * 1024, load_default="")
    page = Choice(*PAGES, load_default="collection")
    testimonial = Text(24, load_default="")


@collection.get("/<slug>/report")
def show_report(slug: str) -> ResponseReturnValue:
    return answer_privately(_page(find_public_project(slug=slug), ReportForm().read(request.args)))


@collection.post("/<slug>/report")
def send_report(slug: str) -> ResponseReturnValue:
    project, sent = find_public_project(slug=slug), ReportForm().read(request.form)
    if "reason" in sent.errors:
        return answer_privately(_page(project, sent, is_wrong=True), 422)
    limiter.count(PER_ADDRESS, client_key(ipv6_bits=48))
    limiter.count(PER_PROJECT, project.id)
    with write():
        add_report(project, **sent.values)
    return answer_privately(_page(project, sent, is_sent=True))


def _page(project: Project, sent: SentForm, **state: bool) -> str:
    return render_template(
        "collection/report.html",
        name=project.name,
        slug=project.slug,
        page=sent.values.get("page", ""),
        testimonial=sent.values.get("testimonial", ""),
        reasons=REASONS,
        typed=sent.typed,
        **state,
    )
