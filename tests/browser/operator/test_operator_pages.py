"""The operator's pages in Chromium: on every screen, by keyboard, and with what needs somebody."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from testimonials import create_app
from testimonials.core import clock
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.domains.services import set_domain
from testimonials.extensions import begin_write, db
from testimonials.operator.reports.services import add_report
from testimonials.projects.services import lock_project
from testimonials.settings.table import load_settings
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import next_page
from tests.browser.screens import check_screens
from tests.support.mail_servers import MailSink
from tests.support.process import start_service
from tests.support.servers import memory_folder

pytestmark = [pytest.mark.browser, pytest.mark.process]

PAGES = {
    "": "Overview",
    "/accounts": "Accounts",
    "/mail": "Mail",
    "/domains": "Domains",
    "/backups": "Backups",
    "/reports": "Reports",
    "/jobs": "Jobs",
    "/security": "Security events",
    "/limits": "Limits hit now",
    "/doctor": "Doctor",
}
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


@pytest.fixture
def customer(site: Site) -> Project:
    """Somebody whose project was reported and has an own host name, with a mail that failed."""
    project = site.create_project()
    with site.app.app_context():
        begin_write()
        found = lock_project(project.id)
        set_domain(found, f"words-{project.id}.larkspur.example")
        add_report(found, "wall", "", "private", "<b>That</b> is " + "averylongword" * 20)
        later = clock.now() + clock.timedelta(hours=3)
        db.session.add(
            OutboxMail(
                purpose="submissions", recipient=f"{project.id}@example.com", subject="", text="x",
                html="x", state=MailState.FAILED, attempts=20, next_attempt_at=later,
                last_error="connection refused by smtp.example.com",
            )
        )  # fmt: skip
        db.session.commit()
    return project


@pytest.fixture(scope="module")
def operator(site: Site) -> Project:
    """The operator's account, which has no project."""
    account = site.agent_init(BOSS)
    headers = {"x-service-account-id": account["accountId"], "x-api-key": account["apiKey"]}
    return Project(site, headers, BOSS, "", "")


@pytest.fixture
def boss(site: Site, operator: Project, customer: Project, open_page: OpenPage) -> Page:
    """The operator's browser, a moment after signing in, with something to look at."""
    page = open_page(f"{site.url}/login")
    operator.sign_in(page)
    return page


def press(page: Page, name: str | re.Pattern[str]) -> None:
    """Reach a button by the keyboard alone, and press it."""
    button = page.get_by_role("button", name=name)
    for _ in range(60):
        page.keyboard.press("Tab")
        if button.evaluate("each => each === document.activeElement"):
            break
    expect(button).to_be_focused()
    with next_page(page):
        page.keyboard.press("Enter")


def test_each_page_is_whole_on_every_screen(site: Site, boss: Page) -> None:
    for path, heading in PAGES.items():
        boss.goto(f"{site.url}/operator{path}")
        expect(boss.get_by_role("heading", level=1)).to_have_text(heading)
        check_screens(boss)


def test_an_account_is_suspended_and_restored_by_keyboard(
    site: Site, boss: Page, customer: Project
) -> None:
    account = customer.headers["x-service-account-id"]
    boss.goto(f"{site.url}/operator/accounts/{account}")
    check_screens(boss)
    press(boss, "Suspend")
    expect(boss).to_have_title(f"Error: {customer.email} · Server")
    check_screens(boss)
    boss.get_by_label("Reason, mailed to them").fill("Invented praise.")
    press(boss, "Suspend")
    expect(boss.get_by_role("heading", name="Suspended")).to_be_visible()
    expect(boss.get_by_role("status").get_by_text("Suspended")).to_be_visible()
    check_screens(boss)
    press(boss, "Restore")
    expect(boss.get_by_role("heading", name="Suspend", exact=True)).to_be_visible()


def test_a_mail_is_tried_again_and_the_doctor_is_asked(
    site: Site, boss: Page, customer: Project
) -> None:
    boss.goto(f"{site.url}/operator")
    expect(boss.get_by_text("given up").first).to_be_visible()
    boss.goto(f"{site.url}/operator/mail")
    press(boss, re.compile(f"Try now.*{customer.id}"))
    expect(boss.get_by_text("Mails tried again now: 1")).to_be_visible()
    boss.goto(f"{site.url}/operator")
    press(boss, "Run the doctor")
    expect(boss.get_by_role("button", name="Run it again")).to_be_visible()
    check_screens(boss)


def test_the_theme_is_chosen_there(site: Site, boss: Page) -> None:
    boss.set_viewport_size({"width": 1280, "height": 800})
    boss.goto(f"{site.url}/operator")
    boss.get_by_text("Theme and sign out").locator("..").click()
    boss.get_by_role("button", name="Dark").click()
    expect(boss.locator("html")).to_have_attribute("data-theme", "dark")
