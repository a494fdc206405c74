"""The operator's page in Chromium: on every screen, with and without what needs somebody."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from testimonials import create_app
from testimonials.auth.models import Session
from testimonials.core import clock
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.domains.services import set_domain
from testimonials.extensions import begin_write, db
from testimonials.operator.reports.services import add_report
from testimonials.projects.services import lock_project
from testimonials.settings.table import load_settings
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.looks import look
from tests.conftest import PASSWORD
from tests.support.mail_servers import MailSink
from tests.support.process import start_service
from tests.support.servers import memory_folder

pytestmark = [pytest.mark.browser, pytest.mark.process]

BOSS = "boss@example.com"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A service that has an operator."""
    sink = MailSink()
    sink.start()
    settings = {"smtp_url": sink.url, "trusted_proxies": "1", "operators": BOSS}
    with memory_folder() as folder:
        service = start_service(Path(folder), (), settings)
        app = create_app(load_settings(service.environment, {"base_url": service.url}))
        yield Site(service, sink, app)
        with app.app_context():
            db.engine.dispose()
        service.kill()
    sink.stop()


def need_somebody(site: Site) -> None:
    """Have a report, an own host name, a mail that was given up and a job that failed."""
    project = site.create_project()
    with site.app.app_context():
        begin_write()
        found = lock_project(project.id)
        set_domain(found, f"words-{project.id}.larkspur.example")
        add_report(found, "wall", "", "private", "That is my address.")
        later = clock.now() + clock.timedelta(hours=3)
        db.session.add(
            OutboxMail(
                purpose="submissions", recipient=f"{project.id}@example.com", subject="", text="x",
                html="x", state=MailState.FAILED, attempts=20, next_attempt_at=later,
                last_error="connection refused by smtp.example.com",
            )
        )  # fmt: skip
        error = "OperationalError: " + "averylongword" * 20
        now = clock.now()
        times = {"started_at": now, "failed_at": now, "finished_at": now}
        db.session.add(BackgroundJob(name="something", error=error, **times))
        db.session.commit()


def test_it_is_whole_on_every_screen(site: Site, open_page: OpenPage) -> None:
    account = site.agent_init(BOSS)
    headers = {"x-service-account-id": account["accountId"], "x-api-key": account["apiKey"]}
    page = open_page(f"{site.url}/login")
    Project(site, headers, BOSS, "", "").sign_in(page)
    page.goto(f"{site.url}/operator")
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert look(page) == []
    need_somebody(site)
    page.reload()
    expect(page.get_by_text("given up").first).to_be_visible()
    expect(page.get_by_text("Nothing needs you.")).to_be_hidden()
    assert look(page) == []
    with site.app.app_context():
        begin_write()
        earlier = clock.now() - clock.timedelta(minutes=61)
        db.session.execute(update(Session).values(proved_at=earlier))
        db.session.commit()
    page.reload()
    page.locator("input[name=proof]").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Server", level=1)).to_be_visible()
    assert page.url == f"{site.url}/operator"
