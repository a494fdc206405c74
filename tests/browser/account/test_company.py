"""Signing in with the company's account in Chromium, at a certified provider on another site."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.auth.oidc.providers import MIRA, CertifiedProvider, settings_for
from tests.browser.conftest import Site, serve_site
from tests.browser.looks import look
from tests.browser.pages import follow, next_page
from tests.support.servers import free_port

COMPANY = "Maplevale ID"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def provider(port: int) -> Iterator[CertifiedProvider]:
    """A provider at another host than the service, so that cookies are as on the web."""
    made = CertifiedProvider(returns=f"http://localhost:{port}/login/company/done")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def site(port: int, provider: CertifiedProvider) -> Iterator[Site]:
    settings = {key: str(value) for key, value in settings_for(provider.issuer).items()}
    with serve_site(base_url=f"http://localhost:{port}", port=str(port), **settings) as site:
        yield site


def sign_in(page: Page, site: Site, login: str) -> None:
    """Go from the sign-in page to the company's, sign in and allow it there, and come back."""
    # The provider's page asks for a font of somebody else's.
    page.route("https://fonts.googleapis.com/**", lambda route: route.fulfill(body=""))
    page.goto(f"{site.url}/login")
    page.get_by_role("button", name=COMPANY).click()
    page.get_by_placeholder("Enter any login").fill(login)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_url(f"{site.url}/**")


def test_somebody_comes_back(site, provider, open_page):
    page = open_page(f"{site.url}/login")
    assert look(page) == []
    sign_in(page, site, "mira")
    expect(page).to_have_url(f"{site.url}/dashboard/projects/new")
    page.goto(f"{site.url}/dashboard/account/security")
    expect(page.get_by_text(COMPANY).first).to_be_visible()
    assert look(page) == []
    page.goto(f"{site.url}/dashboard/account/security/sessions")
    # The provider said nothing of when she proved who she is, and she has nothing here to do it.
    follow(page.get_by_role("button", name="Sign out everywhere", exact=True))
    assert look(page) == []
    follow(page.get_by_role("button", name="Confirm by email"))
    assert look(page) == []
    tab = page.context.new_page()
    tab.goto(site.mailed_link(MIRA["email"], rf"{site.url}/dashboard/\S+proof=\S+"))
    assert look(tab) == []
    follow(tab.get_by_role("button", name="Confirm"))
    assert look(tab) == []
    tab.close()
    follow(page.get_by_role("button", name="Continue", exact=True))
    expect(page).to_have_url(f"{site.url}/login?notice=signed-out")
    # She is still signed in at the company, so one press is enough.
    page.get_by_role("button", name=COMPANY).click()
    expect(page).to_have_url(f"{site.url}/dashboard/projects/new")


def test_an_agents_account(site, provider, open_page):
    theo = MIRA | {"email": "theo@oatandember.example"}
    provider.tell(people={"theo": theo})
    site.agent_init(theo["email"])
    page = open_page(f"{site.url}/login")
    sign_in(page, site, "theo")
    expect(page.get_by_role("heading", name="Is this you?")).to_be_visible()
    assert look(page) == []
    page.get_by_role("radio", name="Replace its key").check()
    follow(page.get_by_role("button", name="Claim my account"))
    assert look(page) == []
    follow(page.get_by_role("link", name="Open your dashboard"))
    expect(page).to_have_url(f"{site.url}/dashboard/projects/new")


def test_what_fails_is_said(site, provider, open_page):
    provider.tell(people={"eve": {"email": "eve@example.com", "email_verified": False}})
    page = open_page(f"{site.url}/login")
    sign_in(page, site, "eve")
    expect(page.get_by_role("heading", name="That didn’t work")).to_be_focused()
    assert look(page) == []
    # A provider without an answer leaves the browser on the page that leads there.
    page.route(f"{provider.issuer}/**", lambda route: route.fulfill(status=204))
    follow(page.get_by_role("link", name="Try again"))
    with next_page(page):
        page.get_by_role("button", name=COMPANY).click()
    expect(page.get_by_role("heading", name=f"Continue to {COMPANY}")).to_be_visible()
    assert look(page) == []
