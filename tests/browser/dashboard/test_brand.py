"""The Brand screen: what is tried shows at once, and one choice changes everything."""

from playwright.sync_api import expect
from sqlalchemy import update

from testimonials.auth.models import Account
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from tests.browser.axe import find_violations
from tests.browser.pages import follow
from tests.browser.test_counted import DESK, PHONE, Taps
from tests.projects.test_website import serve_website


def test_from_the_front_page_to_a_page_of_ones_own_in_three_taps(site, open_page):
    email, taps = "mira@oatandember.example", Taps()
    page = open_page(site.url)
    page.get_by_label("Your email").fill(email)
    taps.follow(page.get_by_role("button", name="Mail me a link"))
    # The second tap is in the mail.
    taps.count += 1
    page.goto(site.claim_link(email))
    expect(page.get_by_label("Website")).to_have_value("oatandember.example")
    # Trade, color, address and stage follow the name, until they are chosen.
    page.get_by_label("Name", exact=True).fill("Oat & Ember Bakery")
    expect(page.get_by_label("Business")).to_have_value("bakery")
    expect(page.get_by_text("/oat-ember-bakery")).to_be_visible()
    button = page.locator(".stage-button").first
    expect(button).to_have_css("background-color", "rgb(194, 65, 12)")
    expect(page.locator(".stage-card").first).to_contain_text("from Oat & Ember Bakery is")
    assert find_violations(page) == []
    page.get_by_label("Password", exact=True).fill("three blue wardrobes")
    taps.follow(page.get_by_role("button", name="Make my page"))
    expect(page.get_by_text("Your page is open.").first).to_be_visible()
    assert taps.count == 3
    assert page.goto(f"{site.url}/oat-ember-bakery")


def test_what_is_read_meanwhile_fills_in_what_was_not_touched(site, open_page):
    with serve_website() as website:
        email = "mira@cafe.example"
        page = open_page(site.url)
        page.get_by_label("Your email").fill(email)
        follow(page.get_by_role("button", name="Mail me a link"))
        link = site.claim_link(email)
        # A domain that leads to the test's own server.
        with site.app.app_context(), write():
            domain = website.url.removeprefix("http://")
            of = update(Account).where(Account.email == email)
            db.session.execute(of.values(email=f"mira@{domain}"))
        page.goto(link)
        page.get_by_label("Business").select_option("cafe")
        expect(page.get_by_text("the domain of your email address. Change")).to_be_visible()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Oat & Ember")
        expect(page.get_by_label("Business")).to_have_value("cafe")
        expect(page.locator("[name=color]:checked")).to_have_value("#C2410C")
        expect(page.locator(".owner-name img").first).to_be_visible()
        expect(page.locator(".owner-name").first).to_have_text("Oat & Ember")
        button = page.locator(".stage-button").first
        expect(button).to_have_css("background-color", "rgb(194, 65, 12)")
        expect(page.locator("[name=picture]")).to_have_count(1)
        assert find_violations(page) == []


def test_the_brand_is_changed_everywhere_in_three_taps(open_page, project):
    page, taps = project.open(open_page, "/inbox", viewport=DESK), Taps()
    taps.follow(page.get_by_role("navigation", name="Project").get_by_role("link", name="Settings"))
    taps.follow(page.get_by_role("link", name="Brand: name, logo"))
    button = page.locator(".stage-button").first
    taps.tap(page.locator(".brand-swatch").nth(1))
    assert taps.count == 3
    chosen = page.locator("input[name=color]").nth(1).get_attribute("value") or ""
    rgb = ", ".join(str(int(chosen[at : at + 2], 16)) for at in (1, 3, 5))
    expect(button).to_have_css("background-color", f"rgb({rgb})")
    expect(page.get_by_text("Saved")).to_be_visible()
    assert find_violations(page) == []
    page.goto(project.page_url)
    shown = page.locator(":root").evaluate(
        "e => getComputedStyle(e).getPropertyValue('--tm-button')"
    )
    assert chosen in shown


def test_a_phone_has_the_preview_above_the_form(open_page, project):
    page = project.open(open_page, "/settings/brand", viewport=PHONE)
    form = page.locator(".brand-form").bounding_box()
    stage = page.locator(".brand-stage").bounding_box()
    assert form
    assert stage
    assert stage["y"] < form["y"] < 400
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert find_violations(page) == []
