"""Account, Signing in, in Chromium: a real passkey of its virtual authenticator."""

import pytest
from playwright.sync_api import CDPSession, Page, expect
from sqlalchemy import update

from testimonials.auth.models import Session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from tests.browser.conftest import Site

SECURITY = "/dashboard/account/security"


@pytest.fixture
def site(named_site: Site) -> Site:
    return named_site


def plug_in(page: Page) -> CDPSession:
    """Give the browser an authenticator that verifies its person."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
        "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session


def add_passkey(page: Page, name: str) -> None:
    page.get_by_role("button", name="Add a passkey").last.click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text(name, exact=True).first).to_be_visible()


def test_an_account_is_claimed_by_a_passkey(site, open_page, project):
    page = open_page(f"{site.url}/login")
    session = plug_in(page)
    page.goto(project.claim_link())
    page.get_by_role("radio", name="It may go on").check()
    page.get_by_role("button", name="Use a passkey instead").click()
    page.wait_for_url("**/collect?*")
    page.goto(f"{site.url}{SECURITY}")
    expect(page.get_by_role("button", name="Remove", exact=True)).to_have_count(0)
    page.goto(f"{site.url}{SECURITY}/sessions")
    page.get_by_role("button", name="Sign out everywhere", exact=True).click()
    # It signs in from then on, without a password.
    page.wait_for_url("**/dashboard/projects/**")
    session.detach()


def forget_proofs(site: Site) -> None:
    with site.app.app_context(), write():
        db.session.execute(update(Session).values(proved_at=None))


def test_a_passkey_proves_and_signs_in(site, project, open_page):
    page = open_page(f"{site.url}/login")
    project.sign_in(page)
    session = plug_in(page)
    page.goto(f"{site.url}{SECURITY}")
    expect(page.get_by_text("Your account has only a password")).to_be_visible()
    add_passkey(page, "Mira’s phone")
    forget_proofs(site)
    # Without a password only the passkey proves it.
    page.get_by_text("Password", exact=True).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Confirm it’s you")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("Removed")).to_be_visible()
    page.goto(f"{site.url}{SECURITY}/sessions")
    page.get_by_role("button", name="Sign out everywhere", exact=True).click()
    # The address field offers the passkey, which this authenticator answers at once.
    page.wait_for_url("**/dashboard/projects/**")
    page.goto(f"{site.url}{SECURITY}/sessions")
    expect(page.get_by_text("Passkey", exact=True)).to_be_visible()
    session.detach()
