"""`testimonials reports`."""

from typing import Any

import click

from testimonials.collection.abuse_reports import AbuseReport
from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_record, print_rows
from testimonials.extensions import begin_write, db
from testimonials.operator.reports.services import list_reports, read_reported, settle_report


@click.group()
def reports() -> None:
    """Look at what visitors reported about public pages."""


@reports.command("list")
@click.option("--settled", is_flag=True, help="Those that are settled.")
@json_option
@database_command
def list_command(settled: bool, as_json: bool) -> None:
    """List the reports that wait for somebody, the oldest first."""
    found = list_reports(is_settled=settled)
    rows = [_describe(report) | {"slug": project.slug} for report, project in found]
    print_rows(rows, as_json=as_json, empty="There are no reports.")


@reports.command("settle")
@click.argument("report_id", metavar="ID")
@json_option
@database_command
def settle_command(report_id: str, as_json: bool) -> None:
    """Note that a report is done with."""
    begin_write()
    report = settle_report(report_id)
    db.session.commit()
    print_record(_describe(report), as_json=as_json)


@reports.command("read")
@click.argument("report_id", metavar="ID")
@click.option("--reason", required=True, help="Why; the owner's activity shows it.")
@json_option
@database_command
def read_command(report_id: str, reason: str, as_json: bool) -> None:
    """Show the testimonial that a report is about; the owner's activity says so."""
    begin_write()
    row = read_reported(report_id, reason)
    record = {"testimonialId": row.id, "authorName": row.author_name, "text": row.text}
    db.session.commit()
    print_record(record, as_json=as_json)


def _describe(report: AbuseReport) -> dict[str, Any]:
    return {
        "id": report.id,
        "createdAt": iso(report.created_at),
        "projectId": report.project_id,
        "page": report.page,
        "testimonialId": report.testimonial_id,
        "reason": report.reason,
        "words": report.words,
        "settledAt": iso(report.settled_at) if report.settled_at else None,
    }
