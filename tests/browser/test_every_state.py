"""What pages become by somebody's doing: after errors, with a dialog or menu open, done, empty.

Each journey stops where there is something to look at, on every screen; `test_every_page` opens
what has an address from the start.
"""

import re
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.auth.proofs.authenticator import code_of
from tests.browser.account.test_security import add_passkey, forget_proofs, plug_in, site
from tests.browser.collection.test_collection_page import write_for_link
from tests.browser.conftest import OpenPage, Project, Site, other_address
from tests.browser.looks import look
from tests.browser.pages import (
    CLIPBOARD,
    follow,
    link_in,
    mail_to,
    numbers,
    open_form,
    send_testimonial,
)
from tests.browser.rich_world import ADDRESS, LONG
from tests.collection.test_photos import phone_photo
from tests.conftest import PASSWORD
from tests.dashboard.insights.counted import add_views
from tests.support.rows import add_recording, read_testimonials

__all__ = ["site"]

Journey = Callable[[Site, OpenPage], Iterator[Page]]


def press(page: Page, button: str, heading: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("heading", name=heading).first).to_be_visible()


def enter(site: Site, open_page: OpenPage, path: str = "", **more: object) -> tuple[Project, Page]:
    project = site.create_project(**more)
    page = project.open(open_page, path)
    return project, page


def invite(page: Page, project: Project, email: str, role: str = "moderator") -> str:
    """Invite a colleague; return the link that the mail server got."""
    page.goto(f"{project.dashboard}/people")
    page.get_by_label("Email address").fill(email)
    page.get_by_label("Roles", exact=True).select_option(role)
    follow(page.get_by_role("button", name="Invite", exact=True))
    expect(page.locator(".invited").filter(has_text=email)).to_be_visible()
    return project.site.mailed_link(email, rf"{project.site.url}/invite/\S+")


def join(page: Page) -> None:
    """Choose a password on the page of an invitation, and join."""
    page.get_by_label("Password", exact=True).fill("seven paper lanterns")
    follow(page.get_by_role("button", name="Join the project"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")


def claiming(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project = site.create_project(skipDemoTestimonials=False, website="example.com")
    old = project.claim_link()
    page = open_page(old)
    yield page
    press(page, "Claim my account", "2 things need a change")
    yield page
    # An older link than the newest.
    site.agent_init(project.email)
    newest = site.claim_link(project.email, other_than=old)
    page.goto(old)
    yield page
    # Whoever doesn't know of the newer key revokes it, and claims what it has left.
    page.goto(site.mailed_link(project.email, rf"{site.url}/not-me/\S+"))
    yield page
    press(page, "This wasn’t me", "Key revoked")
    yield page
    site.agent_init(project.email)
    newest = site.claim_link(project.email, other_than=newest)
    page.goto(newest)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("radio", name="It may go on").check()
    follow(page.get_by_role("button", name="Claim my account"))
    yield page
    page.goto(newest)
    yield page
    page = open_page(site.create_project().claim_link())
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("radio", name="Replace its key").check()
    press(page, "Claim my account", "Account claimed")
    yield page
    page.goto(f"{site.url}/claim")
    press(page, "Email me the link", "One thing needs a change")
    yield page
    page.get_by_role("textbox", name="Email address").fill(ADDRESS)
    press(page, "Email me the link", "Check your email")
    yield page


def signing_up_over_a_stranger(site: Site, open_page: OpenPage) -> Iterator[Page]:
    strange = site.create_project()
    first = site.claim_link(strange.email)
    page = open_page(f"{site.url}/signup")
    page.get_by_label("Email address").fill(strange.email)
    follow(page.get_by_role("button", name="Email me the link"))
    yield page
    page.goto(site.claim_link(strange.email, other_than=first))
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    press(page, "Claim my account", "One thing needs a change")
    yield page


def proving_who_is_there(site: Site, open_page: OpenPage) -> Iterator[Page]:
    _, page = enter(site, open_page, "/inbox")
    forget_proofs(site)
    page.goto(f"{site.url}/dashboard/account/email")
    theirs = f"{next(numbers)}{ADDRESS}"
    page.get_by_label("New address").fill(theirs)
    press(page, "Change address", "Confirm it’s you")
    yield page
    page.get_by_label("Password", exact=True).fill("seven green lanterns")
    press(page, "Confirm", "Confirm it’s you")
    yield page
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    press(page, "Confirm", "Your account")
    yield page
    page.goto(site.mailed_link(theirs, rf"{site.url}/email/\S+"))
    yield page
    press(page, "Confirm", "Your account")
    yield page


def protecting_an_account(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, page = enter(site, open_page)
    session = plug_in(page)
    page.goto(f"{site.url}/dashboard/account/security")
    add_passkey(page, "Mira’s phone")
    yield page
    forget_proofs(site)
    page.get_by_text("Password", exact=True).click()
    press(page, "Remove", "Confirm it’s you")
    yield page
    session.detach()
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard/account/security")
    page.get_by_role("button", name="Connect an app").click()
    secret = page.locator("#app-key").inner_text().replace(" ", "")
    yield page
    page.get_by_label("2. Enter the code").fill(code_of(secret, int(time.time()) // 30))
    press(page, "Turn on", "Save these ten codes")
    yield page
    page.get_by_label("I’ve saved them").check()
    press(page, "Done", "Signing in")
    yield page
    page.context.clear_cookies()
    page.goto(f"{site.url}/login")
    page.get_by_label("Email address").fill(project.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    press(page, "Sign in", "Code from your app")
    yield page


def collecting(site: Site, open_page: OpenPage) -> Iterator[Page]:
    values = {"businessName": "w" * 120, "headline": "h" * 160, "description": "d" * 500}
    project = site.create_project(**values)
    page = open_page(project.page_url)
    open_form(page)
    yield page
    page.get_by_label("Your words").fill("w" * 2001)
    press(page, "Send my testimonial", "3 things need a change")
    yield page
    page.goto(f"{site.url}/widget/{project.id}")
    yield page
    site.pause(project.id)
    page.goto(project.page_url)
    yield page


def choosing_a_photo(site: Site, open_page: OpenPage) -> Iterator[Page]:
    def file(data: bytes, name: str) -> FilePayload:
        return {"name": name, "mimeType": "image/jpeg", "buffer": data}

    page = open_page(f"{site.create_project().page_url}?lang=ar")
    open_form(page)
    expect(page.locator(".is-ready")).to_be_visible()
    page.locator("#photo").set_input_files(file(phone_photo(), "me.jpg"))
    expect(page.locator("[data-photo-face] canvas")).to_be_visible()
    yield page
    page.locator("#photo").set_input_files(file(phone_photo()[:900], "n" * 200 + ".jpg"))
    expect(page.locator("[data-photo-face] canvas")).to_have_count(0)
    yield page
    page.locator("[data-send]").click()
    expect(page.locator("#photo-error")).to_be_visible()
    yield page


def writing_and_withdrawing(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project = site.create_project()
    page = open_page(project.page_url)
    own = write_for_link(page, f"axe-{project.slug}@example.com").partition("?")[0]
    yield page
    path = own.removeprefix(site.url)
    site.service.call("POST", f"{path}/withdraw", b"", other_address())
    page.goto(f"{own}?lang=ar")
    yield page
    (row,) = read_testimonials(site.app, project.id)
    add_recording(site.app, row.id)
    for action in ("", "/recording"):
        page.goto(f"{own}{action}")
        yield page


def asking(site: Site, open_page: OpenPage) -> Iterator[Page]:
    number = next(numbers)
    name = f"صالون السرخس {number} " + "x" * 90
    _, page = enter(site, open_page, "/collect", businessName=name)
    yield page
    press(page, "Send", "One thing needs a change")
    yield page
    email = f"leila{number}@example.com"
    people = f"ليلى منصور <{email}>, {number}{ADDRESS}, {email}, foo"
    field = page.get_by_label("Email addresses")
    field.fill(people)
    field.press("Enter")
    expect(page.locator(".chip.is-wrong").first).to_be_visible()
    yield page
    page.get_by_role("button", name="See the email").click()
    page.get_by_role("button", name="Change the words").click()
    page.get_by_text("Change", exact=True).click()
    yield page
    follow(page.get_by_role("button", name=re.compile("^Send to 2")))
    yield page
    for each in ("message", "code"):
        page.goto(re.sub("/asked.*", f"/{each}", page.url))
        yield page
        page.goto(re.sub("/collect/.*", "/collect/asked", page.url))
    mail = mail_to(site, email)
    visitor = open_page(link_in(mail, "Write a few words"))
    yield visitor
    for words in ("I’d rather not", "Don’t ask me again"):
        visitor.goto(link_in(mail, words))
        follow(visitor.get_by_role("button", name=words))
        yield visitor


def inviting(site: Site, open_page: OpenPage) -> Iterator[Page]:
    number = next(numbers)
    name = f"صالون السرخس {number} " + "x" * 90
    project, owner = enter(site, open_page, businessName=name)
    link = invite(owner, project, f"{number}{ADDRESS}", "admin")
    held = f"held{number}@example.com"
    site.agent_init(held)
    stranger = open_page(invite(owner, project, held))
    yield stranger
    press(stranger, "Join the project", "2 things need a change")
    yield stranger
    owner.goto(link)
    yield owner
    stranger.goto(link)
    join(stranger)
    stranger.goto(link)
    yield stranger
    owner.goto(f"{project.dashboard}/people")
    press(owner, "Invite", "One thing needs a change")
    yield owner
    owner.goto(f"{project.dashboard}/people/hand-over")
    yield owner
    owner.get_by_label("New owner").select_option(index=0)
    follow(owner.get_by_role("button", name="Transfer the project"))
    yield owner
    stranger.goto(f"{project.dashboard}/people/offer")
    yield stranger
    follow(stranger.get_by_role("button", name="Become the owner"))
    yield stranger


def reading_along(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, owner = enter(site, open_page)
    owner.goto(f"{site.url}/dashboard/account/people")
    yield owner
    email = f"{next(numbers)}{ADDRESS}"
    owner.get_by_label("Email address").fill(email)
    owner.get_by_label("Roles", exact=True).select_option("reader")
    follow(owner.get_by_role("button", name="Invite", exact=True))
    reader = open_page(site.mailed_link(email, rf"{site.url}/invite/\S+"))
    yield reader
    join(reader)
    yield reader
    owner.goto(f"{project.dashboard}/people")
    yield owner
    owner.goto(f"{site.url}/dashboard/account/people")
    owner.locator("summary").filter(has_text=email).click()
    yield owner
    follow(owner.get_by_role("link", name="Remove from all of your projects"))
    yield owner


def integrating(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, page = enter(site, open_page, "/settings/developers/tokens")
    page.context.grant_permissions(CLIPBOARD)
    yield page
    first, dialog = page.get_by_role("link", name="Create token"), page.get_by_role("dialog")
    first.click()
    expect(dialog).to_have_accessible_name("New token")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_label("Name", exact=True).fill("W" * 80)
    yield page
    follow(dialog.get_by_role("button", name="Create token"))
    secret = page.get_by_label("New token")
    expect(secret).to_be_focused()
    page.get_by_role("button", name="Copy token").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret.input_value()
    yield page
    page.goto(f"{project.dashboard}/settings/developers/agents")
    page.locator("summary").filter(has_text="Command line").click()
    expect(page.locator("#code-curl")).to_be_visible()
    page.goto(f"{project.dashboard}/settings/developers/webhooks")
    yield page
    page.get_by_role("link", name="Add endpoint").click()
    page.get_by_label("Address").fill("https://hooks.example.invalid/" + "x" * 460)
    follow(page.get_by_role("dialog").get_by_role("button", name="Add endpoint"))
    yield page
    follow(page.get_by_role("link", name=re.compile("hooks.example.invalid")))
    yield page
    follow(page.get_by_role("button", name="Send a test"))
    answer = page.get_by_role("listitem").get_by_text("The host has no public address.")
    expect(answer).to_be_visible()
    yield page
    follow(page.get_by_role("link", name="Close"))
    page.get_by_role("link", name=re.compile("^Open ?:")).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    yield page


def naming_a_host(site: Site, open_page: OpenPage) -> Iterator[Page]:
    _, page = enter(site, open_page, "/settings/domain")
    yield page
    field = page.get_by_label("Host name")
    for host in ("not a name", f"{'words-of-our-customers-' * 2}{next(numbers)}.larkspur.example"):
        field.fill(host)
        field.press("Enter")
        words = f"_testimonials.{host}" if "." in host else "Error:"
        expect(page.get_by_text(words).first).to_be_visible()
        yield page
    follow(page.get_by_role("button", name="Look again"))
    yield page
    follow(page.get_by_role("button", name="Remove"))
    expect(field).to_have_value("")


def beginning(site: Site, open_page: OpenPage) -> Iterator[Page]:
    """A project of today, with its samples, and menus that are on every page."""
    name = "Werkstatt für außergewöhnlich" + "lange" * 18
    project, page = enter(site, open_page, "/inbox", skipDemoTestimonials=False, businessName=name)
    yield page
    page.locator(".switcher > summary").click()
    yield page
    page.locator(".switcher > summary").click()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_text("Theme and sign out").locator("..").click()
    yield page
    page.goto(f"{site.url}/dashboard/projects?q=nothing")
    yield page
    for path in ("/widget/order", "/widget/new", "/insights", "/collect/page"):
        page.goto(f"{project.dashboard}{path}")
        page.locator("[data-preview]").evaluate_all("all => all.forEach((each) => each.remove())")
        yield page
    add_views(site.app, project.id, 1)
    page.goto(f"{project.dashboard}/insights")
    yield page


def moderating(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, page = enter(site, open_page)
    body = {"authorName": "Maya " + "x" * 60, "text": LONG[:1900], "rating": 5}
    project.call("POST", "/testimonials", body)
    for tag in ("x" * 40, "وسم"):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{project.dashboard}/inbox?status=approved")
        page.get_by_role("checkbox", name=re.compile("^Select Maya")).check()
        page.get_by_text("More", exact=True).locator("..").click()
        page.locator("#new-tag").fill(tag)
        yield page
        page.set_viewport_size({"width": 320, "height": 800})
        yield page
        follow(page.get_by_role("button", name="Add", exact=True))
    yield page
    page.goto(f"{project.dashboard}/testimonials/new")
    page.get_by_role("button", name="Add a testimonial").click()
    expect(page.get_by_text("Enter the author’s name.")).to_be_visible()
    yield page


def deciding_by_mail(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, phone = enter(site, open_page, "/settings/mail")
    phone.get_by_label("Decide from the email without signing in").check()
    expect(phone.get_by_text("Saved", exact=True)).to_be_visible()
    send_testimonial(open_page(project.page_url), project, "Hannah Whitlock")
    link = site.mailed_link(project.email, r"https?://\S+/decide/\S+")
    phone.goto(f"{project.dashboard}/decide")
    yield phone
    stranger = open_page(link)
    yield stranger
    press(stranger, "Approve", "Approved")
    yield stranger
    phone.goto(f"{project.dashboard}/decide")
    yield phone


# Made in the page, since so much would be long on its way there.
CHOOSE_LARGE = """(field) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(12 * 1024 * 1024 + 1)], 'a.csv', { type: 'text/csv' }));
  field.files = files.files;
  field.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def choose(page: Page, project: Project, text: str) -> None:
    """Choose a file to import, and look at what would happen."""
    page.goto(f"{project.dashboard}/import")
    payload: FilePayload = {"name": "a.csv", "mimeType": "text/csv", "buffer": text.encode()}
    with page.expect_navigation():
        page.get_by_label("CSV or JSON file").set_input_files(payload)


def importing(site: Site, open_page: OpenPage) -> Iterator[Page]:
    project, page = enter(site, open_page, "/import")
    # One that is too large is not even sent.
    page.get_by_label("CSV or JSON file").evaluate(CHOOSE_LARGE)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The file is larger than 12 MB.")
    yield page
    row = f'{"N" * 100},"{LONG[:1300]}",4.5,2024-01-02,"{"R" * 100}"'
    for text in (
        f"Name,Words,Rating,Date,Role\n{row}\nمريم,خدمة رائعة,5,,\nA,B,9,,\n",
        "Wer,Was\nA,B\n",
        f"Name,Words,Date,Photo\nA,{LONG},03/04/2024,ftp://x\n",
    ):
        choose(page, project, text)
        yield page
    page.get_by_label("3 April 2024").check()
    follow(page.get_by_role("button", name="Continue"))
    yield page
    people = "".join(f"Person {number},Words {number},5\n" for number in range(600))
    choose(page, project, f"Name,Words,Rating\n{people}")
    follow(page.get_by_role("button", name="Import", exact=True))
    # The page moves by itself.
    expect(page.get_by_role("heading", level=1)).to_have_text("Imported")
    yield page
    follow(page.get_by_role("button", name="Undo"))
    yield page


def designing(site: Site, open_page: OpenPage) -> Iterator[Page]:
    """The editors; what stands inside may have the owner's own colours."""
    project, page = enter(site, open_page, "/collect/page", skipDemoTestimonials=False)
    page.locator("[data-preview]").evaluate("frame => frame.remove()")
    page.get_by_role("link", name="Another page").click()
    yield page
    page.goto(f"{project.dashboard}/collect/page?open=questions")
    page.get_by_role("button", name="Add a question").click()
    page.locator("[data-preview]").evaluate("frame => frame.remove()")
    yield page
    page.goto(f"{project.dashboard}/widget")
    page.get_by_text("Your brand", exact=True).first.click()
    page.get_by_role("radio", name="Airy").check()
    expect(page.get_by_text("1 change, not on your site yet")).to_be_attached()
    page.locator("[data-frame]").evaluate("frame => frame.remove()")
    yield page
    page.locator("details.more > summary").click()
    yield page
    # The widget's own other colours.
    project.call("PATCH", "/widget-config", {"theme": "dark", "layout": "carousel"})
    page.goto(f"{project.dashboard}/widget/preview")
    stage = page.locator("main .stage:not(.is-next)")
    expect(stage.locator("[data-testimonials-state=ready]")).to_be_visible()
    yield page
    for path in (f"/widget/{project.id}", f"/{project.slug}/wall"):
        page.goto(f"{site.url}{path}")
        yield page


JOURNEYS: tuple[Journey, ...] = (
    asking, beginning, choosing_a_photo, claiming, collecting,
    deciding_by_mail, designing, importing, integrating, inviting, moderating, naming_a_host,
    protecting_an_account, proving_who_is_there, reading_along, signing_up_over_a_stranger,
    writing_and_withdrawing,
)  # fmt: skip


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.__name__)
def test_nothing_is_wrong_on_the_way(site, open_page, journey):
    found = []
    for number, page in enumerate(journey(site, open_page), start=1):
        heading = page.locator("h1").first.text_content()
        found += [f"stop {number}, {heading}: {each}" for each in look(page)]
    assert not found, "\n".join(found)
