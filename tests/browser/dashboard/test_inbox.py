"""The owner's way: from the mail to an approved testimonial in the widget."""

from playwright.sync_api import APIResponse, Route, expect

from tests.browser.pages import CLIPBOARD, PAINTED, next_page, send_testimonial
from tests.support.rows import add_testimonial
from tests.support.servers import wait_for
from tests.support.visitors import Visitors, words_of

PHONE = {"width": 360, "height": 740}


def test_the_menu_copies_an_approved_testimonials_address(open_page, project):
    project.call("POST", "/testimonials", {"authorName": "Hannah", "text": "Words of Hannah"})
    page = project.open(open_page, "/inbox?status=approved", permissions=CLIPBOARD)
    page.get_by_role("listitem").locator("summary").click()
    link = page.get_by_role("link", name="Copy link")
    url = str(link.get_attribute("href"))
    link.click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == url
    page.goto(url)
    expect(page.get_by_text("Words of Hannah")).to_be_visible()


def test_from_the_mail_to_the_website_in_two_taps(site, open_page, project):
    visitor = open_page(project.page_url)
    phone = project.open(open_page, "/settings/mail", has_touch=True, viewport=PHONE)
    send_testimonial(visitor, project, "Hannah Whitlock")
    # The first tap is on the mail's button.
    phone.goto(site.mailed_link(project.email, r"https?://\S+/decide/\S+"))
    expect(phone.get_by_text("Words of Hannah Whitlock")).to_be_visible()
    approve = phone.get_by_role("button", name="Approve")
    box = approve.bounding_box()
    assert box
    assert (box["height"], box["y"] > 370) == (60, True)
    with next_page(phone):
        approve.tap()
    expect(phone.get_by_role("heading", name="All decided")).to_be_visible()
    feed = visitor.request.get(f"{site.url}/widget/{project.id}/feed").json()
    assert [item["authorName"] for item in feed["items"]] == ["Hannah Whitlock"]
    # Undo from the keyboard leads back to it.
    phone.keyboard.press("Control+z")
    expect(phone.get_by_role("listitem").filter(has_text="Hannah Whitlock")).to_be_visible()


def test_twenty_decisions_in_twenty_keystrokes(site, open_page, project):
    visitors = Visitors(project.page_url, 20, 1)
    visitors.open_forms()
    visitors.send_forms()
    page = project.open(open_page)
    page.goto(f"{site.url}/dashboard")
    expect(page.get_by_role("listitem").filter(has_text=words_of(19))).to_be_visible()
    for _ in range(10):
        page.keyboard.press("a")
        page.keyboard.press("r")
    expect(page.get_by_role("heading", name="All decided")).to_be_visible()
    counts = {
        status: len([row for row in project.stored() if row["status"] == status])
        for status in ("approved", "rejected")
    }
    assert counts == {"approved": 10, "rejected": 10}


def test_undo_outlives_a_page_from_before_it_that_comes_late(site, open_page, project):
    page = open_page(project.page_url)
    send_testimonial(page, project, "Tom Okafor")
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard")
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if late or route.request.method != "GET":
            route.continue_()
        else:
            late.append((route, route.fetch()))

    page.route("**/inbox", hold)
    page.keyboard.press("a")
    expect(page.get_by_text("Tom Okafor is on your site")).to_be_visible()
    wait_for(lambda: page.title() and late, what="the page of the empty inbox")
    page.keyboard.press("z")
    row = page.get_by_role("listitem").filter(has_text="Words of Tom Okafor")
    expect(row).to_be_visible()
    route, response = late[0]
    with page.expect_response("**/inbox") as answer:
        route.fulfill(response=response)
    answer.value.finished()
    page.evaluate(PAINTED)
    expect(row).to_be_visible()


def test_every_key_of_the_list(site, open_page, project):
    for name in ("Maya", "Tom", "Aiko", "Noor"):
        add_testimonial(site.app, project.id, status="pending", author_name=name)
    page = project.open(open_page, "/inbox")
    keys, rows, toasts = page.keyboard, page.locator("[data-item]"), page.locator("[data-toasts]")
    current = page.locator(".is-current")
    expect(current).to_contain_text("Noor")
    for key, name in (("j", "Aiko"), ("j", "Tom"), ("k", "Aiko")):
        keys.press(key)
        expect(current).to_contain_text(name)
        expect(current).to_be_focused()
    keys.press("x")
    expect(page.locator("[data-selected]")).to_have_text("1 selected")
    keys.press("x")
    keys.press("a")
    expect(toasts).to_contain_text("Aiko is on your site")
    keys.press("z")
    expect(rows).to_have_count(4)
    expect(current).to_contain_text("Aiko")
    keys.press("r")
    expect(toasts).to_contain_text("Rejected: Aiko")
    expect(current).to_contain_text("Tom")
    keys.press("/")
    search = page.get_by_label("Search words and names")
    expect(search).to_be_focused()
    # What is typed there decides nothing.
    keys.type("ar")
    keys.press("Escape")
    expect(search).to_be_hidden()
    page.goto(f"{project.dashboard}/inbox")
    keys.press("?")
    shown = page.get_by_role("dialog", name="All shortcuts")
    expect(shown).to_contain_text("Approve")
    shown.get_by_role("switch").press("Space")
    keys.press("Escape")
    for key in "arxj":
        keys.press(key)
    expect(current).to_contain_text("Noor")
    expect(page.locator("[data-selected]")).to_have_text("")
    keys.press("?")
    shown.get_by_role("switch").press("Space")
    keys.press("Escape")
    with page.expect_event("load"):
        keys.press("e")
    expect(page.get_by_role("heading", level=1)).to_have_text("Noor")
    assert sorted(row["status"] for row in project.stored()) == ["pending"] * 3 + ["rejected"]
    with page.expect_event("load"):
        keys.type("gi")
    project.call("POST", "/testimonials", {"authorName": "Iris", "text": "Words."})
    page.goto(f"{project.dashboard}/inbox?status=approved")
    keys.press("p")
    expect(current).to_contain_text("Pinned")


def test_on_a_phone_the_bulk_bar_takes_the_place_of_the_menu(site, open_page, project):
    for name, text in (("Maya", "Words of Maya. " * 130), ("Tom", "Words of Tom.")):
        add_testimonial(site.app, project.id, status="pending", author_name=name, text=text)
    page = project.open(open_page, "/inbox", has_touch=True, viewport=PHONE)
    # A long text takes a few lines until it is opened; a short one is whole.
    words = page.get_by_text("Words of Maya. Words")
    more = page.get_by_role("button", name="Read more")
    expect(more).to_have_count(1)
    height = words.bounding_box()["height"]  # type: ignore[index]
    more.tap()
    expect(more).to_have_count(0)
    assert words.bounding_box()["height"] > 3 * height  # type: ignore[index]
    for name in ("Maya", "Tom"):
        page.get_by_role("checkbox", name=f"Select {name}").tap()
    # Nothing is in front of its buttons, and none is in front of another.
    page.get_by_role("button", name="Select none").tap()
    page.get_by_role("checkbox", name="Select Maya").tap()
    page.get_by_text("More", exact=True).locator("..").tap()
    page.keyboard.press("Escape")
    with next_page(page):
        page.get_by_role("button", name="Reject 1").tap()
    assert {row["authorName"]: row["status"] for row in project.stored()} == {
        "Maya": "rejected", "Tom": "pending",
    }  # fmt: skip
