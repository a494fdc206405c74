"""A new project, from the switcher: its sheet opens over the page, and without script is a page."""

from playwright.sync_api import expect

from tests.browser.pages import next_page


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
