"""Taking reports, listing and settling them, and reading what one is about."""

from collections.abc import Sequence

from sqlalchemy import select

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event, record_project_event
from testimonials.collection.abuse_reports import AbuseReport
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# What visitors choose from, in their language.
REASONS = {
    "fraud": gettext_noop("It is spam or fraud"),
    "hurtful": gettext_noop("It insults or threatens somebody"),
    "private": gettext_noop("It shows something private about somebody"),
    "other": gettext_noop("Something else"),
}
PAGES = ("collection", "wall", "testimonial")
MOST_WORDS = 1000
MOST_LISTED = 200


def add_report(project: Project, page: str, testimonial_id: str, reason: str, words: str) -> None:
    """Keep a visitor's report; the owner of the project isn't told."""
    is_one = is_identifier(testimonial_id) and page == "testimonial"
    report = AbuseReport(
        project_id=project.id,
        testimonial_id=testimonial_id if is_one else None,
        page=page if page in PAGES else "collection",
        reason=reason,
        words=words.strip()[:MOST_WORDS],
    )
    db.session.add(report)
    record_event(EventType.REPORT_SENT, None, slug=project.slug)


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
    record_event(EventType.REPORT_SETTLED, None, report=report.id)
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
    record_project_event(EventType.TEXTS_READ, project, reason=why)
    return row


def _find_report(report_id: str) -> tuple[AbuseReport, Project]:
    report = db.session.get(AbuseReport, report_id) if is_identifier(report_id) else None
    if report is None:
        raise NotFound("There is no report with this id.")
    return report, db.session.get_one(Project, report.project_id)
