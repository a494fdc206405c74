"""Setting aside in the row: S or the menu, a reason, and Undo; and the page without a script."""

from playwright.sync_api import expect

from tests.browser.conftest import Project, Site
from tests.browser.looks import look
from tests.browser.pages import follow, next_page
from tests.support.rows import add_testimonial, read_testimonials


def fill(site: Site, status: str = "pending") -> Project:
    project = site.create_project()
    for name in ("Noor", "Aiko", "Wim"):
        text = "Good bread, but I queued for half an hour on Saturday and the till was cash only."
        values = {"status": status, "source": "public_page", "author_name": name, "text": text}
        add_testimonial(site.app, project.id, rating=2, **values)
    return project


def read(site: Site, project: Project) -> dict[str, str | None]:
    rows = read_testimonials(site.app, project.id)
    return {row.author_name: row.set_aside for row in rows}


def test_by_keys_and_undone(site, open_page):
    project = fill(site)
    page = project.open(open_page, "/inbox")
    current, toasts = page.locator(".is-current"), page.locator("[data-toasts]")
    page.keyboard.press("j")
    page.keyboard.press("s")
    asked = page.get_by_role("group", name="Reason")
    expect(asked.get_by_role("button", name="Spam")).to_be_focused()
    assert look(page) == []
    page.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    expect(current).to_be_focused()
    page.keyboard.press("s")
    asked.get_by_role("button", name="Off topic").press("Enter")
    expect(toasts).to_contain_text("Set aside: Aiko")
    expect(page.locator("[data-item]")).to_have_count(2)
    expect(current).to_contain_text("Noor")
    page.keyboard.press("z")
    expect(page.locator("[data-item]")).to_have_count(3)
    # G then S is Settings, whatever the row.
    with next_page(page):
        page.keyboard.type("gs")
    assert page.url.endswith("/settings")


def test_a_menu_at_the_end_of_a_phone_opens_above_the_bar(site, open_page):
    project = fill(site)
    page = open_page(project.page_url)
    page.set_viewport_size({"width": 390, "height": 640})
    project.sign_in(page, "/inbox")
    page.locator("[data-item]").last.locator("summary").click()
    page.get_by_role("link", name="Set aside").click()
    expect(page.get_by_role("group", name="Reason")).to_be_visible()


def test_where_it_stays_its_state_says_why(site, open_page):
    project = fill(site, "rejected")
    page = project.open(open_page, "/inbox?status=rejected")
    row = page.get_by_role("listitem").filter(has_text="Noor")
    row.locator("summary").click()
    row.get_by_role("link", name="Set aside").click()
    row.get_by_role("button", name="Not a customer").click()
    expect(row).to_contain_text("Set aside: not a customer")
    expect(page.locator("[data-item]")).to_have_count(3)
    row = page.get_by_role("listitem").filter(has_text="Aiko")
    row.locator("summary").click()
    row.get_by_role("link", name="Set aside").click()
    row.get_by_role("button", name="Spam").click()
    expect(page.locator("[data-item]")).to_have_count(2)
    row = page.get_by_role("listitem").filter(has_text="Wim")
    row.locator("summary").click()
    row.get_by_role("link", name="Delete").click()
    expect(row).to_contain_text("Without one, its rating still counts.")
    assert look(page) == []
    row.get_by_role("button", name="No reason").click()
    expect(page.locator("[data-item]")).to_have_count(1)
    assert read(site, project) == {"Noor": "not_customer", "Aiko": "spam", "Wim": None}
    page.goto(page.url.partition("?")[0] + "?status=set-aside")
    expect(page.locator("[data-item]")).to_have_count(2)
    assert look(page) == []


def test_without_a_script(site, open_page):
    project = fill(site)
    page = project.open(open_page, "/inbox", java_script_enabled=False)
    row = page.get_by_role("listitem").filter(has_text="Noor")
    row.locator("summary").click()
    row.get_by_role("link", name="Set aside").click()
    page.locator("#set-aside > summary").click()
    page.get_by_role("button", name="The same person twice").click()
    expect(page.get_by_text("Set aside: Noor")).to_be_visible()
    page.goto(f"{project.dashboard}/inbox")
    row = page.get_by_role("listitem").filter(has_text="Wim")
    row.get_by_role("checkbox").check()
    page.locator(".bulk summary").click()
    page.get_by_label("Reason").select_option("Abusive or unlawful")
    page.locator(".bulk").get_by_role("button", name="Set aside").click()
    expect(page.get_by_text("Set aside: 1")).to_be_visible()
    assert read(site, project) == {"Noor": "same_person", "Aiko": None, "Wim": "abusive"}


def test_one_testimonial(site, open_page):
    project = fill(site, "approved")
    page = project.open(open_page, "/inbox?status=approved")
    follow(page.get_by_role("link", name="Noor"))
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Withdrawn by its author")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Spam")).to_be_focused()
    assert look(page) == []
    page.get_by_role("button", name="Withdrawn by its author").click()
    page.get_by_text("Set aside: Noor").wait_for()
    assert {each["status"] for each in project.stored()} == {"approved", "withdrawn"}
