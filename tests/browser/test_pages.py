"""Pages as a person uses them: the front page, claiming, Insights."""

from playwright.sync_api import expect

from tests.conftest import PASSWORD
from tests.dashboard.insights.counted import add_views

READ = """() => {
  const root = document.querySelector('[data-testimonials-state="ready"]').shadowRoot;
  return [getComputedStyle(root.querySelector('.card')).backgroundColor,
    root.textContent.includes('Sample')];
}"""


def test_the_widget_can_be_tried(site, open_page):
    page = open_page(site.url, viewport={"width": 1280, "height": 900})
    stands = page.locator('[data-testimonials-state="ready"]:not(.is-next)')
    expect(stands).to_have_count(1)
    seen = [page.evaluate(READ)]
    for control, name in (("radio", "Rose"), ("radio", "List"), ("checkbox", "Dark")):
        page.get_by_role(control, name=name).press("Space")  # type: ignore[arg-type]
        expect(page.locator(".is-next")).to_have_count(0)
        expect(stands).to_have_attribute("data-testimonials-count", "4")
        seen.append(page.evaluate(READ))
    colours = [colour for colour, _ in seen]
    assert colours[0] != colours[1] == colours[2] != colours[3]
    assert all(is_sample for _, is_sample in seen)


def test_by_keyboard_alone(site, open_page):
    page = open_page(site.create_project().claim_link())
    focused = page.locator(":focus")
    page.keyboard.press("Tab")
    expect(focused).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused.get_attribute("id") == "brand-password":
            break
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.keyboard.type(PASSWORD)
    expect(page.locator("#brand-password-hint")).to_have_text("Long enough")
    page.keyboard.press("Tab")
    show = page.get_by_role("button", name="Show password")
    expect(show).to_be_focused()
    page.keyboard.press("Space")
    expect(show).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "text")
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="It may go on")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Replace its key")).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Claim my account")).to_be_focused()
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Account claimed")
    expect(heading).to_be_focused()


def test_a_day_is_chosen_by_keyboard_and_by_pointer(site, open_page, project):
    for ago in range(30):
        add_views(site.app, project.id, 400 + 13 * ago, website="fern.example", ago=ago, clicks=9)
        add_views(site.app, project.id, 40 + ago, ago=ago)
    page = project.open(open_page, "/insights", viewport={"width": 1280, "height": 900})
    words = page.locator("[data-chosen-words]")
    chooser = page.get_by_role("slider", name="Day")
    chooser.focus()
    page.keyboard.press("ArrowRight")
    expect(words).to_have_text("832, 68 of them on your wall")
    name = page.locator("[data-chosen-day]").text_content()
    said = f"{name}: 832, 68 of them on your wall"
    expect(chooser).to_have_attribute("aria-valuetext", said)
    page.keyboard.press("End")
    expect(words).to_have_text("440, 40 of them on your wall")
    room = page.locator("[data-views] .plot").bounding_box()
    assert room is not None
    page.mouse.move(room["x"] + 3, room["y"] + 20)
    expect(words).to_have_text("846, 69 of them on your wall")
