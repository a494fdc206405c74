"""The page of an account's record, and the proof of who is signed in."""

from playwright.sync_api import Route, expect
from sqlalchemy import update

from testimonials.activity.actors import Actor, ActorKind
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import add_event
from testimonials.auth.models import Session
from testimonials.extensions import begin_write, db
from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import follow
from tests.browser.screens import check_screens
from tests.conftest import PASSWORD


def test_an_owner_finds_what_happened_without_a_script(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    account_id = project.headers["x-service-account-id"]
    page = open_page(site.url, java_script_enabled=False)
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard/account")
    page.get_by_role("link", name="Show activity").press("Enter")
    rows = page.get_by_role("list", name="Events, newest first").get_by_role("listitem")
    expect(rows).to_have_count(2)
    with site.app.app_context():
        begin_write()
        for number in range(60):
            add_event(
                EventType.INVITATION_SENT, account_id, project.id,
                Actor(ActorKind.PERSON, account_id), "203.0.113.0/24",
                {"email": f"colleague-{number}@a-rather-long-name.example", "role": "moderator"},
            )  # fmt: skip
        db.session.commit()
    page.get_by_role("searchbox", name="Words").press("Enter")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Older").press("Enter")
    expect(rows).to_have_count(12)
    page.get_by_role("searchbox", name="Words").fill("INVITED colleague-59@")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("as moderator in Fern & Fable")
    page.get_by_label("Who").select_option("Agents, by API key")
    page.get_by_role("button", name="Search").press("Enter")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_role("link", name="Clear").press("Enter")
    expect(rows).to_have_count(50)


def test_the_record_fits_every_screen(site: Site, open_page: OpenPage) -> None:
    page = open_page(site.url)
    site.create_project().sign_in(page)
    for query in ("", "?q=nothing+such"):
        page.goto(f"{site.url}/dashboard/account/activity{query}")
        check_screens(page)


def test_a_proof_is_sent_once_however_often_it_is_pressed(site: Site, open_page: OpenPage) -> None:
    page = open_page(site.url)
    site.create_project().sign_in(page)
    with site.app.app_context():
        begin_write()
        db.session.execute(update(Session).values(proved_at=None))
        db.session.commit()
    page.goto(f"{site.url}/dashboard/account")
    follow(page.get_by_role("button", name="Export everything of mine"))
    page.get_by_label("Your password").fill(PASSWORD)
    held: list[Route] = []
    page.route("**/account/export", lambda route: held.append(route))
    page.get_by_role("button", name="Confirm").evaluate(
        "button => { button.click(); return new Promise((done) => setTimeout(() => "
        "{ button.click(); setTimeout(done, 300); }, 100)); }"
    )
    # Sent again, it would come with the token that the first one has ended.
    assert len(held) == 1
    held[0].continue_()
    expect(page.get_by_role("heading", name="Thank you, that’s you")).to_be_visible()
