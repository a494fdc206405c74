"""Handing a project over: the offer, the answers, and what becomes of everything that was in it."""

import json

import pytest

from testimonials.auth.models import AccessToken, Account
from testimonials.auth.tokens import Scope, check_token, make_token
from testimonials.collection.models import (
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.collection.request_mail import make_answer_url
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.projects.models import OwnershipOffer, Project, TeamInvitation
from testimonials.testimonials.models import Recording
from tests.auth.browsers import open_browser, purposes
from tests.auth.links import mails
from tests.conftest import Caller
from tests.operations.jobs.test_prune import prune
from tests.projects.team.team_page import Team, members
from tests.support.rows import (
    add_member,
    add_recording,
    add_workspace_member,
    count_rows,
    read_project,
)

pytestmark = pytest.mark.postgres


def offer(team: Team, receiver: Caller, **form: str) -> None:
    assert team.post("hand-over", receiver=receiver.account_id, **form).status_code == 303


def answer(team: Team, receiver: Caller, word: str) -> int:
    browser = open_browser(team.app, receiver)
    return browser.post(f"/dashboard/projects/{team.project}/people/offer/{word}").status_code


def owner_of(team: Team) -> str:
    with team.app.app_context():
        account = db.session.get_one(Account, read_project(team.app, team.project).account_id)
        return account.email


def test_an_admin_says_yes_and_both_are_told(team, owner, admin):
    hand_over = f"{team.base}/hand-over"
    assert "New owner" in team.browser.get(hand_over).text
    team.browser.post("/dashboard/account/name", data={"display_name": "Mira Osk"})
    offer(team, admin, keeps_team="1")
    assert purposes(team.app)[-1] == ("ownership-offer", admin.email)
    # The mail and the page call the owner alike.
    words = " ".join(mails(team.app)[-1].text.split())
    assert "Mira Osk offers you the project Fern & Fable" in words
    assert "Withdraw" in team.browser.get(hand_over).text
    seen = open_browser(team.app, admin).get(f"/dashboard/projects/{team.project}/people/offer")
    assert seen.status_code == 200
    assert "<bdi>Mira Osk</bdi> offers you this project." in seen.text
    assert owner_of(team) == owner.email
    assert answer(team, admin, "accept") == 303
    assert owner_of(team) == admin.email
    assert members(team.app) == {owner.email: "admin"}
    assert purposes(team.app)[-1] == ("ownership-taken", owner.email)
    assert count_rows(team.app, OwnershipOffer) == 0
    with team.app.app_context():
        events = db.session.query(Event).filter_by(type="ownership.taken").all()
        assert {each.account_id for each in events} == {owner.account_id, admin.account_id}
    # The second yes, and the former owner's form, find nothing any more.
    assert answer(team, admin, "accept") == 303
    assert team.post("hand-over", receiver=admin.account_id).status_code == 403


def test_what_is_declined_withdrawn_or_expired_cannot_be_taken(team, owner, admin, moved_clock):
    browser, path = open_browser(team.app, admin), f"{team.base}/offer"
    offer(team, admin)
    declined = browser.post(f"{path}/decline", follow_redirects=True).text
    assert "Declined" in declined
    # Who offered it reads so in a mail and in the record, and may offer it again.
    told = mails(team.app)[-1]
    assert (told.purpose, told.recipient) == ("ownership-declined", owner.email)
    words = " ".join(told.text.split())
    assert f"{admin.email} declined your offer of the project Fern & Fable." in words
    activity = f"/dashboard/projects/{team.project}/settings/developers/activity"
    assert "declined the offer of Fern &amp; Fable" in team.browser.get(activity).text
    assert "New owner" in team.browser.get(f"{team.base}/hand-over").text
    assert answer(team, admin, "accept") == 303
    # Whoever comes from the mail again, or presses a button of an old page, reads why.
    over = "This offer was answered or withdrawn, or has expired."
    assert over in browser.get(path, follow_redirects=True).text
    for word in ("accept", "decline"):
        assert over in browser.post(f"{path}/{word}", follow_redirects=True).text
    offer(team, admin)
    assert team.post("hand-over/withdraw").status_code == 303
    assert answer(team, admin, "accept") == 303
    offer(team, admin)
    moved_clock.move(days=7.1)
    assert answer(team, admin, "accept") == 303
    assert owner_of(team) == owner.email
    assert prune(team.app)["ownershipOffers"] == 1


def test_only_an_admin_is_offered_it_and_only_who_it_is_offered_to_takes_it(
    team, owner, admin, make_caller
):
    other = make_caller("other@example.com", is_claimed=True)
    for receiver in (other.account_id, owner.account_id, "", "0" * 24):
        assert team.post("hand-over", receiver=receiver).status_code == 422
    add_member(team.app, team.project, other, "moderator")
    assert team.post("hand-over", receiver=other.account_id).status_code == 422
    assert team.seen_by(admin).post("hand-over", receiver=admin.account_id).status_code == 403
    second = make_caller("second@example.com", is_claimed=True)
    add_member(team.app, team.project, second, "admin")
    offer(team, admin)
    assert answer(team, second, "accept") == 303
    assert answer(team, second, "decline") == 303
    assert answer(team, other, "accept") == 403
    assert owner_of(team) == owner.email
    # Without the role there is nothing to answer.
    assert team.post(f"{admin.account_id}/role", role="reader").status_code == 303
    assert answer(team, admin, "accept") == 403


@pytest.mark.parametrize("keeps_team", [True, False])
def test_the_former_owner_and_theirs_keep_their_role_or_are_out(
    team, owner, admin, make_caller, keeps_team
):
    everywhere = make_caller("all@example.com", is_claimed=True)
    add_workspace_member(team.app, owner, everywhere, "moderator")
    form = {"email": "friend@example.com", "role": "admin"}
    assert team.browser.post(team.base, data=form).status_code == 303
    offer(team, admin, **{"keeps_team": "1"} if keeps_team else {})
    assert answer(team, admin, "accept") == 303
    kept = {owner.email: "admin", everywhere.email: "moderator"}
    assert members(team.app) == (kept if keeps_team else {})
    # As an admin they could have invited nobody as one.
    assert count_rows(team.app, TeamInvitation) == 0
    for caller in (owner, everywhere):
        seen = open_browser(team.app, caller).get(f"/dashboard/projects/{team.project}/inbox")
        assert seen.status_code == (200 if keeps_team else 404)


def test_an_account_at_its_limit_is_refused(team, owner, admin):
    runner = team.app.test_cli_runner()
    runner.invoke(args=["accounts", "set-limit", admin.email, "0"])
    offer(team, admin)
    seen = open_browser(team.app, admin).get(f"/dashboard/projects/{team.project}/people/offer")
    assert "Your account is at its limit of 0 projects." in seen.text
    assert "offer/accept" not in seen.text
    assert answer(team, admin, "accept") == 409
    assert owner_of(team) == owner.email
    runner.invoke(args=["accounts", "set-limit", admin.email, "default"])
    row = owner.create_testimonial(team.project)["_id"]
    recording = add_recording(team.app, row, size=2_100_000_000)
    assert answer(team, admin, "accept") == 409
    with team.app.app_context(), write():
        db.session.get_one(Recording, recording).size = 1
    # The operator hands it over.
    assert runner.invoke(args=["projects", "transfer", "fern", owner.email]).exit_code != 0
    done = runner.invoke(args=["projects", "transfer", "fern", admin.email, "--json"])
    assert json.loads(done.stdout)["userId"] == admin.account_id
    assert members(team.app) == {owner.email: "admin"}


def test_tokens_end_and_the_unsubscribed_stay_so(team, owner, admin):
    with team.app.test_request_context():
        lock_for_writing()
        own = (owner.account_id, team.project, "T", [Scope.READ], None)
        _, plain = make_token(*own, owner.account_id)
        batch = RequestBatch(
            project_id=team.project, actor="a", subject="S", message="M", language="en", size=1
        )
        db.session.add(batch)
        db.session.flush()
        asked = []
        for email in ("left@example.com", "later@example.com"):
            asked.append(
                MailedRequest(
                    project_id=team.project,
                    batch_id=batch.id,
                    email=email,
                    email_hash=hash_email(owner.account_id, email),
                )
            )
        db.session.add_all(asked)
        left = asked[0].email_hash
        db.session.add(UnsubscribedAddress(account_id=owner.account_id, email_hash=left))
        db.session.flush()
        project = db.session.get_one(Project, team.project)
        link = make_answer_url(project, asked[1], "unsubscribe")
        db.session.commit()
        check_token(plain)
    offer(team, admin, keeps_team="1")
    assert answer(team, admin, "accept") == 303
    # The link of an email from before holds for whoever would send the reminder.
    assert team.app.test_client().post(link).status_code == 200
    with team.app.app_context():
        assert db.session.query(AccessToken).one().state == "revoked"
        for row in db.session.query(MailedRequest).all():
            assert row.email_hash == hash_email(admin.account_id, row.email)
            assert db.session.get(UnsubscribedAddress, (admin.account_id, row.email_hash))


def test_an_offer_goes_with_project_and_accounts(team, owner, admin):
    offer(team, admin)
    with team.app.app_context(), write():
        db.session.get_one(Project, team.project).deleted_at = clock.now()
    assert answer(team, admin, "accept") == 404
    runner = team.app.test_cli_runner()
    assert runner.invoke(args=["accounts", "delete", admin.email, "--yes"]).exit_code == 0
    assert count_rows(team.app, OwnershipOffer) == 0
