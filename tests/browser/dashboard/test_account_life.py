"""Accounts in a browser: begun or got into by somebody else, with many projects, and a new one."""

from playwright.sync_api import FilePayload, Route, expect

from testimonials.auth.models import Account
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from tests.browser.account.test_security import forget_proofs
from tests.browser.conftest import Project, Site
from tests.browser.pages import PAINTED, follow, next_page
from tests.support.servers import wait_for

PASSWORD = "three blue wardrobes"


def create_many(site: Site) -> Project:
    """Create a project whose account has eleven others."""
    project = site.create_project()
    with site.app.app_context(), write():
        account = db.session.get_one(Account, project.headers["x-service-account-id"])
        account.project_limit = 100
    for letter in "abcdefghijk":
        # No address has these letters by chance.
        body = {"businessName": f"Bakery {5 * letter}", "slug": f"{project.slug}-{letter}"}
        answer = site.service.call("POST", "/v1/projects", body, project.headers)
        assert answer.status == 200, answer.body
    return project


def test_a_project_is_searched_for(site, open_page):
    project = create_many(site)
    page = project.open(open_page, "/inbox", viewport={"width": 360, "height": 800})
    page.locator(".switcher > summary").click()
    menu = page.locator(".menu-search")
    menu.get_by_label("Search projects").fill("bakery ggggg")
    # Clicking fails where anything of the page lies on top of it.
    menu.get_by_role("button", name="Search").click()
    expect(page.locator(".project-name")).to_have_text(["Bakery ggggg"])
    page.get_by_role("link", name="Show all").click()
    expect(page.locator(".project-name")).to_have_count(12)


def test_a_proof_is_sent_once_however_often_it_is_pressed(site, open_page):
    page = open_page(site.url)
    site.create_project().sign_in(page)
    forget_proofs(site)
    page.goto(f"{site.url}/dashboard/account/data")
    follow(page.get_by_role("button", name="Export everything"))
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    held: list[Route] = []
    page.route("**/account/export", lambda route: held.append(route))
    twice = (
        f"async (button) => {{ for (const _ of [1, 2]) {{ button.click(); await {PAINTED}; }} }}"
    )
    with page.expect_request("**/account/export"):
        page.get_by_role("button", name="Confirm").evaluate(twice)
    # That it was asked for is told before the handler is called.
    wait_for(lambda: page.title() and held, what="the request")
    # Sent again, it would come with the token that the first one has ended.
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_role("heading", name="Identity confirmed")).to_be_visible()


def test_a_project_is_created_over_the_page(open_page, project):
    page = project.open(open_page, "/inbox", viewport={"width": 1280, "height": 800})
    switcher = page.locator(".switcher > summary")
    switcher.click()
    page.get_by_role("link", name="New project").click()
    sheet = page.get_by_role("dialog", name="New project")
    expect(sheet.get_by_role("heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(switcher).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="New project").click()
    sheet.get_by_role("button", name="Create project").click()
    expect(sheet.get_by_role("alert")).to_be_focused()
    sheet.get_by_role("alert").get_by_role("link").click()
    name = sheet.get_by_label("Your business")
    expect(name).to_be_focused()
    # Another test may have taken a usual one.
    business = f"Oat & Ember {project.id[-8:]}"
    # The name of this project is taken, so the next free address is offered in place.
    name.fill(project.slug.replace("-", " "))
    line = sheet.locator("[data-address-line]")
    expect(line).to_contain_text("Your page will be at")
    expect(line).to_contain_text(f"/{project.slug}-2")
    name.fill(business)
    expect(line).to_contain_text(f"/oat-ember-{project.id[-8:]}")
    with next_page(page):
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Brand", level=1)).to_be_visible()
    expect(switcher).to_contain_text(business)


def test_an_archive_waits_for_its_button(site, open_page):
    page = open_page(site.url)
    site.create_project().sign_in(page)
    page.goto(f"{site.url}/dashboard/projects/import")
    file: FilePayload = {"name": "a.zip", "mimeType": "application/zip", "buffer": b"no archive"}
    page.get_by_label("Archive of a project").set_input_files(file)
    page.get_by_label("Address").fill("a-copy")
    follow(page.get_by_role("button", name="Import"))
    expect(page.get_by_label("Address")).to_have_value("a-copy")
    expect(page.locator("#archive-file-error")).to_contain_text("isn’t an archive")
