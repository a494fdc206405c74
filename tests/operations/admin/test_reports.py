"""“Report this page”: from a visitor to the operator, without a word to anybody else."""

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.collection.models import AbuseReport
from testimonials.core.extensions import db
from testimonials.core.http.i18n import LANGUAGES
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import count_rows


@pytest.fixture
def testimonial(customer: Caller) -> str:
    project = customer.get("/v1/projects").json["data"][0]["_id"]
    listed = customer.get(f"/v1/projects/{project}/testimonials").json["data"]["items"]
    return str(listed[0]["_id"])


def report(server: Flask, ip: str = "127.0.0.1", **form: str) -> int:
    values = {"reason": "private", "words": "That is my address.", "page": "wall"} | form
    sender = {"REMOTE_ADDR": ip}
    answer = server.test_client().post("/larkspur/report", data=values, environ_base=sender)
    return answer.status_code


def run(server: Flask, *arguments: str, code: int = 0) -> str:
    result = server.test_cli_runner().invoke(args=["reports", *arguments])
    assert result.exit_code == code, result.output
    return str(result.output)


def only_report(server: Flask) -> str:
    with server.app_context():
        return db.session.scalars(select(AbuseReport.id)).one()


def test_public_pages_lead_to_the_form(server, customer, testimonial):
    visitor = server.test_client()
    for path in ("/larkspur", "/larkspur/wall", f"/larkspur/{testimonial}"):
        page = visitor.get(path).text
        link = page.partition('href="/larkspur/report?')[2].partition('"')[0]
        assert link, path
        assert visitor.get("/larkspur/report?" + link.replace("&amp;", "&")).status_code == 200
    for language in LANGUAGES:
        page = visitor.get(f"/larkspur/report?lang={language.code}").text
        assert f'<html lang="{language.code}"' in page
        assert ("Report this page" in page) is (language.code == "en")
        # Nobody reads an address there.
        assert customer.email not in page
        assert "boss@example.com" not in page
    assert visitor.get("/nobody-here/report").status_code == 404


def test_a_report_reaches_operators(server, boss, customer):
    assert report(server, reason="") == 422
    assert report(server) == 200
    assert "1 report waits" in boss.get("/operator").text
    assert "That is my address." in run(server, "list")
    theirs = open_browser(server, customer).get("/dashboard/account/activity").text
    assert "That is my address." not in theirs
    report_id = only_report(server)
    run(server, "settle", report_id)
    assert run(server, "list") == "There are no reports.\n"
    assert report_id in run(server, "list", "--settled")
    assert "report waits" not in boss.get("/operator").text
    assert "There is no report" in run(server, "settle", "nonsense", code=1)


def test_reading_what_is_reported_needs_a_reason_that_the_owner_reads(
    server, customer, testimonial
):
    assert report(server, page="testimonial", testimonial=testimonial) == 200
    report_id = only_report(server)
    assert "Words that nobody here may read." not in run(server, "list")
    assert "Give a reason" in run(server, "read", report_id, "--reason", " ", code=1)
    shown = run(server, "read", report_id, "--reason", "A person complained.")
    assert "Words that nobody here may read." in shown
    activity = open_browser(server, customer).get("/dashboard/account/activity").text
    assert "The operator (reports read)" in activity
    assert "read a testimonial: A person complained." in activity


def test_a_report_opens_no_other(server, customer, make_caller):
    other = make_caller("other@example.com", is_claimed=True, on=server)
    theirs = other.create_testimonial(other.create_project()["_id"], text="Elsewhere.")["_id"]
    assert report(server, page="testimonial", testimonial=theirs) == 200
    told = run(server, "read", only_report(server), "--reason", "x", code=1)
    assert "about a single testimonial" in told
    assert "Elsewhere." not in told


def test_one_network_sends_few(server, customer):
    statuses = [report(server, words="x" * 5000) for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert count_rows(server, AbuseReport) == 5
    with server.app_context():
        assert len(db.session.scalars(select(AbuseReport.words)).first() or "") == 1000
    # About one project many networks together don't send any number.
    elsewhere = [report(server, ip=f"10.0.{n}.1") for n in range(46)]
    assert elsewhere == [200] * 45 + [429]
