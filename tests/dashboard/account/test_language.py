"""The language of the pages behind the sign-in: the account's, or else the browser's."""

from flask.testing import FlaskClient

from tests.conftest import Caller

HERE = "/dashboard/account"
GERMAN = {"Accept-Language": "de-AT,en;q=0.5"}


def choose(browser: FlaskClient, code: str) -> None:
    assert browser.post(f"{HERE}/language", data={"language": code}).status_code == 303


def test_the_accounts_language_wins_over_the_browser(browser: FlaskClient) -> None:
    answer = browser.get(HERE, headers=GERMAN)
    assert '<html lang="de" dir="ltr"' in answer.text
    assert answer.headers["Content-Language"] == "de"
    assert "Accept-Language" in answer.vary
    # Neither an address nor a language that we don't speak changes it.
    choose(browser, "tlh")
    assert '<html lang="en" dir="ltr"' in browser.get(f"{HERE}?lang=fr").text
    choose(browser, "ar")
    for path in (HERE, "/dashboard/projects"):
        assert '<html lang="ar" dir="rtl"' in browser.get(path, headers=GERMAN).text
    choose(browser, "en")
    assert '<html lang="en"' in browser.get(HERE, headers=GERMAN).text
    choose(browser, "")
    assert '<html lang="de"' in browser.get(HERE, headers=GERMAN).text


def test_errors_and_pages_without_a_guard_speak_it_too(browser: FlaskClient) -> None:
    choose(browser, "nl")
    missing = browser.get("/dashboard/projects/none/inbox", headers=GERMAN)
    assert missing.status_code == 404
    assert '<html lang="nl"' in missing.text
    # Nobody looked up who is signed in.
    assert '<html lang="de"' in browser.get("/dashboard/nowhere", headers=GERMAN).text


def test_signing_in_is_in_the_browsers_language(client: FlaskClient) -> None:
    for path in ("/login", "/signup", "/forgot"):
        assert '<html lang="de"' in client.get(path, headers=GERMAN).text
    asked = client.get("/dashboard/projects", headers=GERMAN, follow_redirects=True)
    assert '<html lang="de"' in asked.text


def test_the_api_stays_english(browser: FlaskClient, owner: Caller) -> None:
    choose(browser, "de")
    answer = owner.client.post(
        "/v1/projects", json={"businessName": 5}, headers={**owner.headers, **GERMAN}
    )
    assert "Must be a string" in answer.get_json()["message"]
