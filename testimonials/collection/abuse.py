"""Reports of abuse: the public page, and what the operator does."""

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
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project
from testimonials.testimonials.events import TEXTS_READ
from testimonials.testimonials.models import Testimonial


def delete_old_reports(limit: int) -> int:
    """Delete reports settled longer than `REPORT_DAYS` ago, at most `limit`; return how many."""
    until = clock.expired_until(current_settings().report_days)
    old = select(AbuseReport.id).where(AbuseReport.settled_at <= until).limit(limit)
    return delete_rows(AbuseReport, AbuseReport.id.in_(old))


# Taking reports, listing and settling them, and reading what one is about.

# What visitors choose from, in their language.
REASONS = {
    "fraud": gettext_noop("It is spam or fraud"),
    "hurtful": gettext_noop("It insults or threatens somebody"),
    "private": gettext_noop("It shows something private about somebody"),
    "other": gettext_noop("Something else"),
}
PAGES = ("collection", "wall", "testimonial")
# What is kept of the words, and what is read.
MOST_WORDS, MOST_SENT = 1000, 64 * 1024
ID_LENGTH = 24
MOST_LISTED = 200


def add_report(
    project: Project, reason: str, words: str = "", page: str = PAGES[0], testimonial: str = ""
) -> None:
    """Keep a visitor's report; the owner of the project isn't told."""
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
    """Return the reports that wait, the oldest first, or the newest settled ones, with projects."""
    query = select(AbuseReport, Project).join(Project, Project.id == AbuseReport.project_id)
    if is_settled:
        query = query.where(AbuseReport.settled_at.is_not(None))
        query = query.order_by(AbuseReport.settled_at.desc())
    else:
        query = query.where(AbuseReport.settled_at.is_(None)).order_by(AbuseReport.id)
    rows = db.session.execute(query.limit(MOST_LISTED))
    return [(row[0], row[1]) for row in rows]


def settle_report(report_id: str) -> AbuseReport:
    """Note that an operator is done with a report; raises `NotFound`."""
    report, _ = _find_report(report_id)
    report.settled_at = report.settled_at or clock.now()
    record(REPORT_SETTLED, None, report=report.id)
    return report


def read_reported(report_id: str, reason: str) -> Testimonial:
    """Return the testimonial that a report is about, and tell the owner's record who read it, why.

    Raises `NotFound`, and `ValidationFailed` without a reason.
    """
    why = " ".join(reason.split())[:MOST_WORDS]
    if not why:
        problem = "Give a reason: it is written to the owner’s activity."
        raise ValidationFailed.of({"reason": [problem]})
    report, project = _find_report(report_id)
    row = db.session.get(Testimonial, report.testimonial_id) if report.testimonial_id else None
    if row is None or row.project_id != project.id:
        raise NotFound("The report is about no single testimonial, or it was deleted.")
    record(TEXTS_READ, project, reason=why)
    return row


def _find_report(report_id: str) -> tuple[AbuseReport, Project]:
    report = require_found(find_row(AbuseReport, report_id), "There is no report with this id.")
    return report, db.session.get_one(Project, report.project_id)


# “Report this page”: a form for visitors of public pages, in their language.
#
# It asks for no address and mails nobody, so it tells strangers nothing and fills no mailbox.


PER_ADDRESS = Limit("report-ip", 5, "from one IP address")
PER_PROJECT = Limit("report-project", 50, "about one page", hours=24)


class ReportForm(FormSchema):
    """What a visitor reports: of which page, and of which testimonial on it."""

    reason = Choice(*REASONS, required=True)
    words = Text(MOST_SENT, load_default="")
    page = Choice(*PAGES, load_default="collection")
    testimonial = Text(ID_LENGTH, load_default="")


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
