"""What the operator sees of the company's sign-in, and its settings."""

import json
from pathlib import Path

import pytest
from flask import Flask

from testimonials.settings.table import SettingError, load_settings
from tests.auth.company.providers import MIRA, InventiveProvider, settings_for, sign_in_by
from tests.conftest import MakeApp


def find_problems(app: Flask) -> str:
    done = app.test_cli_runner().invoke(args=["doctor", "--json"])
    checks = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
    return " ".join(each["problem"] for each in checks["company sign-in"]["findings"])


def test_doctor_asks_the_provider(make_app: MakeApp, provider: InventiveProvider) -> None:
    assert find_problems(make_app()) == ""
    assert find_problems(make_app(**settings_for(provider.issuer))) == ""
    groups = {"oidc_groups": "A=admin", "oidc_workspace": "nobody@example.com"}
    problems = find_problems(make_app(**settings_for(provider.issuer, **groups)))
    assert "No account has the address nobody@example.com" in problems
    # An issuer is compared letter by letter.
    problems = find_problems(make_app(**settings_for(f"{provider.issuer}/")))
    assert "it names itself" in problems
    provider.stop()
    gone = provider.issuer.replace("127.0.0.1", "localhost")
    assert "can't be used" in find_problems(make_app(**settings_for(gone)))


def test_the_operator_unlinks(make_app: MakeApp, provider: InventiveProvider) -> None:
    app = make_app(**settings_for(provider.issuer))
    browser = app.test_client()
    sign_in_by(provider, app, browser)
    runner = app.test_cli_runner()
    done = runner.invoke(args=["accounts", "unlink-company", MIRA["email"], "--json"])
    assert json.loads(done.stdout)["unlinked"] == MIRA["email"]
    assert browser.get("/dashboard/account").status_code == 303
    provider.subject = "miras-successor"
    assert sign_in_by(provider, app).status_code == 303


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"oidc_issuer": "https://id.example.com"}, "OIDC_CLIENT_ID must be set"),
        ({"oidc_issuer": "http://id.example.com", "oidc_client_id": "c"}, "must be the issuer"),
        (
            {"oidc_issuer": "https://id.example.com?a=b", "oidc_client_id": "c"},
            "must be the issuer",
        ),
        ({"oidc_trust_email": "on"}, "OIDC_DOMAINS must be set"),
        ({"passwords": "off"}, "only with OIDC_ISSUER"),
        ({"oidc_groups": "Marketing=owner"}, "roles are admin, moderator, reader"),
        ({"oidc_groups": "Marketing"}, "must list groups"),
        ({"oidc_groups": "Marketing=admin"}, "OIDC_WORKSPACE must be set"),
        ({"oidc_name": "x" * 41}, "at most 40 characters"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, given: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        load_settings({}, {"instance_path": str(tmp_path)} | given)
