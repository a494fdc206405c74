"""The team of a project: inviting, roles, removing, leaving (decisions, "Accounts")."""

import re

import pytest
from flask import Flask
from selectolax.lexbor import LexborHTMLParser

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.operations.expiry import sweep
from testimonials.projects.invitations import INVITE_PER_ACCOUNT, INVITE_PER_EMAIL, MAX_TEAM
from tests.auth.browsers import mailed_path, purposes
from tests.auth.links import mails
from tests.conftest import Caller, MakeCaller
from tests.projects.team.team_page import NOOR, Team, invited, members
from tests.support.rows import add_member, change_project


@pytest.fixture
def moderator(team: Team, make_caller: MakeCaller) -> Caller:
    caller = make_caller("moderator@example.com", is_claimed=True)
    add_member(team.app, team.project, caller, "moderator")
    return caller


def forget_limits(app: Flask) -> None:
    with app.app_context(), write():
        db.session.query(RateLimitCounter).delete()


def test_a_mail_says_who_invites_to_what_as_what(team):
    assert team.invite(" Noor@Example.COM ", "admin").status_code == 303
    assert invited(team.app) == {NOOR: "admin"}
    (mail,) = mails(team.app)
    assert (mail.purpose, mail.recipient) == ("invitation", NOOR)
    assert mail.subject == "Join the project Fern & Fable"
    for text in (" ".join(mail.text.split()), mail.html or ""):
        assert "owner@example.com invites you to the project" in text
        assert "Your role is “Manages”" in text
        assert "https://testimonials.example.com/invite/" in text
        assert "did not expect this email" in text
    assert "Fern &amp; Fable" in (mail.html or "")
    page = team.page()
    assert NOOR in page
    assert "1 of 20" in page
    change_project(team.app, team.project, business_name="Fern " * 24)
    team.invite("second@example.com")
    assert len(mails(team.app)[-1].subject) <= 80
    assert ("Fern " * 24).strip() in " ".join(mails(team.app)[-1].text.split())


def test_whoever_never_asked_for_it_ends_it_in_one_click(team, client):
    team.invite()
    mail = mails(team.app)[-1]
    assert mail.list_unsubscribe is not None
    path = mail.list_unsubscribe.partition("example.com")[2]
    # Scanners open it; only the POST of a mail program ends it.
    assert client.get(path).status_code == 200
    assert invited(team.app) == {NOOR: "moderator"}
    answer = client.post(path, data={"List-Unsubscribe": "One-Click"})
    assert (answer.status_code, invited(team.app)) == (200, {})


def test_what_cannot_be_invited_is_said_and_stays_typed(team, moderator):
    for email, role, message in (
        ("", "moderator", "email"),
        ("nonsense", "moderator", "valid"),
        ("a\0b@example.com", "moderator", "email"),
        ("someone@mailinator.com", "moderator", "disposable"),
        (NOOR, "owner", "Choose one of the options."),
        (NOOR, "", "Choose one of the options."),
        ("Owner@example.com", "admin", "owner@example.com is already in this project."),
        ("moderator@example.com", "admin", "moderator@example.com is already in this project."),
    ):
        answer = team.invite(email, role)
        assert answer.status_code == 422
        assert message in answer.text
        assert "error-summary" in answer.text
        assert "\0" in email or f'value="{email}"' in answer.text
    assert invited(team.app) == {}
    assert mails(team.app) == []


def test_an_address_is_invited_once_and_the_mail_can_be_sent_again(team):
    # Who is alone reads nothing of places.
    assert "places in use" not in team.page()
    team.invite()
    first = mailed_path(team.app, "invitation")
    assert team.invite(role="admin").status_code == 303
    assert invited(team.app) == {NOOR: "admin"}
    for nobody in ("\0", "", "x" * 3000):
        assert team.post("invitations/withdraw", email=nobody).status_code == 404
    second = mailed_path(team.app, "invitation")
    assert second != first
    client = team.app.test_client()
    assert client.get(first).status_code == 410
    assert client.get(second).status_code == 200


def test_invitations_take_the_twenty_places(team, admin, moderator):
    for number in range(MAX_TEAM - 2):
        assert team.invite(f"person{number}@example.com").status_code == 303
    answer = team.invite("one-more@example.com")
    assert (answer.status_code, "can have 20 colleagues" in answer.text) == (422, True)
    assert len(invited(team.app)) == MAX_TEAM - 2
    assert "invite-email" not in team.page()
    assert team.post("invitations/withdraw", email="person3@example.com").status_code == 303
    assert team.invite("one-more@example.com").status_code == 303


def test_mails_are_limited_by_account_and_by_address(team):
    team.invite()
    for _ in range(INVITE_PER_EMAIL.per_hour - 1):
        assert team.invite().status_code == 303
    refused = team.invite()
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert len(mails(team.app)) == INVITE_PER_EMAIL.per_hour
    for number in range(INVITE_PER_ACCOUNT.per_hour - INVITE_PER_EMAIL.per_hour - 1):
        team.invite(f"person{number % 10}@example.com")
    answer = team.invite("last@example.com")
    assert (answer.status_code, "Rate limit exceeded" in answer.text) == (429, True)
    assert 'value="last@example.com"' in answer.text
    assert int(answer.headers["Retry-After"]) > 0


def test_an_admin_manages_moderators_alone(team, admin, moderator):
    team.invite("boss@example.com", "admin")
    here = team.seen_by(admin)
    assert here.invite("new@example.com").status_code == 303
    before = members(team.app), invited(team.app)
    assert here.invite("other@example.com", "admin").status_code == 403
    # Nor takes over what the owner sent.
    assert here.invite("boss@example.com").status_code == 403
    assert here.post("invitations/withdraw", email="boss@example.com").status_code == 403
    assert here.post(f"{moderator.account_id}/role", role="admin").status_code == 403
    assert here.post(f"{admin.account_id}/remove").status_code == 403
    assert (members(team.app), invited(team.app)) == before
    assert [purpose for purpose, _ in purposes(team.app)] == ["invitation"] * 2
    assert here.post(f"{moderator.account_id}/remove").status_code == 303
    assert here.post("invitations/withdraw", email="new@example.com").status_code == 303
    assert members(team.app) == {"admin@example.com": "admin"}
    assert invited(team.app) == {"boss@example.com": "admin"}


def test_nobody_removes_or_changes_the_owner(team, owner, admin):
    for here in (team, team.seen_by(admin)):
        assert here.post(f"{owner.account_id}/remove").status_code == 403
        assert here.post(f"{owner.account_id}/role", role="moderator").status_code == 403
    assert team.post(f"{admin.account_id}/role", role="owner").status_code == 422
    leave = f"/dashboard/projects/{team.project}/people/leave"
    assert team.browser.get(leave).status_code == 303
    assert team.browser.post(leave).status_code == 303
    assert team.page()


def test_a_removal_can_be_undone_for_a_moment(team, owner, admin, moderator, moved_clock):
    answer = team.post(f"{moderator.account_id}/remove")
    page = team.browser.get(answer.headers["Location"]).text
    assert members(team.app) == {"admin@example.com": "admin"}
    undo = LexborHTMLParser(page).css_first("form[data-undo] input[name=undo]").attributes["value"]
    # Only who may give the role, and in this project.
    assert team.seen_by(moderator).post("undo", undo=undo).status_code == 404
    assert team.post("undo", undo="broken").status_code == 422
    other = Team(team.app, team.browser, owner.create_project(slug="other")["_id"])
    assert other.post("undo", undo=undo).status_code == 422
    assert team.post("undo", undo=undo).status_code == 303
    assert members(team.app)["moderator@example.com"] == "moderator"
    # Once: whoever is removed again by somebody else stays so.
    team.seen_by(admin).post(f"{moderator.account_id}/remove")
    assert team.post("undo", undo=undo).status_code == 422
    team.post(f"{admin.account_id}/remove")
    undo = admin.account_id
    moved_clock.move(minutes=11)
    assert team.post("undo", undo=undo).status_code == 422
    assert members(team.app) == {}


def test_invitations_end_with_the_right_to_invite_and_the_page_asks_first(team, admin):
    here = team.seen_by(admin)
    here.invite("back-door@example.com")
    link = mailed_path(team.app, "invitation")
    here.browser.post("/dashboard/account/email", data={"email": "admin-2@example.com"})
    here.browser.post(mailed_path(team.app, "email-change"))
    assert "admin-2@example.com" in team.page()
    team.invite("still@example.com")
    # What they made ends with their role for good.
    asked = team.post(f"{admin.account_id}/remove")
    said = "their invitations are withdrawn" in asked.text
    assert (asked.status_code, said) == (200, True)
    assert "admin-2@example.com" in members(team.app)
    assert team.post(f"{admin.account_id}/remove", is_sure="true").status_code == 303
    assert invited(team.app) == {"still@example.com": "moderator"}
    assert team.app.test_client().get(link).status_code == 410


def test_a_member_sees_inbox_and_leaves(team, owner, moderator):
    browser = team.seen_by(moderator).browser
    inbox = f"/dashboard/projects/{team.project}/inbox"
    # An empty one leads nobody to a page that isn't theirs.
    assert "Ask three customers" in team.browser.get(inbox).text
    assert "Ask three customers" not in browser.get(inbox).text
    assert browser.get("/dashboard").headers["Location"] == inbox
    # The history says who decided.
    testimonial = owner.create_testimonial(team.project)["_id"]
    here = f"/dashboard/projects/{team.project}/testimonials/{testimonial}"
    assert browser.post(f"{here}/action", data={"action": "pin"}).status_code == 303
    assert "moderator@example.com" in team.browser.get(here).text
    page = browser.get("/dashboard/projects").text
    assert "Decides" in page
    assert "Shared by <bdi>owner@example.com</bdi>" in page
    # What others share takes none of one's own places.
    for _ in range(10):
        moderator.create_project()
    assert "10 of 10" in browser.get("/dashboard/projects/new").text
    # They leave again.
    leave = f"/dashboard/projects/{team.project}/people/leave"
    assert f'href="{leave}"' in browser.get(inbox.replace("inbox", "settings")).text
    assert "You lose access immediately" in browser.get(leave).text
    assert members(team.app) == {"moderator@example.com": "moderator"}
    assert "You left " in browser.post(leave, follow_redirects=True).text
    assert browser.post(leave).status_code == 404
    assert (members(team.app), browser.get(inbox).status_code) == ({}, 404)


def test_an_expired_one_is_sent_again(team, owner, moved_clock):
    team.invite()
    link = mailed_path(team.app, "invitation")
    moved_clock.move(days=7)
    assert team.app.test_client().get(link).status_code == 410
    assert re.search(r"expired on <time[^>]+>\d+ \w+ \d{4}", team.page())
    forget_limits(team.app)
    assert team.invite().status_code == 303
    assert team.app.test_client().get(mailed_path(team.app, "invitation")).status_code == 200
    moved_clock.move(days=36)
    with team.app.app_context():
        sweep()
    assert invited(team.app) == {NOOR: "moderator"}
    moved_clock.move(days=2)
    with team.app.app_context():
        sweep()
    assert invited(team.app) == {}
