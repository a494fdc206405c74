"""The mail about what visitors send: at once, gathered, once a day, and how it is ended."""

import html
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask, g
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.collection.author_rights import MAIL_LINK
from testimonials.core.extensions import db
from testimonials.core.jobs import KINDS, Interrupted, Job, run_due
from testimonials.core.mail.outbox import OutboxMail
from testimonials.projects.models import Project
from testimonials.projects.notifications import list_readers
from testimonials.testimonials.notifications import (
    NOTIFY,
    _find_untold,
    find_waiting,
    send_gathered_mail,
)
from tests.auth.browsers import open_browser, sign_in
from tests.auth.links import ORIGIN, mails
from tests.collection.requests.asking import link_of
from tests.conftest import Caller, MovableClock
from tests.support.plans import explain_statements
from tests.support.rows import (
    add_member,
    add_testimonial,
    change_project,
    change_testimonial,
    count_rows,
    deliver_mail,
    read_testimonials,
    write_mail,
)
from tests.support.visitors import form_token


@pytest.fixture
def project(owner: Caller) -> dict[str, Any]:
    return owner.create_project(businessName="Kiln & Clay", slug="kiln")


@pytest.fixture
def site(client: FlaskClient, moved_clock: MovableClock, project: dict[str, Any]) -> "Site":
    """The collection page, at nine in the morning of a day."""
    moved_clock.time = datetime(2031, 5, 5, 9, tzinfo=UTC)
    return Site(client, project["_id"], moved_clock)


class Site:
    """What happens to one project, and when."""

    def __init__(self, client: FlaskClient, project_id: str, moved_clock: MovableClock) -> None:
        self.client, self.project, self.clock = client, project_id, moved_clock
        self.app = client.application

    def send(self, *names: str, status: int = 303, **values: str) -> None:
        for name in names:
            self.post(name, status, **values)
            write_mail(self.app)

    def post(self, name: str, status: int = 303, **values: str) -> None:
        token = form_token(self.client.get("/kiln").text)
        form = {"text": f"Words of {name}", "name": name, "consent": "yes", "rating": "4"}
        answer = self.client.post("/kiln", data=form | {"token": token} | values)
        assert answer.status_code == status

    def work(self, **later: float) -> None:
        """Let time pass, then let the background work be done."""
        self.clock.move(**later)
        with self.app.app_context():
            run_due("jobs")

    def choose(self, caller: Caller, mode: str, status: int = 303) -> None:
        path = f"/dashboard/projects/{self.project}/settings/mail"
        assert open_browser(self.app, caller).post(path, data={"mode": mode}).status_code == status

    def told(self) -> list[tuple[str, str]]:
        """Return recipient and subject of each mail, oldest first."""
        return [(mail.recipient, mail.subject) for mail in self.mails()]

    def mails(self) -> list[OutboxMail]:
        return [mail for mail in mails(self.app) if mail.purpose == "submissions"]


def test_the_owner_is_told_with_a_link(site, owner, client):
    site.post("Noor <b>Haddad</b>", text="They listened.\nTwice. <script>x</script>", role="Guide")
    (row,) = read_testimonials(site.app, site.project)
    change_testimonial(site.app, row.id, rating=4.5)
    change_project(site.app, site.project, brand={"color": "#FFFFFF"})
    write_mail(site.app)
    (mail,) = site.mails()
    assert mail.recipient == owner.email
    assert mail.subject == "Noor <b>Haddad</b> wrote to you"
    for form in (mail.text, html.unescape(mail.html)):
        for expected in ("They listened.\nTwice.", "★★★★★", "Noor <b>Haddad</b>", "Guide"):
            assert expected in form
    assert "4.5 of 5" in mail.text
    assert "Rated 4.5 out of 5" in mail.html
    # A button as light as the ground has an edge.
    assert "border:1px solid #76767F;background:#FFFFFF" in mail.html
    assert "<script>" not in mail.html
    assert "<b>" not in mail.html
    path = link_of(mail, "Approve:")
    assert path == link_of(mail, "Reject:").replace("reject", "approve")
    assert f'href="{ORIGIN}{path}"' in mail.html
    # Signing in first comes back there.
    page = path.partition("?")[0]
    assert client.get(path).headers["Location"].startswith(f"/login?next={page}")
    assert sign_in(client, owner.email, next=path).headers["Location"] == path
    page = client.get(path).text
    assert "They listened." in page
    # What was chosen in the mail has the focus, and is still to be pressed.
    (focused,) = re.findall(r"<button[^>]* autofocus[^>]*>", page)
    assert 'value="approve"' in focused


def test_nobody_is_told_of_what_was_held_or_refused_or_sent_again(site):
    site.send("Robot", subject="Buy now")
    site.send("Nameless", status=422, consent="")
    assert site.told() == []
    token = form_token(site.client.get("/kiln").text)
    for _ in range(3):
        site.send("Noor", token=token)
        site.clock.move(minutes=6)
    site.work()
    assert len(site.told()) == 1


def test_colleagues_are_told_and_others_are_not(app, site, owner, outsider, make_caller):
    colleague = make_caller("colleague@example.com", is_claimed=True)
    for caller in (colleague, make_caller("unclaimed@example.com")):
        add_member(app, site.project, caller, "moderator")
    site.choose(outsider, "daily", status=404)
    site.choose(colleague, "never")
    site.send("Ada")
    assert [each for each, _ in site.told()] == [owner.email]
    site.choose(colleague, "at_once")
    site.send("Ben")
    # What came while the colleague wanted none is not told later; the owner's next is gathered.
    assert [each for each, _ in site.told()] == [owner.email, colleague.email]
    assert site.told()[1][1] == "Ben wrote to you"


def test_a_flood_becomes_one_mail_and_then_one_in_five_minutes(site):
    site.send("Ada", "Ben", "Cy", "Di", "Eve")
    site.work(minutes=4, seconds=59)
    assert len(site.told()) == 1
    site.work(seconds=1)
    site.work(minutes=60)
    assert [subject for _, subject in site.told()] == [
        "Ada wrote to you",
        "4 new testimonials for Kiln & Clay",
    ]
    listed = site.mails()[1].text
    assert [name for name in ("Ada", "Ben", "Cy", "Di", "Eve") if f"Words of {name}" in listed] == [
        "Ben", "Cy", "Di", "Eve"
    ]  # fmt: skip


def test_what_was_decided_or_deleted_is_not_told(app, site, owner):
    site.send("Ada", "Ben", "Cy", "Di")
    inbox = open_browser(app, owner)
    page = inbox.get(f"/dashboard/projects/{site.project}/inbox").text
    for name, action in (("Ben", "approve"), ("Cy", "delete")):
        (row,) = [row for row in page.split('<li class="item"')[1:] if f">{name}</bdi>" in row]
        testimonial = row.partition('id="t-')[2][:24]
        path = f"/dashboard/projects/{site.project}/testimonials/{testimonial}"
        assert inbox.post(f"{path}/action", data={"action": action}).status_code == 303
    site.work(minutes=5)
    assert [subject for _, subject in site.told()][1:] == ["Di wrote to you"]


def test_nothing_is_told_of_added_or_deleted_ones(app, site, owner):
    owner.create_testimonial(site.project)
    add_testimonial(app, site.project, status="pending", source="import")
    site.send("Ada", "Ben")
    browser = open_browser(app, owner)
    browser.post(f"/dashboard/projects/{site.project}/settings/delete", data={"confirm": "kiln"})
    site.work(minutes=6)
    assert len(site.told()) == 1


def test_the_daily_mail_has_twenty_and_counts_the_rest(site, owner):
    site.choose(owner, "daily")
    site.send(*(f"Visitor {number:02}" for number in range(23)))
    site.work(hours=22, minutes=59)
    assert site.told() == []
    site.work(minutes=1)
    ((recipient, subject),) = site.told()
    assert (recipient, subject) == (owner.email, "23 new testimonials for Kiln & Clay")
    (mail,) = site.mails()
    assert "Words of Visitor 19" in mail.text
    assert "Words of Visitor 20" not in mail.text
    assert "And 3 more in the inbox." in mail.text
    assert mail.html.count("/decide/") == 20
    site.send("Late")
    site.work(hours=3)
    assert len(site.told()) == 1
    site.work(hours=21)
    assert site.told()[1:] == [(owner.email, "Late wrote to you")]
    for _ in range(3):
        site.work(days=1)
    assert len(site.told()) == 2


def test_a_morning_slept_through_is_made_up_for(site, owner):
    site.choose(owner, "daily")
    site.send("Ada")
    site.work(hours=30)
    assert len(site.told()) == 1
    site.send("Ben")
    site.work(hours=16)
    assert len(site.told()) == 1
    site.work(hours=1)
    assert len(site.told()) == 2


def test_a_change_from_daily_to_at_once_loses_nothing(site, owner):
    site.choose(owner, "daily")
    site.send("Ada", "Ben")
    site.choose(owner, "at_once")
    site.work()
    assert [subject for _, subject in site.told()] == ["2 new testimonials for Kiln & Clay"]


@pytest.mark.postgres
def test_several_processes_tell_of_each_once(make_app, site):
    site.send("Ada", "Ben", "Cy")
    site.clock.move(minutes=6)
    processes = [make_app() for _ in range(4)]

    def work(app: Flask) -> int:
        with app.app_context():
            count = send_gathered_mail()
            db.session.remove()
            return count

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, processes)) == 1
    assert len(site.told()) == 2


@pytest.mark.postgres
def test_visitors_at_once_make_one_mail_at_once(app, site):
    with ThreadPoolExecutor(4) as pool:
        sites = [Site(app.test_client(), site.project, site.clock) for _ in range(8)]
        list(pool.map(lambda each: each[1].post(f"Visitor {each[0]}"), enumerate(sites)))
    assert len(site.told()) == 1
    site.work(minutes=5)
    assert [subject for _, subject in site.told()][1:] == ["7 new testimonials for Kiln & Clay"]


def test_mail_is_written_in_the_background_once(app, site, smtp):
    site.post("Noor", email="noor@example.com")
    app.test_client().post("/signup", data={"email": "new@example.com"})
    kinds = (NOTIFY, MAIL_LINK, "mail.link")
    with app.app_context():
        jobs = list(db.session.scalars(select(Job).where(Job.kind.in_(kinds))))
        assert (len(jobs), count_rows(app, OutboxMail)) == (3, 0)
    assert deliver_mail(app, smtp.url) == 6
    assert len(smtp.received) == 3
    for job in jobs:
        # As in a process that lost its lease: another one has done it meanwhile.
        with app.app_context():
            g.job = job
            with pytest.raises(Interrupted):
                KINDS[job.kind].work(**job.payload)
    assert count_rows(app, OutboxMail) == 3


def test_nobody_is_told_of_what_was_decided_meanwhile(app, site):
    site.post("Noor")
    site.post("Ben")
    first, _ = sorted(read_testimonials(app, site.project), key=lambda row: row.created_at)
    change_testimonial(app, first.id, status="rejected")
    assert [subject for _, subject in site.told()] == ["Ben wrote to you"]


def test_the_mail_says_how_to_end_it_in_one_click(app, site, smtp):
    site.send("Noor")
    deliver_mail(app, smtp.url)
    (received,) = smtp.received
    assert received.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    header = received.message["List-Unsubscribe"]
    # As it was on the wire: neither folded nor in code words, which mail programs can't click.
    raw = received.message.as_bytes(policy=received.message.policy.clone(max_line_length=0))
    assert f"List-Unsubscribe: {header}".encode() in raw
    path = header.removeprefix(f"<{ORIGIN}").removesuffix(">")
    assert path.startswith("/unsubscribe/")
    assert app.test_client().post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    site.clock.move(minutes=10)
    site.send("Ben")
    site.work(days=2)
    assert len(site.told()) == 1


def test_opening_the_link_ends_nothing_its_button_does(site, client):
    site.send("Noor")
    path = link_of(site.mails()[0], "Stop these emails:")
    answer = client.get(path)
    assert "Kiln &amp; Clay" in answer.text
    assert '<form method="post"><button' in answer.text
    assert (answer.headers["Cache-Control"], answer.status_code) == ("no-store", 200)
    site.work(minutes=6)
    site.send("Ben")
    assert len(site.told()) == 2
    site.clock.move(days=400)
    for _ in range(2):
        assert "You won’t get more email" in client.post(path).text
    site.send("Cy")
    assert len(site.told()) == 2


def test_who_was_told_is_looked_up_in_an_index(site, owner):
    """However many wait that everybody knows of."""
    site.choose(owner, "at_once")
    site.send("Ann")
    site.send("Bea")
    with site.app.app_context():
        (waiting,) = explain_statements(db.engine, find_waiting)
        found = [line for line in waiting.splitlines() if " testimonial " in line]
        assert len(found) == 4
        assert all("ed_at>?" in line for line in found)
        project = db.session.get_one(Project, site.project)
        (reader,) = list_readers(project)
        plans = explain_statements(db.engine, lambda: _find_untold(project, reader))
    read = [line for line in "\n".join(plans).splitlines() if " testimonial " in line]
    assert len([line for line in read if "ed_at>?" in line]) == 4
    assert all("ed_at>?" in line or "(id=?)" in line for line in read)
