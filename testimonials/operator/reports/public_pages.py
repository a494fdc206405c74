"""“Report this page”: a form for visitors of public pages, in their language.

It asks for no address and mails nobody, so it tells strangers nothing and fills no mailbox.
"""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.core.web.languages import use_visitors_language
from testimonials.core.web.rate_limits import Limit, client_key
from testimonials.core.web.response_headers import answer_privately
from testimonials.extensions import begin_write, db, limiter
from testimonials.operator.reports.services import PAGES, REASONS, add_report
from testimonials.projects.models import Project
from testimonials.projects.services import find_public_project

reporting = Blueprint("reporting", __name__)
reporting.before_request(use_visitors_language)

PER_ADDRESS = Limit("report-ip", 5, "from one IP address")
PER_PROJECT = Limit("report-project", 50, "about one page", hours=24)


@reporting.get("/<slug>/report")
def show_report(slug: str) -> ResponseReturnValue:
    return answer_privately(_page(find_public_project(slug=slug)))


@reporting.post("/<slug>/report")
def send_report(slug: str) -> ResponseReturnValue:
    project, form = find_public_project(slug=slug), request.form
    if form.get("reason") not in REASONS:
        return answer_privately(_page(project, is_wrong=True), 422)
    limiter.count(PER_ADDRESS, client_key(ipv6_bits=48))
    limiter.count(PER_PROJECT, project.id)
    begin_write()
    about, words = form.get("testimonial", ""), form.get("words", "")
    add_report(project, form.get("page", ""), about, form["reason"], words)
    db.session.commit()
    return answer_privately(_page(project, is_sent=True))


def _page(project: Project, *, is_wrong: bool = False, is_sent: bool = False) -> str:
    page = request.values.get("page", "")
    return render_template(
        "operator/report_form.html",
        name=project.name,
        slug=project.slug,
        page=page if page in PAGES else "collection",
        testimonial=request.values.get("testimonial", "")[:24],
        reasons=REASONS,
        typed=request.form,
        is_wrong=is_wrong,
        is_sent=is_sent,
    )
