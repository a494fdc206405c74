"""A provider of another make: `oidc-provider-mock`, which is made of Authlib."""

import pytest
from oidc_provider_mock import User, run_server_in_thread

from tests.auth.browsers import is_signed_in
from tests.auth.oidc.providers import CLIENT, MIRA, SECRET, Person, come_back, leave, settings_for

pytestmark = pytest.mark.thorough


# The provider itself uses what its library advises against.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_signing_in_at_a_provider_of_another_make(make_app):
    person = User(sub="mira", claims=dict(MIRA))
    with run_server_in_thread(user_claims=[person]) as server:
        issuer = f"http://localhost:{server.server_port}"
        app = make_app(**settings_for(issuer, oidc_client_id=CLIENT, oidc_client_secret=SECRET))
        browser = app.test_client()
        assert come_back(browser, Person().go(leave(browser))).status_code == 303
        assert is_signed_in(browser)
