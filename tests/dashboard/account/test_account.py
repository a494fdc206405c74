"""The account's page: password, key, browsers, language, leaving (decisions, "Sessions")."""

import re
from html import unescape

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select, update

from testimonials.auth.models import Session
from testimonials.core.db.engine import Base
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.mail.outbox import OutboxMail
from testimonials.projects.models import Project
from testimonials.projects.projects import name_owner
from tests.auth.browsers import COOKIE, is_signed_in, mailed_path, open_browser, purposes, sign_in
from tests.auth.links import ask_for_link, init, mails
from tests.auth.tokens import give_token
from tests.conftest import PASSWORD
from tests.core.events import read_events
from tests.support.rows import add_member, add_testimonial, everything

HERE = "/dashboard/account"
NEW = "seven green lanterns"
WRONG = "not this one at all"
THEME_COOKIE = f"{COOKIE}-theme"


def test_a_bad_password_changes_nothing(browser, owner, app):
    answer = browser.get(f"{HERE}/key")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert owner.email in browser.get(HERE).text
    assert owner.account_id in answer.text
    assert owner.api_key[-4:] in answer.text
    assert owner.api_key not in answer.text
    for current in (WRONG, ""):
        answer = browser.post(
            f"{HERE}/security/password", data={"current": current, "password": NEW}
        )
        assert (answer.status_code, answer.headers["Cache-Control"]) == (422, "no-store")
        assert "Wrong password." in answer.text
        assert WRONG not in answer.text
    assert purposes(app) == []
    assert is_signed_in(browser)
    assert sign_in(app.test_client(), owner.email).status_code == 303
    owner.create_project(businessName="Marigold Roasters")
    for password in ("short", "owner@example.com", "x" * 1025, "Marigold2026!", "testimonials!1"):
        form = {"current": PASSWORD, "password": password}
        assert browser.post(f"{HERE}/security/password", data=form).status_code == 422
    assert (purposes(app), sign_in(app.test_client(), owner.email).status_code) == ([], 303)


@pytest.mark.parametrize(
    ("path", "form", "purpose"),
    [
        ("/export", {}, "Your data"),
        ("/delete", {"confirm": "owner@example.com"}, "Delete account"),
    ],
)
def test_what_others_must_not_do_asks_for_the_password_once_it_was_given_long_ago(
    app, browser, owner, moved_clock, path, form, purpose
):
    path, form = HERE + path, form | {"extra": '"><script>1</script>'}
    owner.create_project(slug="fern")
    moved_clock.move(minutes=10)
    before = everything(app)
    for proof, status in ((None, 401), (WRONG, 422), ("", 422)):
        page = browser.post(path, data=form if proof is None else form | {"proof": proof})
        assert page.status_code == status
        assert f"Confirm it’s you for “{purpose}”." in page.text
        hidden = r'<input type="hidden" name="([^"]+)" value="([^"]*)"'
        sent = dict(re.findall(hidden, page.text.partition(f'action="{path}"')[2]))
        assert {name: unescape(text) for name, text in sent.items() if name != "undo"} == form
        assert WRONG not in page.text
    # But for the record, which has the wrong passwords.
    assert everything(app) | {"event": None} == before | {"event": None}
    assert read_events(app)[-1].type == "password.refused"
    # The answer to the page's own form is that of the form that was sent before.
    answer = browser.post(path, data=form | {"proof": PASSWORD})
    if path.endswith("export"):
        assert ">Download</button>" in answer.text
        with browser.post(path, data=form) as answer:
            assert answer.mimetype == "application/zip"
    else:
        assert "Confirm it’s you" not in answer.text
    assert answer.status_code in (200, 303)


def test_one_proof_is_enough_for_ten_minutes(app, browser, owner, moved_clock):
    other = open_browser(app, owner)
    moved_clock.move(hours=1)
    assert browser.post(f"{HERE}/key", data={"proof": PASSWORD}).status_code == 200
    moved_clock.move(minutes=9, seconds=59)
    assert browser.post(f"{HERE}/key").status_code == 200
    # It counts for the browser in which it was given alone.
    assert other.post(f"{HERE}/key").status_code == 401
    moved_clock.move(seconds=1)
    assert browser.post(f"{HERE}/key").status_code == 401
    # A new password was proved by the present one; a session of before this was noted by nothing.
    browser.post(f"{HERE}/security/password", data={"current": PASSWORD, "password": NEW})
    assert browser.post(f"{HERE}/key").status_code == 200
    with app.app_context(), write():
        db.session.execute(update(Session).values(proved_at=None))
    assert browser.post(f"{HERE}/key").status_code == 401


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("key", {"proof": PASSWORD}, 200),
        # The proof counts whatever becomes of what was asked for.
        ("email", {"proof": PASSWORD, "email": "nonsense"}, 422),
        ("delete", {"proof": PASSWORD, "confirm": "nonsense"}, 422),
        ("security/password", {"current": PASSWORD, "password": NEW}, 200),
    ],
)
def test_a_proof_brings_a_new_token_and_ends_the_one_before(
    app, browser, moved_clock, path, form, status
):
    stolen, before = app.test_client(), browser.get_cookie(COOKIE)
    stolen.set_cookie(COOKIE, before.value, path="/")
    moved_clock.move(hours=2)
    assert is_signed_in(stolen)
    assert browser.post(f"{HERE}/{path}", data=form).status_code == status
    assert is_signed_in(browser)
    assert not is_signed_in(stolen)


@pytest.mark.parametrize(("path", "name"), [("security/password", "current"), ("key", "proof")])
def test_guessing_the_password_here_is_limited(
    app, browser, owner, moved_clock, monkeypatch, path, name
):
    other = open_browser(app, owner)
    moved_clock.move(hours=1)
    with monkeypatch.context() as patch:
        patch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
        for _ in range(20):
            answer = browser.post(f"{HERE}/{path}", data={"password": NEW, name: WRONG})
            assert answer.status_code == 422
    answer = browser.post(f"{HERE}/{path}", data={"password": NEW, name: PASSWORD})
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert is_signed_in(browser)
    # Whoever guesses in one browser keeps the owner out of nothing in theirs.
    assert other.post(f"{HERE}/{path}", data={"password": NEW, name: PASSWORD}).status_code == 200


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_new_password_can_bring_a_new_key(app, browser, owner, is_reset):
    agent = give_token(app, owner)
    path, form = f"{HERE}/security/password", {"current": PASSWORD, "password": NEW}
    if is_reset:
        ask_for_link(browser, "/forgot", owner.email)
        path = mailed_path(app, "reset")
    assert 'name="replace_key"' in browser.get(path if is_reset else f"{HERE}/security").text
    answer = browser.post(path, data=form | {"replace_key": "1"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    (new,) = set(re.findall(r"tst_live_\w+", answer.text))
    assert [each.get("/v1/me").status_code for each in (owner, agent)] == [401, 401]
    owner.api_key = new
    assert owner.get("/v1/me").status_code == 200
    assert is_signed_in(browser)
    assert "and its access tokens were revoked." in " ".join(mails(app)[-1].text.split())
    assert sign_in(app.test_client(), owner.email, NEW).status_code == 303


def test_a_replaced_key_is_shown_once_and_the_old_one_stops_at_once(app, browser, owner, outsider):
    answer = browser.post(f"{HERE}/key")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.headers["Referrer-Policy"] == "same-origin"
    (new,) = set(re.findall(r"tst_live_\w+", answer.text))
    assert owner.get("/v1/me").status_code == 401
    owner.api_key = new
    assert (owner.get("/v1/me").status_code, outsider.get("/v1/me").status_code) == (200, 200)
    page = browser.get(f"{HERE}/key").text
    assert "tst_live_" not in page
    assert f"<code>{new[-4:]}</code>" in page
    assert purposes(app) == [("security", owner.email)]
    assert new not in "".join(mail.text + mail.html for mail in mails(app))


def test_one_browser_or_every_browser_is_signed_out(app, browser, owner, outsider):
    other, strange = open_browser(app, owner), open_browser(app, outsider)
    page = browser.get(f"{HERE}/security/sessions").text
    assert "Firefox on Linux" in page
    # Nobody signs this browser out by mistake.
    (action,) = re.findall(rf'action="({HERE}/security/sessions/\w+/end)"', page)
    answer = browser.post(action)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{HERE}/security/sessions")
    assert not is_signed_in(other)
    assert is_signed_in(browser)
    # Sent again, it does nothing more.
    assert browser.post(action).status_code == 303
    other = open_browser(app, owner)
    answer = browser.post(f"{HERE}/security/sessions/end")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login?notice=signed-out")
    assert browser.get_cookie(COOKIE) is None
    assert not is_signed_in(other)
    assert is_signed_in(strange)
    assert owner.get("/v1/me").status_code == 200


def test_a_removed_account_leaves_nothing(app, browser, owner, outsider):
    project = owner.create_project(slug="mine")
    owner.create_testimonial(project["_id"])
    gone = owner.create_project(slug="gone")
    owner.create_testimonial(gone["_id"])
    browser.post(f"/dashboard/projects/{gone['_id']}/settings/delete", data={"confirm": "gone"})
    browser.post(f"/dashboard/projects/{project['_id']}/settings/address", data={"slug": "renamed"})
    outsider.create_testimonial(outsider.create_project(slug="theirs")["_id"])
    other = open_browser(app, owner)

    for typed in ("", "outsider@example.org"):
        answer = browser.post(f"{HERE}/delete", data={"confirm": typed})
        assert answer.status_code == 422
        assert f"Type {owner.email} to confirm." in answer.text
    assert owner.get("/v1/me").status_code == 200
    answer = browser.post(f"{HERE}/delete", data={"confirm": f" {owner.email.upper()} "})
    assert answer.status_code == 303
    assert browser.get(answer.headers["Location"]).status_code == 200
    assert browser.get_cookie(COOKIE) is None
    assert not is_signed_in(other)
    assert owner.get("/v1/me").status_code == 401
    for path in ("/mine", "/renamed", "/gone", f"/widget/{project['_id']}/feed"):
        assert browser.get(path).status_code == 404, path
    assert sign_in(app.test_client(), owner.email).status_code == 422

    assert outsider.get("/v1/me").status_code == 200
    kept = {RateLimitCounter.__tablename__, OutboxMail.__tablename__, "secret", "setting"}
    with app.app_context():
        counts = {
            table.name: db.session.scalar(select(func.count()).select_from(table))
            for table in Base.metadata.sorted_tables
            if table.name not in kept
        }
    # What is left is the outsider's.
    assert counts["account"] == counts["project"] == counts["testimonial"] == 1
    assert counts["session"] == counts["old_slug"] == 0
    # Address and slugs are free again.
    assert "accountId" in init(app.test_client(), owner.email).json["data"]
    for slug in ("mine", "gone"):
        outsider.create_project(slug=slug)


def test_a_theme_is_kept_and_anything_else_is_none(browser):
    for theme in ('"><script>', "", "x" * 10_000):
        assert browser.post("/dashboard/theme", data={"theme": theme}).status_code == 400
        assert browser.get_cookie(THEME_COOKIE) is None
    assert browser.post("/dashboard/theme", data={"theme": "dark"}).status_code == 303
    cookie = browser.get_cookie(THEME_COOKIE)
    assert (cookie.value, cookie.secure, cookie.http_only) == ("dark", True, True)
    browser.set_cookie(THEME_COOKIE, "x'onload=alert(1)")
    assert "onload" not in browser.get(HERE).text


def test_a_name_stands_where_others_read_of_a_person(app, browser, owner, outsider):
    project = owner.create_project(businessName="Fern & Fable")["_id"]
    add_member(app, project, outsider, "moderator")
    row = add_testimonial(app, project)
    here = f"/dashboard/projects/{project}"
    form = {"author_name": "Noor", "text": "New.", "submitted_on": "2026-01-02"}
    browser.post(f"{here}/testimonials/{row}", data=form)
    assert f"<bdi>{owner.email}</bdi>" in browser.get(f"{here}/testimonials/{row}").text

    assert browser.post(f"{HERE}/name", data={"display_name": "Mira Osk"}).status_code == 303
    browser.post(f"{HERE}/name", data={"display_name": "Mira Osk"})
    (event,) = read_events(app, owner.account_id, type="account.renamed")
    assert event.details == {"name": "Mira Osk"}
    with app.app_context():
        assert name_owner(db.session.get_one(Project, project)) == "Mira"
    # Also in what was done before, and for a colleague.
    colleague = open_browser(app, outsider)
    for path in (f"{here}/testimonials/{row}", f"{here}/inbox"):
        assert owner.email not in colleague.get(path).text
    assert "Shared by <bdi>Mira Osk</bdi>" in colleague.get("/dashboard/projects").text
    assert "<bdi>Mira Osk</bdi>" in colleague.get(f"{here}/testimonials/{row}").text
    team = browser.get(f"{here}/people").text
    assert "<bdi>Mira Osk</bdi>" in team
    assert owner.email in team
    told = "<bdi>Mira Osk</bdi></strong> <bdi>changed the display name"
    assert told in browser.get(f"{HERE}/activity").text

    # Who takes a colleague's name is told apart in the record.
    colleague.post(f"{HERE}/name", data={"display_name": "MIRA OSK"})
    assert f"Mira Osk ({owner.email})" in browser.get(f"{HERE}/activity").text
    browser.post(f"{HERE}/name", data={"display_name": " "})
    with app.app_context():
        assert name_owner(db.session.get_one(Project, project)) == "Fern & Fable"


def test_a_name_that_is_none_is_refused(browser, owner):
    for name in ("x" * 81, "mira@oat.example", "two\nlines", "a\0b"):
        answer = browser.post(f"{HERE}/name", data={"display_name": name})
        assert (answer.status_code, 'aria-invalid="true"' in answer.text) == (422, True)
    assert f'title="{owner.email}">{owner.email}<' in browser.get(HERE).text


GERMAN = {"Accept-Language": "de-AT,en;q=0.5"}


def choose(browser: FlaskClient, code: str) -> None:
    assert browser.post(f"{HERE}/language", data={"language": code}).status_code == 303


def test_the_accounts_language_wins_over_the_browser_also_in_errors(browser, owner, client):
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
    # The dashboard isn't in Polish, but the collection page is.
    polish = {"Accept-Language": "pl,fr;q=0.8"}
    choose(browser, "pl")
    assert '<html lang="de"' in browser.get(HERE, headers=GERMAN).text
    assert '<html lang="fr"' in browser.get(HERE, headers=polish).text
    choose(browser, "nl")
    missing = browser.get("/dashboard/projects/none/inbox", headers=GERMAN)
    assert (missing.status_code, '<html lang="nl"' in missing.text) == (404, True)
    # Nobody looked up who is signed in.
    assert '<html lang="de"' in browser.get("/dashboard/nowhere", headers=GERMAN).text
    choose(browser, "de")
    answer = owner.client.post(
        "/v1/projects", json={"businessName": 5}, headers={**owner.headers, **GERMAN}
    )
    assert "Must be a string" in answer.get_json()["message"]
    # Signing in is in the language of the browser.
    for path in ("/login", "/signup", "/forgot"):
        assert '<html lang="de"' in client.get(path, headers=GERMAN).text
    asked = client.get("/dashboard/projects", headers=GERMAN, follow_redirects=True)
    assert '<html lang="de"' in asked.text
