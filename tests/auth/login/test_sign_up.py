"""A person signs up without an agent (decisions, "Accounts, keys, claiming")."""

import re

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event
from werkzeug.test import TestResponse

from testimonials.core import clock
from testimonials.core.extensions import db
from tests.auth.browsers import (
    COOKIE,
    is_signed_in,
    mailed_path,
    open_known_browser,
    purposes,
    sign_in,
)
from tests.auth.links import ask_for_link, credentials, init, mails
from tests.conftest import PASSWORD
from tests.support.rows import do_jobs

EMAIL = "person@example.com"


def works(client: FlaskClient, headers: dict[str, str]) -> bool:
    return client.get("/v1/me", headers=headers).status_code == 200


def sign_up(client: FlaskClient, email: str = EMAIL, ip: str = "10.0.0.1") -> TestResponse:
    return ask_for_link(client, "/signup", email, ip)


def test_signing_up_mails_a_link_and_a_lost_mail_is_sent_again(app, client):
    assert client.get("/signup").status_code == 200
    answer = sign_up(client, f" {EMAIL.upper()} ")
    assert answer.status_code == 200
    # A long address breaks at its signs, not within a word.
    assert re.sub(r"(@)|(?=\.)", r"\1<wbr>", EMAIL) in answer.text
    assert "/claim/" not in answer.text
    assert "Set-Cookie" not in answer.headers
    assert purposes(app) == [("signup", EMAIL)]
    assert mailed_path(app, "signup").startswith("/claim/")
    assert mailed_path(app, "signup") in mails(app)[0].html
    # A mail that was lost is sent again, as one of signing up.
    first = mailed_path(app, "signup")
    ask_for_link(client, "/claim", EMAIL)
    assert purposes(app) == [("signup", EMAIL)] * 2
    assert client.get(first).status_code == 404
    assert client.get(mailed_path(app, "signup")).status_code == 200


def test_who_has_an_account_is_told_by_mail(app, client, owner):
    sign_up(client, owner.email)
    assert purposes(app) == [("account-exists", owner.email)]
    assert mailed_path(app, "account-exists") == "/login"
    assert "/claim/" not in mails(app)[0].text
    # Nothing of the account has changed.
    assert owner.get("/v1/me").status_code == 200
    assert sign_in(client, owner.email).status_code == 303


@pytest.mark.parametrize(("choice", "drop"), [("keep", True), ("replace", False)])
def test_who_signs_up_decides_on_what_an_agent_began_before(app, client, moved_clock, choice, drop):
    key = credentials(init(client, EMAIL))
    project = {"businessName": "Fern", "slug": "fern"}
    client.post("/v1/projects", json=project, headers=key)
    since = clock.day(clock.now())
    moved_clock.move(days=2)
    sign_up(client)
    assert f"had a key to this account since {since}" in " ".join(mails(app)[-1].text.split())
    assert works(client, key)
    link = mailed_path(app, "signup")
    page = client.get(link).text
    assert "An agent has had a key" in page
    assert "Fern" in page
    assert 'name="key" value="keep" aria' in page
    form = {"password": PASSWORD, "key_seen": key["x-api-key"][-4:]}
    undecided = client.post(link, data=form)
    assert undecided.status_code == 422
    assert "Choose whether the agent keeps its key." in undecided.text
    answer = client.post(link, data=form | {"key": choice} | ({"drop": "1"} if drop else {}))
    assert answer.status_code == (303 if choice == "keep" else 200)
    assert works(client, key) is (choice == "keep")
    assert ("Fern" in client.get("/dashboard/projects").text) is not drop
    assert client.get("/fern").status_code == (404 if drop else 200)


def test_a_later_agent_changes_nothing_behind_an_open_page(app, client):
    sign_up(client)
    link = mailed_path(app, "signup")
    assert "agent" not in client.get(link).text
    key = credentials(init(client, EMAIL))
    agents_link = mailed_path(app, "claim")
    # The page that is open knew of no key, nor does one that showed the agent's earlier key.
    for _ in range(2):
        form = {"password": PASSWORD, "key": "keep", "key_seen": key["x-api-key"][-4:]}
        key = credentials(init(client, EMAIL))
        answer = client.post(link, data=form)
        assert answer.status_code == 422
        assert "An agent got a new key while this page was open." in answer.text
    assert client.get(agents_link).status_code == 404
    assert 'value="keep" checked' not in client.get(mailed_path(app, "claim")).text
    form["key"] = "replace"
    assert client.post(link, data=form).status_code == 200
    assert not works(client, key)
    assert "already claimed" in client.get(mailed_path(app, "claim")).text


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_an_agents_mail_says_when_the_account_was_made(app, client, moved_clock, is_asked_for):
    if is_asked_for:
        sign_up(client)
    else:
        init(client, EMAIL)
    begun = clock.day(clock.now())
    moved_clock.move(days=2)
    init(client, EMAIL)
    for text in (mails(app)[-1].text, mails(app)[-1].html or ""):
        said = " ".join(text.split())
        assert ("The agent created the account" in said) is not is_asked_for
        assert f"created the account on {begun}" in said or f"was created on {begun}" in said
        assert clock.day(clock.now()) in said


def test_claiming_signs_in_and_no_key_opens_what_has_none(app, client):
    sign_up(client)
    link = mailed_path(app, "signup")
    client.get(link)
    assert not is_signed_in(client)
    answer = client.post(link, data={"password": PASSWORD, "businessName": "Oat"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (303, "no-store")
    assert answer.headers["Set-Cookie"].startswith(f"{COOKIE}=")
    assert "tst_live_" not in answer.text
    assert is_signed_in(client)
    page = client.get("/dashboard/account/key").text
    assert "None yet" in page
    account_id = page.partition("<dt>Account id</dt><dd><code>")[2].partition("<")[0]
    for key in ("", " ", "tst_live_", "tst_live_" + "0" * 38):
        headers = {"x-service-account-id": account_id, "x-api-key": key}
        assert client.get("/v1/me", headers=headers).status_code == 401


@pytest.mark.parametrize("path", ["/signup", "/forgot", "/claim"])
def test_an_unusable_address_is_refused(app, client, path):
    disposable = [] if path == "/forgot" else ["a@mailinator.com"]
    for email in ("", "plain", "a\0@example.com", '"><script>@x', "a" * 50_000, *disposable):
        answer = ask_for_link(client, path, email)
        assert answer.status_code == 422, email
        assert 'aria-invalid="true"' in answer.text
        assert "<script>@x" not in answer.text
    assert mails(app) == []


def test_a_closed_service_starts_no_account(make_app, owner):
    app = make_app(signup="closed")
    client = app.test_client()
    assert 'href="/signup"' not in client.get("/login").text
    answer = sign_up(client)
    assert (answer.status_code, "Sign-up is closed" in answer.text) == (422, True)
    assert mails(app) == []
    # Who has an account already is helped.
    assert sign_in(client, owner.email).status_code == 303
    # Another service is open to some domains.
    client = make_app(signup="domains", signup_domains=["example.org"]).test_client()
    assert "Only addresses at example.org" in sign_up(client).text


def test_asking_from_one_network_is_limited(client):
    statuses = [
        sign_up(client, f"a{number}@example.com", f"2001:db8:1:{number}::1").status_code
        for number in range(11)
    ]
    assert statuses == [200] * 10 + [429]


@pytest.mark.parametrize(
    ("path", "mailed"),
    [("/signup", ["owner", "agents-owner", "nobody"]), ("/forgot", ["owner"]),
     ("/claim", ["agents-owner"])],
)  # fmt: skip
def test_every_address_takes_the_same_work_and_gets_the_same_answer(
    app, client, owner, agent, path, mailed
):
    pages: set[str] = set()
    statements: dict[str, list[str]] = {}
    with app.app_context():
        engine = db.engine

    for email in (owner.email, agent.email, "nobody@example.com"):

        def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            statements.setdefault(email, []).append(statement)  # noqa: B023

        event.listen(engine, "before_cursor_execute", note)
        answer = client.post(path, data={"email": email})
        event.remove(engine, "before_cursor_execute", note)
        assert answer.status_code == 200
        pages.add(answer.text.replace("<wbr>", "").replace(email, "ADDRESS"))
    assert len(pages) == 1
    do_jobs(app, "mail.link")
    assert [mail.recipient.split("@")[0] for mail in mails(app)] == mailed
    assert len(statements[owner.email]) > 2
    assert statements[owner.email] == statements[agent.email] == statements["nobody@example.com"]


def test_a_mailbox_with_enough_links(app, client, owner):
    known = open_known_browser(app, owner)

    def ask(
        browser: FlaskClient, path: str, network: int, times: int, email: str = owner.email
    ) -> int:
        for number in range(times):
            assert ask_for_link(browser, path, email, f"10.0.{network}.{number}").status_code == 200
        return len(mails(app))

    # What sends no mail to the owner uses up none of theirs.
    for network in (1, 2, 3):
        assert ask(client, "/claim", network, 5) == 0
        assert ask(client, "/forgot", network, 5, owner.email.replace("@", "+1@")) == 0
    assert ask(client, "/forgot", 1, 5) == 3
    assert ask(client, "/forgot", 2, 5) == 6
    assert ask(client, "/forgot", 3, 5) == 6
    # The owner holds links that work, and gets one more in a browser that is known.
    assert client.get(mailed_path(app, "reset")).status_code == 200
    assert ask(known, "/forgot", 1, 1) == 7


def test_the_link_opens_a_page_of_ones_own(app, client, owner):
    """One form makes account, project, page and widget, and leads to asking."""
    sign_up(client, "mira@gmail.com")
    assert 'value="gmail.com"' not in client.get(mailed_path(app, "signup")).text
    owner.create_project(slug="oat-ember")
    sign_up(client, "mira@oatandember.example")
    link = mailed_path(app, "signup")
    page = client.get(link).text
    assert 'value="oatandember.example"' in page
    form = {"businessName": "", "website": "a b", "password": PASSWORD}
    refused = client.post(link, data=form)
    assert refused.status_code == 422
    assert "Enter the name of your business." in refused.text
    assert not is_signed_in(client)
    form |= {"businessName": "Oat & Ember", "website": "oatandember.example"}
    made = client.post(link, data=form)
    assert made.status_code == 303
    assert "/collect?notice=" in made.headers["Location"]
    assert "Your page is open." in client.get(made.headers["Location"]).text
    # The address follows the name, and the next free one is taken.
    assert client.get("/oat-ember-2").status_code == 200
    assert client.post(link, data=form).status_code == 200
    assert client.get("/oat-ember-3").status_code == 404
