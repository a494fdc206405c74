"""Requests by mail: from the preview to the answer, reminders, declining, the pace."""

import html
import re
from email.utils import parseaddr

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.collection.request_mail import first_name, send_due_requests
from testimonials.core.images.colors import contrast
from testimonials.core.jobs import run_due
from tests.auth.browsers import open_browser
from tests.auth.links import ORIGIN
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import (
    ask,
    form_of,
    let_go,
    link_of,
    read_hidden,
    read_requests,
    requests_to,
    send,
    states,
)
from tests.conftest import MovableClock
from tests.support.applications import change_settings
from tests.support.racing import at_once
from tests.support.rows import change_project, deliver_mail, read_testimonials
from tests.support.servers import MailSink

NOOR = "Noor Haddad <noor@example.com>"


def work(app: Flask, moved_clock: MovableClock, **later: float) -> None:
    """Let time pass, then let the background work be done."""
    moved_clock.move(**later)
    with app.app_context():
        run_due("jobs")


def deliver(app: Flask, smtp: MailSink | None = None) -> None:
    """Send what is in the outbox to the mail server, or print it."""
    deliver_mail(app, smtp.url if smtp else "")


def fields_of(page: str) -> dict[str, str]:
    """Return the values with which the collection page's form opens."""
    found = re.findall(r'<input (?:class="input" id="\w+" |type="hidden" )([^>]+)>', page)
    pairs = [(re.search(r'name="(\w+)"', tag), re.search(r'value="([^"]*)"', tag)) for tag in found]
    return {name[1]: html.unescape(value[1]) for name, value in pairs if name and value}


def write(client: FlaskClient, path: str, *, status: int = 303, **values: str) -> str:
    """Open a form by its link and send it as it is filled in, but for `values`."""
    page = client.get(path)
    assert page.status_code == 200
    form = fields_of(page.text) | {"text": "It was good.", "consent": "yes", "subject": ""}
    answer = client.post("/kiln", data=form | values)
    assert answer.status_code == status, answer.text
    return answer.text


def test_a_request_goes_out_says_who_asks_and_has_all_ways_out(app, browser, project, owner, smtp):
    ask(browser, project, f"{NOOR}\nli@example.org", message="Hi {name},\n<b>how</b> was it?")
    assert len(requests_to(app)) == 2
    deliver(app, smtp)
    received = {mail.recipients[0]: mail for mail in smtp.received}
    noor, li = received["noor@example.com"], received["li@example.org"]
    assert noor.message["Subject"] == "Two sentences?"
    assert noor.message["Reply-To"] == owner.email
    assert noor.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    address = noor.message["List-Unsubscribe"].strip("<>")
    assert re.fullmatch(rf"{ORIGIN}/requests/\S+/unsubscribe", address)
    assert "Hi Noor Haddad,\r\n<b>how</b> was it?" in noor.text
    assert parseaddr(str(noor.message["From"]))[0] == "Kiln & Clay"
    assert "Hi,\r\n<b>how</b> was it?" in li.text
    for form in (noor.text, html.unescape(noor.html.replace("<bdi>", "").replace("</bdi>", ""))):
        assert "You are getting this email because Kiln & Clay asked you" in form
        for expected in ("noor@example.com", "kiln.example", "You will get at most one reminder."):
            assert expected in form
    assert "<b>" not in noor.html
    assert "<img" not in noor.html
    assert states(browser, project) == {"noor@example.com": "Sent", "li@example.org": "Sent"}
    # Who has no name is not named; who has one asks in person, and signs.
    browser.post("/dashboard/account/name", data={"display_name": "Mira Osk"})
    change_settings(app, smtp_url=smtp.url)
    assert "\n\nMira</textarea>" in browser.get(f"/dashboard/projects/{project}/collect").text
    ask(browser, project, "maya@example.com")
    deliver(app, smtp)
    assert parseaddr(str(smtp.received[-1].message["From"]))[0] == "Mira at Kiln & Clay"
    for name, greeted in (
        ("Noor Haddad", "Noor"), ("Haddad, Noor", "Noor"), ("Dr. Haddad", "Dr. Haddad"),
        ("山田太郎", "山田太郎"), ("Haddad,", "Haddad"), ("", ""),
    ):  # fmt: skip
        assert first_name(name) == greeted


def test_a_mail_has_the_brand_and_the_name(app, browser, project):
    change_project(app, project, page_config={"buttonColor": "#FF7F50", "theme": "dark"})
    message = "Hi {first_name}, was {company} happy with {business}? {unknown}"
    table = (
        "email;name;company;order\nnoor@example.com;Noor Haddad;Haddad & Co;A-17\nli@example.org;;;"
    )
    ask(browser, project, table, message=message)
    noor, li = (requests_to(app, email)[0] for email in ("noor@example.com", "li@example.org"))
    assert "Hi Noor, was Haddad & Co happy with Kiln & Clay? {unknown}" in noor.text
    assert "Hi, was happy with Kiln & Clay? {unknown}" in li.text
    # The button is of the page's own colour, and its words can be read on it.
    found = re.search(r";background:(#\w{6});color:(#\w{6});border-radius", noor.html)
    assert contrast(found[1], found[2]) >= 4.5
    # Each star opens the page with it chosen, and all look the same.
    for mail in (noor, li):
        stars = re.findall(r'<a class="m-quiet" href="([^"]+)"[^>]+style="([^"]+)">★', mail.html)
        assert [html.unescape(url) for url, _ in stars] == [
            f"{ORIGIN}{form_of(mail)}&rating={number}" for number in range(1, 6)
        ]
        assert len({style for _, style in stars}) == 1
        assert "★" not in mail.text
    page = browser.get(f"{form_of(noor)}&rating=4").text
    assert re.search(r'value="4"[^>]* checked', page)
    assert states(browser, project)["noor@example.com"] == "Waiting"
    change_project(app, project, page_config={"collectFields": {"rating": False}})
    ask(browser, project, "maya@example.com")
    assert "★" not in requests_to(app, "maya@example.com")[0].html
    answer = browser.get(f"/dashboard/projects/{project}/collect/asked.csv")
    first = answer.data.decode("utf-8-sig").splitlines()
    assert first[0].startswith("email,name,company,order,state,sent")
    assert any("noor@example.com,Noor Haddad,Haddad & Co,A-17,Waiting" in row for row in first)


def test_requests_can_go_out_later(app, browser, project, moved_clock):
    ask(browser, project, NOOR, wait="3")
    work(app, moved_clock, days=2.9)
    assert requests_to(app) == []
    listed = browser.get(f"/dashboard/projects/{project}/collect/asked").text
    assert "Goes out" in listed
    assert "Cancel 1 waiting" in listed
    work(app, moved_clock, days=0.2)
    assert len(requests_to(app)) == 1
    assert "Goes out" not in browser.get(f"/dashboard/projects/{project}/collect/asked").text


def test_the_link_fills_in_and_the_answer_is_tied_to_who_was_asked(app, client, browser, project):
    change_project(app, project, page_config={"collectFields": {"email": True, "company": True}})
    ask(browser, project, "email;name;company\nnoor@example.com;Noor Haddad;Haddad & Co")
    path = form_of(requests_to(app)[0])
    page = client.get(path)
    assert page.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in page.headers
    form = fields_of(page.text)
    assert (form["name"], form["company"], form["email"]) == (
        "Noor Haddad",
        "Haddad & Co",
        "noor@example.com",
    )
    deliver(app)
    # The link survives a refusal, and opening it by itself says nothing.
    assert form["invitation"] in html.unescape(write(client, path, status=422, consent=""))
    assert states(browser, project) == {"noor@example.com": "Not sent"}
    assert client.post("/kiln/opened", data={"invitation": form["invitation"]}).status_code == 204
    assert states(browser, project) == {"noor@example.com": "Opened"}
    client.post("/kiln/started", data={"invitation": form["invitation"]})
    assert states(browser, project) == {"noor@example.com": "Started writing"}

    write(client, path)
    write(client, path, text="Once more.")
    first, second = read_testimonials(app, project)
    assert read_requests(app)["noor@example.com"].testimonial_id == first.id
    assert first.email_verified_at is not None
    assert second.email_verified_at is None
    assert states(browser, project) == {"noor@example.com": "Wrote"}
    assert browser.get(f"/dashboard/projects/{project}/inbox").text.count("Asked by email") == 1
    editor = f"/dashboard/projects/{project}/testimonials/"
    assert "Asked by email: <bdi>noor@example.com" in browser.get(editor + first.id).text
    assert "Asked by email" not in browser.get(editor + second.id).text


def test_an_address_is_proven_by_the_link_sent_to_it_and_no_other(app, client, browser, project):
    for number, (asks_email, typed, is_verified) in enumerate(
        (
            (True, "noor0@example.com", True), (True, "NOOR1@example.com", True),
            (True, "other@example.com", False), (True, "", False),
            (False, "other@example.com", True),
        )
    ):  # fmt: skip
        email, text = f"noor{number}@example.com", f"It was good, no. {number}."
        change_project(app, project, page_config={"collectFields": {"email": asks_email}})
        ask(browser, project, f"Noor Haddad <{email}>")
        write(client, form_of(requests_to(app, email)[0]), email=typed, text=text)
        (row,) = [row for row in read_testimonials(app, project) if row.text == text]
        assert (row.email_verified_at is not None) == is_verified, typed
        assert states(browser, project)[email] == "Wrote"


def test_a_link_of_another_project_a_changed_or_an_old_one_says_nothing(
    app, client, browser, owner, project, moved_clock
):
    owner.create_project(slug="other")
    ask(browser, project, NOOR)
    path = form_of(requests_to(app)[0])
    for each in [path.replace("/kiln", "/other"), f"{path}x", "/kiln?invitation=%00", path[:40]]:
        page = client.get(each)
        assert page.status_code == 200
        assert "Noor" not in page.text
        assert 'name="invitation"' not in page.text
    token = fields_of(client.get(path).text)["invitation"]
    assert client.post("/other/opened", data={"invitation": token}).status_code == 204
    assert client.post("/kiln/opened", data={"invitation": "x"}).status_code == 204
    assert read_requests(app)["noor@example.com"].opened_at is None
    moved_clock.move(days=61)
    assert "Noor" not in client.get(path).text
    write(client, path, name="Noor", invitation=token)
    assert read_requests(app)["noor@example.com"].answered_at is None


def test_one_reminder_follows_to_who_has_not_answered(app, client, browser, project, moved_clock):
    people = ["silent", "opened", "answered", "declined", "unsubscribed"]
    ask(browser, project, "\n".join(f"{name}@example.com" for name in people))
    sent = {name: requests_to(app, f"{name}@example.com")[0] for name in people}
    token = fields_of(client.get(form_of(sent["opened"])).text)["invitation"]
    client.post("/kiln/opened", data={"invitation": token})
    write(client, form_of(sent["answered"]), name="A")
    client.post(link_of(sent["declined"], "rather not"))
    client.post(link_of(sent["unsubscribed"], "ask me again"))
    work(app, moved_clock, days=2, hours=23)
    assert len(requests_to(app)) == 4, "the one that was unsubscribed from before it left is gone"
    for _ in range(3):
        work(app, moved_clock, hours=2)
    reminded = [mail for mail in requests_to(app) if mail.purpose == "invitation-reminder"]
    assert sorted(mail.recipient for mail in reminded) == [
        "opened@example.com",
        "silent@example.com",
    ]
    assert reminded[0].subject == "Reminder: Two sentences?"
    assert "This is a reminder, and the only one." in reminded[0].text
    work(app, moved_clock, days=30)
    assert len(requests_to(app)) == 6


def test_a_mail_that_was_not_delivered_is_said_so_and_not_repeated(
    app, browser, project, owner, smtp, moved_clock
):
    ask(browser, project, NOOR)
    smtp.answers.append("550 No such user here")
    deliver(app, smtp)
    assert states(browser, project) == {"noor@example.com": "Not delivered"}
    page = browser.get(f"/dashboard/projects/{project}/collect/asked?state=failed").text
    assert "550 No such user here" in page
    work(app, moved_clock, days=4)
    assert len(requests_to(app)) == 1
    browser = open_browser(app, owner)
    row = read_requests(app)["noor@example.com"]
    path = f"/dashboard/projects/{project}/collect/asked/{row.id}"
    assert "550 No such user here" in browser.get(path).text
    assert browser.post(path, data={"email": "foo"}).status_code == 422
    assert browser.post(path, data={"email": "noor@example.org"}).status_code == 303
    let_go(app)
    assert requests_to(app)[-1].recipient == "noor@example.org"
    assert "Hi Noor Haddad," in requests_to(app)[-1].text
    # It was mended, so there is nothing to mend.
    assert browser.post(path, data={"email": "li@example.org"}).status_code == 422


def test_the_pace_is_kept_over_all_accounts(make_app, make_caller, moved_clock):
    app = make_app(invitations_per_minute=3)
    for number in range(2):
        caller = make_caller(f"owner{number}@example.com", is_claimed=True, on=app)
        project = caller.create_project(slug=f"p{number}")["_id"]
        people = "\n".join(f"a{n}@example.com" for n in range(4))
        ask(open_browser(app, caller), project, people)
    counts = [len(requests_to(app))]
    for _ in range(3):
        work(app, moved_clock, seconds=59)
        work(app, moved_clock, seconds=0)
        counts.append(len(requests_to(app)))
        moved_clock.move(seconds=2)
    assert counts == [3, 3, 6, 8]
    assert len({(mail.recipient, mail.reply_to) for mail in requests_to(app)}) == 8


@pytest.mark.postgres
def test_several_processes_send_each_mail_once(make_app, make_caller, moved_clock):
    app = make_app(invitations_per_minute=25)
    caller = make_caller("owner@example.com", is_claimed=True, on=app)
    project = caller.create_project(slug="kiln")["_id"]
    ask(open_browser(app, caller), project, "\n".join(f"a{n}@example.com" for n in range(60)))
    assert len(requests_to(app)) == 25
    moved_clock.move(minutes=2)

    def send(_: int) -> int:
        with app.app_context():
            return send_due_requests()

    assert sum(at_once(6, send)) == 25
    moved_clock.move(minutes=2)
    assert sum(at_once(6, send)) == 10
    recipients = [mail.recipient for mail in requests_to(app)]
    assert len(recipients) == len(set(recipients)) == 60


def test_the_mail_is_in_the_chosen_language_and_a_standard_text_follows_it(
    app, browser, project, client, smtp_url
):
    page = browser.get(f"/dashboard/projects/{project}/collect").text
    standard = html.unescape(re.search(r'name="message"[^>]*>\n([^<]+)</textarea>', page)[1])
    assert "two honest sentences" in standard
    ask(browser, project, NOOR, language="de", message=standard)
    (mail,) = requests_to(app)
    assert "Würden Sie zwei ehrliche Sätze" in mail.text
    assert 'lang="de"' in mail.html
    path = re.search(rf"{ORIGIN}(/kiln\?lang=de\S+)", mail.text)
    assert '<html lang="de"' in client.get(path[1]).text
    ask(browser, project, "li@example.org", language="ar", message="My own words")
    assert "My own words" in requests_to(app, "li@example.org")[0].text
    assert 'dir="rtl"' in requests_to(app, "li@example.org")[0].html


def test_a_get_changes_nothing_and_declining_is_one_button(app, client, browser, project):
    ask(browser, project, NOOR)
    deliver(app)
    (mail,) = requests_to(app)
    for words in ("rather not", "ask me again"):
        page = client.get(link_of(mail, words))
        assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert states(browser, project) == {"noor@example.com": "Not sent"}
    assert "There will be no reminder" in client.post(link_of(mail, "rather not")).text
    assert states(browser, project) == {"noor@example.com": "Said no"}
    write(client, form_of(mail))
    assert states(browser, project) == {"noor@example.com": "Wrote"}
    for path in ("/requests/x/decline", "/requests/%00/unsubscribe"):
        for method in ("GET", "POST"):
            answer = client.open(path, method=method, headers={"Accept-Language": "en"})
            assert (answer.status_code, "Part of the link may be missing" in answer.text) == (
                404,
                True,
            )


def test_unsubscribing_holds_for_all_projects_of_the_account_and_no_other(
    app, client, browser, owner, outsider
):
    first, second = (owner.create_project(slug=slug)["_id"] for slug in ("one", "two"))
    foreign = outsider.create_project(slug="three")["_id"]
    ask(browser, first, NOOR)
    path = link_of(requests_to(app)[0], "ask me again").partition("?")[0]
    for _ in range(2):
        # As a mail program does it by itself.
        answer = client.post(path, data={"List-Unsubscribe": "One-Click"})
        assert answer.status_code == 200
    assert states(browser, first) == {"noor@example.com": "Said no"}
    refused = send(browser, second, "NOOR@example.com")
    assert refused.status_code == 422
    assert "Unsubscribed from your requests." in refused.text
    ask(open_browser(app, outsider), foreign, NOOR)
    # Who writes by themselves gets no link by mail either.
    visitor = Visitor(app.test_client(), second, "two")
    visitor.write(email="noor@example.com")
    assert visitor.mailed() == []
    # The row and its project may go; the wish and the link stay.
    row = read_requests(app)["noor@example.com"]
    browser.post(f"/dashboard/projects/{first}/collect/asked/remove", data={"id": row.id})
    assert send(browser, first, NOOR).status_code == 422
    answer = client.post(path.replace("/unsubscribe", "/subscribe"))
    assert "can ask you by email again" in answer.text
    assert send(browser, second, NOOR).status_code == 303
    visitor.write(email="noor@example.com", text="Once more, with feeling.")
    assert len(visitor.mailed()) == 1


def test_who_unsubscribes_before_it_goes_gets_nothing(app, client, browser, owner):
    first, second = (owner.create_project(slug=slug)["_id"] for slug in ("one", "two"))
    ask(browser, first, NOOR)
    send(browser, second, f"{NOOR}, li@example.org")
    client.post(link_of(requests_to(app)[0], "ask me again"))
    let_go(app)
    assert [mail.recipient for mail in requests_to(app)] == ["li@example.org"]
    assert states(browser, second)["noor@example.com"] == "Said no"


def test_a_link_outlives_its_project_and_its_account(app, client, browser, project, owner):
    ask(browser, project, NOOR)
    path = link_of(requests_to(app)[0], "ask me again")
    browser.post(f"/dashboard/projects/{project}/settings/delete", data={"confirm": "kiln"})
    assert (client.get(path).status_code, client.post(path).status_code) == (200, 200)
    assert read_hidden(client.get(path).text)["lang"] == "en"
    assert send(browser, owner.create_project(slug="other")["_id"], NOOR).status_code == 422


def test_who_never_answered_is_forgotten_after_a_year(app, client, browser, project, moved_clock):
    ask(browser, project, f"{NOOR}, li@example.org")
    write(client, form_of(requests_to(app, "noor@example.com")[0]))
    work(app, moved_clock, days=364)
    assert len(read_requests(app)) == 2
    work(app, moved_clock, days=2)
    assert list(read_requests(app)) == ["noor@example.com"]
