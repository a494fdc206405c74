"""Proposals: what the owner decides, and who is told."""

import random
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.tokens import Scope
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.images.uploads import Image
from testimonials.core.text import compare_texts
from testimonials.operations.expiry import sweep
from testimonials.projects.models import Proposal
from testimonials.projects.proposals import send_proposal_mail
from testimonials.testimonials import models
from tests.auth.browsers import mailed_path, open_browser
from tests.auth.links import init, mails, redeem
from tests.conftest import Caller
from tests.core.events import read_types
from tests.projects.proposals.agents import hold_picture, make_agent, propose, read_proposal
from tests.support.racing import at_once
from tests.support.rows import add_member, add_testimonial, change_testimonial

pytestmark = pytest.mark.postgres
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="kiln", businessName="Kiln & Clay")["_id"])


def test_words_that_both_texts_have_in_their_order_are_not_marked():
    before, after = compare_texts("Great coffee, kind people.", "Great tea, very kind people.")
    assert before == [("Great ", False), ("coffee", True), (", kind people.", False)]
    assert [text for text, is_other in after if is_other] == ["tea", "very "]
    draw = random.Random(0)
    for _ in range(300):
        texts = ["".join(draw.choices("ab. ", k=draw.randrange(30))) for _ in "12"]
        sides = compare_texts(*texts)
        assert ["".join(part for part, _ in side) for side in sides] == texts
        old, new = ([part for part, is_other in side if not is_other] for side in sides)
        assert "".join(old) == "".join(new)
    long = "well " * 2_000
    assert compare_texts(f"{long}done", long) == ([(f"{long}done", True)], [(long, True)])


def decide(browser: FlaskClient, project: str, decision: str, *ids: str, note: str = "") -> Any:
    form = {"decision": decision, "ids": list(ids), "note": note}
    return browser.post(f"/dashboard/projects/{project}/inbox/proposals", data=form)


def badge(browser: FlaskClient, project: str) -> str:
    return re.findall(r"data-pending-number>(\d+)", page(browser, project))[0]


def page(browser: FlaskClient, project: str) -> str:
    answer = browser.get(f"/dashboard/projects/{project}/inbox")
    assert answer.status_code == 200
    return answer.text


def follow(browser: FlaskClient, answer: Any) -> str:
    return browser.get(answer.headers["Location"].partition("#")[0]).text


def test_accepting_does_what_the_owner_would_click(app, owner, browser, project):
    agent = make_agent(owner, Scope.READ, Scope.DRAFT)
    shown = owner.create_testimonial(project, text="They fixed it in one day.")["_id"]
    waiting = add_testimonial(app, project, status="pending")
    picture = hold_picture(app)
    edit = {"text": "They fixed it in two days.", "pinned": True, "tags": ["speed"], "reply": "Hi"}
    made = [
        propose(agent, project, kind, values, **more)["_id"]
        for kind, values, more in (
            ("page", {"headline": "How was it?", "collectFields": {"rating": False}}, {}),
            ("logo", {"imageId": picture}, {}),
            ("widget", {"layout": "carousel"}, {}),
            ("design", {"brandColor": "#9A3412", "density": "airy"}, {}),
            ("brand", {"font": "classic"}, {}),
            ("testimonial.add", {"authorName": "Ida", "text": "Lovely cups."}, {}),
            ("testimonial.edit", edit, {"targetId": shown}),
            ("testimonial.decide", {"decision": "approve", "ids": [waiting]}, {}),
            ("request", {"people": [{"email": "noor@example.com", "name": "Noor"}]}, {}),
        )
    ]
    text = page(browser, project)
    assert "<del>one</del>" in text
    assert "<ins>two</ins>" in text
    assert browser.get(f"/dashboard/projects/{project}/proposals/{made[1]}/picture").data
    for words in ("How was <ins>it</ins>?", "Carousel", "Airy", "Change the brand", "Classic"):
        assert words in text, words
    assert "Changed since" not in text
    before = owner.get(f"/v1/projects/{project}").json["data"]
    assert before["publicPageConfig"]["headline"] != "How was it?"
    answer = decide(browser, project, "accepted", *made)
    assert answer.status_code == 303, answer.text
    after = owner.get(f"/v1/projects/{project}").json["data"]
    assert after["publicPageConfig"]["headline"] == "How was it?"
    assert after["publicPageConfig"]["collectFields"]["rating"] is False
    assert picture in after["publicPageConfig"]["logo"]
    assert browser.get(f"/media/{picture}.webp").status_code == 200
    assert after["widgetConfig"]["layout"] == "carousel"
    assert after["widgetDesign"]["brandColor"] == "#9A3412"
    rows = {
        each["_id"]: each
        for each in owner.get(f"/v1/projects/{project}/testimonials").json["data"]["items"]
    }
    added = read_proposal(agent, project, made[5])
    assert rows[added["result"]["testimonialId"]]["text"] == "Lovely cups."
    assert rows[shown]["text"] == edit["text"]
    assert (rows[shown]["pinned"], rows[shown]["reply"]["text"]) == (True, "Hi")
    assert waiting in rows
    assert [mail.recipient for mail in mails(app)] == ["noor@example.com"]
    history = browser.get(f"/dashboard/projects/{project}/testimonials/{shown}").text
    assert "Shop assistant (access token), accepted by owner@example.com" in history
    assert read_types(app).count("proposal.decided") == 9
    assert added["status"] == "accepted"
    activity = browser.get(f"/dashboard/projects/{project}/settings/developers/activity").text
    assert activity.count("accepted the proposal") == 9


def test_declining_tells_the_agent_why(owner, browser, project):
    made = propose(owner, project, "page", {"headline": SCRIPT}, reason="Accepted by the service.")
    text = page(browser, project)
    assert SCRIPT not in text
    assert re.search(r"The agent says</p><blockquote[^>]*>Accepted by the service\.<", text)
    assert decide(browser, project, "declined", made["_id"], note="Too loud.").status_code == 303
    found = read_proposal(owner, project, made["_id"])
    assert (found["status"], found["note"]) == ("declined", "Too loud.")
    assert found["decidedAt"] is not None
    assert (
        owner.get(f"/v1/projects/{project}").json["data"]["publicPageConfig"]["headline"] != SCRIPT
    )
    assert decide(browser, project, "declined", made["_id"]).status_code == 303
    again = decide(browser, project, "accepted", made["_id"])
    assert again.status_code == 409
    assert "this was already decided or withdrawn" in again.text


def test_what_no_longer_holds_is_said_and_the_proposal_stays(app, owner, browser, project):
    row = owner.create_testimonial(project)["_id"]
    gone = propose(owner, project, "testimonial.edit", {"text": "New"}, targetId=row)["_id"]
    page_change = propose(owner, project, "page", {"headline": "From the agent"})["_id"]
    form = {"headline": "From the owner", "before": "{}"}
    browser.post(f"/dashboard/projects/{project}/collect/page", data=form)
    change_testimonial(app, row, status="withdrawn")
    text = page(browser, project)
    assert "Its author has withdrawn it" in text
    answer = decide(browser, project, "accepted", gone, page_change)
    assert answer.status_code == 303
    assert "Accepted: Change the collection page; 1 stayed as it was" in follow(browser, answer)
    answer = decide(browser, project, "accepted", gone, note="Thank you anyway.")
    assert (answer.status_code, "Its author has withdrawn it" in answer.text) == (409, True)
    assert 'class="proposal-row" open' in answer.text
    assert "Thank you anyway." in answer.text
    assert read_proposal(owner, project, gone)["status"] == "waiting"
    assert read_proposal(owner, project, page_change)["status"] == "accepted"


def test_moderators_decide_about_testimonials_and_admins_about_all(
    app, owner, make_caller, project
):
    change = propose(owner, project, "page", {"headline": "Secret headline"})["_id"]
    draft = propose(owner, project, "testimonial.add", {"authorName": "Ida", "text": "Hi"})["_id"]
    people = {}
    for role in ("moderator", "admin"):
        caller = make_caller(f"{role}@example.com", is_claimed=True)
        add_member(app, project, caller, role)
        people[role] = open_browser(app, caller)
    moderator = people["moderator"]
    assert "Secret headline" not in page(moderator, project)
    # Their badge counts what they decide about.
    assert [badge(people[role], project) for role in ("moderator", "admin")] == ["1", "2"]
    assert (
        "Your agent suggests a change" in moderator.get(f"/dashboard/projects/{project}/inbox").text
    )
    # Of the page there is no picture, which only who may decide about it is told.
    path = f"/dashboard/projects/{project}/proposals/{change}/picture"
    assert [each.get(path).status_code for each in people.values()] == [403, 404]
    answer = decide(moderator, project, "accepted", change)
    assert "Only the owner and people who manage" in answer.text
    assert decide(moderator, project, "accepted", change, draft).status_code == 303
    assert read_proposal(owner, project, change)["status"] == "waiting"
    assert read_proposal(owner, project, draft)["status"] == "accepted"
    assert decide(people["admin"], project, "accepted", change).status_code == 303


def test_all_that_would_be_public_is_seen_before(app, owner, browser, project):
    photo = "https://elsewhere.example/face.png"
    draft = {"authorName": "Ida", "text": "Lovely cups.", "authorAvatar": photo}
    propose(owner, project, "testimonial.add", draft | {"submittedAt": "2019-03-04"})
    shown = owner.create_testimonial(project, text="Not bad, and not cheap.")["_id"]
    marks = {"highlights": [[0, 7], [17, 22]]}
    propose(owner, project, "testimonial.edit", marks, targetId=shown)
    long = add_testimonial(app, project, status="pending", text="Good. " * 100)
    propose(owner, project, "testimonial.decide", {"decision": "approve", "ids": [long]})
    propose(owner, project, "testimonial.decide", {"decision": "pin", "ids": [shown]})
    text = page(browser, project)
    assert "Pin: 1 testimonial<" in text
    assert f'src="{photo}"' in text
    assert "4 Mar 2019" in text
    assert "“Not bad”, “cheap”" in text
    assert f'href="/dashboard/projects/{project}/testimonials/{long}"' in text
    # What was decided since isn't decided otherwise unseen.
    assert "Rejected" not in text.partition('id="proposals"')[2]
    change_testimonial(app, long, status="rejected")
    change_testimonial(app, shown, highlights=[[0, 3]])
    proposals = page(browser, project).partition('id="proposals"')[2]
    assert "Rejected" in proposals
    for name in ("Visitor", "Highlighted words"):
        assert f"Changed since this was proposed: {name}." in proposals, name


def test_two_people_at_once_have_one_effect(app, owner, make_caller, browser, project):
    admin = make_caller("admin@example.com", is_claimed=True)
    add_member(app, project, admin, "admin")
    draft = propose(owner, project, "testimonial.add", {"authorName": "Ida", "text": "Hi"})["_id"]
    browsers = [browser, open_browser(app, admin)]
    answers = at_once(2, lambda place: decide(browsers[place], project, "accepted", draft))
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    assert len(owner.get(f"/v1/projects/{project}/testimonials").json["data"]["items"]) == 1


def test_only_what_was_seen(app, owner, browser, project):
    with app.app_context(), write():
        more = {"kind": "page", "actor_kind": "agent", "actor_name": "abcd", "project_id": project}
        db.session.add_all(
            Proposal(values={"headline": f"Number {n}"}, before={"headline": ""}, **more)
            for n in range(30)
        )
    text = page(browser, project)
    seen = re.search(r'class="proposals-all".*?</form>', text, re.DOTALL)
    assert seen
    ids = re.findall(r'name="ids" value="(\w+)"', seen[0])
    assert len(ids) == 20
    later = propose(owner, project, "page", {"headline": "Later"})["_id"]
    assert decide(browser, project, "declined", *ids).status_code == 303
    assert read_proposal(owner, project, later)["status"] == "waiting"
    assert page(browser, project).count('<details class="proposal-row"') == 11


def test_a_picture_that_waits_is_kept_and_old_decisions_go(
    app, owner, browser, project, moved_clock
):
    made = [
        propose(owner, project, "logo", {"imageId": hold_picture(app)})["_id"] for _ in range(2)
    ]
    decide(browser, project, "declined", made[0])
    moved_clock.move(days=3)
    with app.app_context():
        assert sweep()["images"] == 1
        assert db.session.query(Image).count() == 1
    assert read_proposal(owner, project, made[1])["status"] == "waiting"
    moved_clock.move(days=400)
    with app.app_context():
        assert sweep()["proposals"] == 1
    assert owner.get(f"/v1/projects/{project}/proposals/{made[0]}").status_code == 404


def test_what_an_author_erased_goes_from_proposals_too(app, owner, browser, project):
    row = add_testimonial(app, project, text="My name is Rumpel.", author_email="a@example.com")
    kept = owner.create_testimonial(project)["_id"]
    edit = {"text": "The name is Rumpel.", "authorEmail": "b@example.com"}
    made = propose(owner, project, "testimonial.edit", edit, targetId=row)["_id"]
    propose(owner, project, "testimonial.edit", {"text": "Still here."}, targetId=kept)
    propose(owner, project, "page", {"headline": "Well?"})
    added = propose(owner, project, "testimonial.add", {"authorName": "Ida", "text": "Gone."})
    assert decide(browser, project, "accepted", made, added["_id"]).status_code == 303
    new = read_proposal(owner, project, added["_id"])["result"]["testimonialId"]
    with app.app_context():
        lock_for_writing()
        for each in (row, new):
            db.session.delete(db.session.get_one(models.Testimonial, each))
        db.session.commit()
        assert sweep()["proposals"] == 2
    left = owner.get(f"/v1/projects/{project}/proposals")
    assert [each["kind"] for each in left.json["data"]["items"]] == ["page", "testimonial.edit"]
    assert "Rumpel" not in left.text


def tell(app: Flask) -> list[str]:
    """Let the job work; return to whom it wrote of proposals."""
    before = len(mails(app))
    with app.app_context():
        send_proposal_mail()
    return [mail.recipient for mail in mails(app)[before:] if mail.purpose == "proposals"]


def test_one_mail_tells_of_all_that_came_in_a_while(app, owner, make_caller, moved_clock):
    project = owner.create_project(businessName="Kiln & Clay")["_id"]
    for role in ("admin", "moderator"):
        add_member(app, project, make_caller(f"{role}@example.com", is_claimed=True), role)
    moved_clock.move(minutes=1)
    propose(owner, project, "testimonial.add", {"authorName": "Ida", "text": "Hi"})
    assert tell(app) == []
    moved_clock.move(minutes=4)
    propose(owner, project, "page", {"headline": "How was it?"})
    moved_clock.move(minutes=2)
    assert sorted(tell(app)) == ["admin@example.com", "owner@example.com"]
    (mail, *_) = [each for each in mails(app) if each.purpose == "proposals"]
    assert mail.subject == "2 proposals wait for Kiln & Clay"
    assert f"/dashboard/projects/{project}/inbox#proposals" in mail.text
    moved_clock.move(days=2)
    assert tell(app) == []


@pytest.mark.parametrize(("mode", "told"), [("daily", 1), ("never", 0)])
def test_it_follows_the_choice_for_new_testimonials(app, owner, moved_clock, mode, told):
    project = owner.create_project()["_id"]
    form = {"mode": mode}
    browser = open_browser(app, owner)
    assert (
        browser.post(f"/dashboard/projects/{project}/settings/mail", data=form).status_code == 303
    )
    moved_clock.time = moved_clock.time.replace(hour=9, minute=0)
    moved_clock.move(days=1)
    propose(owner, project, "page", {"headline": "How was it?"})
    moved_clock.move(hours=1)
    assert tell(app) == []
    moved_clock.move(hours=23)
    assert len(tell(app)) == told


def test_who_claims_finds_what_is_proposed_in_the_inbox(app):
    client = app.test_client()
    data = init(client, "new@example.com").json["data"]  # type: ignore[index]
    agent = Caller(client, data["accountId"], "new@example.com", data["apiKey"])
    project = agent.create_project(businessName="Kiln & Clay")["_id"]
    made = propose(agent, project, "page", {"headline": "A better one"}, reason="Because.")
    answer = redeem(client, mailed_path(app, "claim"), businessName="Kiln & Clay")
    assert answer.status_code == 303, answer.text
    assert "Change the collection page" in page(client, project)
    assert decide(client, project, "accepted", made["_id"]).status_code == 303
    assert read_proposal(agent, project, made["_id"])["status"] == "accepted"
