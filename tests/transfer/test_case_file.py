"""The case file: decisions, requests and edits, and the numbers made of it alone."""

import json
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import Text, cast, delete, insert, or_, select

from testimonials.collection.abuse import add_report
from testimonials.collection.models import MailedRequest, RequestBatch, hash_email
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.changed import MAX_CHANGES
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.counts import read_numbers
from testimonials.testimonials.record import begin_record
from testimonials.transfer.archives.writing import reading_snapshot
from testimonials.transfer.case_file import write_case_html, write_case_json
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.commands import run_well
from tests.support.plans import count_statements
from tests.support.rows import add_testimonial

pytestmark = pytest.mark.postgres


@pytest.fixture
def agent(app: Flask, owner: Caller) -> Caller:
    return give_token(app, owner)


def decide(agent: Caller, project: str, id: str, action: str, **more: str) -> None:
    body = {"ids": [id], "decision": action} | more
    assert agent.post(f"/v1/projects/{project}/submissions/decisions", body).status_code == 200


def read_case(app: Flask, project: str, testimonial: str | None = None) -> dict[str, Any]:
    out = BytesIO()
    with app.app_context(), reading_snapshot():
        write_case_json(db.session.get_one(Project, project), out, testimonial)
    case: dict[str, Any] = json.loads(out.getvalue())
    return case


def recompute(case: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that a stranger makes of a case file, by what it says of them."""
    found = [each for each in case["testimonials"] if each["standing"] == "genuine"]
    ratings = [each["rating"] for each in found if each["rating"] is not None]
    for each in case["keptRatings"]:
        ratings += [each["rating"]] * each["count"]
    total = sum(round(rating * 10**9) for rating in ratings)
    stars = [0] * 5
    for rating in ratings:
        stars[int(rating + 0.5) - 1] += 1
    count = len(ratings)
    average = (20 * total // 10**9 + count) // (2 * count) / 10 if count else 0
    return {"average": average, "count": count, "stars": stars, "billionths": total}


def test_the_numbers_are_rebuilt_from_it(app, owner, agent):
    project = owner.create_project(slug="fern")["_id"]
    rows = [
        add_testimonial(app, project, status="pending", rating=rating)
        for rating in (5, 4.5, 4, 3, 2.5, 1, 1)
    ]
    add_testimonial(app, project, rating=None)
    add_testimonial(app, project, rating=2, source="manual")
    add_testimonial(app, project, status="pending", rating=1)
    add_testimonial(app, project, status="spam", rating=1, held_for="links")
    for id in rows[:3]:
        decide(agent, project, id, "approve")
    for id in rows[3:6]:
        decide(agent, project, id, "reject")
    decide(agent, project, rows[6], "set-aside", reason="not_customer")
    # For good, and without a reason: its stars stay.
    with app.app_context(), write():
        db.session.execute(delete(models.Testimonial).where(models.Testimonial.id == rows[5]))
    case = read_case(app, project)
    assert [each["rating"] for each in case["keptRatings"]] == [1]
    with app.app_context():
        numbers = read_numbers(db.session.get_one(Project, project))
    made = recompute(case)
    assert made == {name: case["numbers"][name] for name in made}
    assert (made["average"], made["count"], made["billionths"], tuple(made["stars"])) == (
        numbers.average, numbers.number, numbers.total, numbers.stars
    )  # fmt: skip
    assert made["count"] == 7


def test_low_stars_are_shown_beside_high_ones(app, owner, agent, moved_clock):
    project = owner.create_project(slug="fern")["_id"]
    five = [add_testimonial(app, project, status="pending", rating=5) for _ in range(2)]
    one = [add_testimonial(app, project, status="pending", rating=1) for _ in range(4)]
    moved_clock.move(hours=2)
    for id in five:
        decide(agent, project, id, "approve")
    moved_clock.move(hours=8)
    decide(agent, project, one[0], "reject")
    decide(agent, project, one[1], "set-aside", reason="off_topic")
    decide(agent, project, one[2], "set-aside", reason="spam")
    high, low = read_case(app, project)["byStars"]
    assert (high["stars"], high["received"], high["approved"], high["setAside"]) == (5, 2, 2, {})
    assert (low["received"], low["rejected"], low["waiting"]) == (4, 1, 1)
    assert low["setAside"] == {"off_topic": 1, "spam": 1}
    assert (high["setAsideShare"], low["setAsideShare"]) == (0, 0.5)
    assert high["medianHoursToDecision"] == pytest.approx(2, abs=0.01)
    assert low["medianHoursToDecision"] == pytest.approx(10, abs=0.01)


def test_what_was_set_aside_is_told_when_it_is_deleted_for_good(app, owner, agent):
    """With its reason, and without what would lead back to its author."""
    project = owner.create_project(slug="fern")["_id"]
    ids = [
        add_testimonial(
            app, project, status="pending", rating=1, author_name="Zebulon", text="Mud."
        )
        for _ in range(3)
    ]
    add_testimonial(app, project, rating=5)
    with app.app_context():
        begin_record(project)
    decide(agent, project, ids[0], "set-aside", reason="not_customer")
    decide(agent, project, ids[1], "set-aside", reason="off_topic")
    # Of this one nothing was wrong in the end.
    decide(agent, project, ids[1], "approve")
    decide(agent, project, ids[2], "delete", reason="abusive")
    with app.app_context(), write():
        db.session.execute(delete(models.Testimonial).where(models.Testimonial.id.in_(ids)))
    case = read_case(app, project)
    gone = {each["testimonial"]: each for each in case["setAsideAndDeleted"]}
    assert {id: each["reason"] for id, each in gone.items()} == {
        ids[0]: "not_customer", ids[2]: "abusive"
    }  # fmt: skip
    assert [each["kind"] for each in gone[ids[0]]["decisions"]] == ["received", "set-aside"]
    assert gone[ids[0]]["decisions"][-1]["by"] == "agent"
    low = case["byStars"][-1]
    assert (low["stars"], low["received"]) == (1, 2)
    assert low["setAside"] == {"abusive": 1, "not_customer": 1}
    # The stars of the other one count still.
    assert recompute(case)["stars"] == [1, 0, 0, 0, 1]
    assert recompute(case)["count"] == case["numbers"]["count"]
    assert "Zebulon" not in json.dumps(case)
    page = open_browser(app, owner).post(
        f"/dashboard/projects/{project}/export/case-file.html", buffered=True
    )
    assert "set-aside by agent: rejected, not_customer" in page.text


def test_who_was_asked_is_there_by_list_and_week(app, owner):
    project = owner.create_project(slug="fern")["_id"]
    wrote = add_testimonial(app, project, purchase_reference="A-1")
    now = clock.now()
    with app.app_context(), write():
        account = db.session.get_one(Project, project).account_id
        batch = RequestBatch(
            project_id=project, actor="owner@example.com", subject="How was it?", message="Hi",
            language="en", size=3,
        )  # fmt: skip
        db.session.add(batch)
        db.session.flush()
        for number, columns in enumerate(
            (
                {"answered_at": now, "testimonial_id": wrote, "purchase_reference": "A-1"},
                {"declined_at": now, "purchase_reference": "A-2"},
            )
        ):
            email = f"{number}@example.com"
            made = {"batch_id": batch.id, "sent_at": now, "email": email} | columns
            hashed = hash_email(account, email)
            db.session.add(MailedRequest(project_id=project, email_hash=hashed, **made))
    case = read_case(app, project)
    (listed,) = case["lists"]
    assert listed["week"] == now.strftime("%G-W%V")
    # One of three was deleted since, without an answer; that they were asked is known still.
    assert (listed["asked"], listed["known"], listed["declined"], listed["answered"]) == (
        3,
        2,
        1,
        1,
    )
    assert [each["purchaseReference"] for each in case["requests"]] == ["A-1", "A-2"]
    assert case["requests"][0]["testimonialId"] == wrote
    assert case["orders"] == {"asked": 2, "wrote": 1}
    assert "nobody named here" in case["notes"]["requests"]
    (only,) = read_case(app, project, wrote)["requests"]
    assert only["email"] == "0@example.com"


def test_decisions_edits_consents_and_complaints_are_there(app, owner, agent, tmp_path):
    project = owner.create_project(slug="fern")["_id"]
    consent = {"consent_text": "You may show it.", "consent_language": "en"}
    id = add_testimonial(
        app, project, text="<b>It took one day.", status="pending", rating=2,
        consented_at=clock.now(), is_rewarded=True, source="manual", **consent,
    )  # fmt: skip
    other = add_testimonial(app, project, author_name="Nobody Else")
    decide(agent, project, id, "approve")
    path = f"/v1/projects/{project}"
    change = {"text": "<b>It took two days."}
    assert agent.patch(f"{path}/testimonials/{id}", change).status_code == 200
    decide(agent, project, id, "set-aside", reason="same_person")
    assert agent.patch(f"{path}/widget-config", {"layout": "list"}).status_code == 200
    with app.app_context(), write():
        add_report(db.session.get_one(Project, project), "fraud", "I am Mia", "testimonial", id)
    browser = open_browser(app, owner)
    base = f"/dashboard/projects/{project}"
    answer = browser.post(f"{base}/testimonials/{id}/case-file.json", buffered=True)
    assert answer.headers["Content-Disposition"].endswith(".json")
    case = answer.json
    (row,) = case["testimonials"]
    assert (row["consentText"], row["consentLanguage"], row["rewarded"]) == (
        "You may show it.", "en", True
    )  # fmt: skip
    edit = next(each for each in row["history"] if each["action"] == "edit")
    text = next(each for each in edit["changes"] if each["field"] == "text")
    assert (text["before"], text["after"]) == ("<b>It took one day.", "<b>It took two days.")
    aside = row["history"][-1]
    who = (aside["action"], aside["reason"], aside["byKind"])
    assert who == ("set-aside", "same_person", "token")
    (complaint,) = case["complaints"]
    assert (complaint["reason"], complaint["testimonialId"]) == ("fraud", id)
    # Whoever reported it isn't given away by their words.
    assert "Mia" not in answer.text
    assert "widget.changed" in {each["type"] for each in case["changesOfSettings"]}
    page = browser.post(f"{base}/testimonials/{id}/case-file.html", buffered=True).text
    tree = LexborHTMLParser(page)
    assert [each.text() for each in tree.css("del")][:2] != []
    assert "one" in {each.text() for each in tree.css("del")}
    assert "<b>It" not in page
    assert not tree.css("script, link, img")
    assert "Nobody Else" not in page
    whole = browser.post(f"{base}/export/case-file.html", buffered=True).text
    assert {f"t-{id}", f"t-{other}"} == {each.id for each in LexborHTMLParser(whole).css("article")}
    for name in ("fern.json", "fern.html"):
        run_well(app, "projects", "case-file", "fern", str(tmp_path / name))
    assert json.loads((tmp_path / "fern.json").read_text())["numbers"]["count"] == 0
    assert (tmp_path / "fern.html").read_text().startswith(whole[:40])
    path = f"{base}/testimonials/{'0' * 24}/case-file.json"
    assert browser.post(path, buffered=True).status_code == 404


def test_the_api_answers_it_once_until_it_changes(app, owner, agent):
    project = owner.create_project(slug="fern")["_id"]
    add_testimonial(app, project, rating=4)
    url = f"/v1/projects/{project}/case-file"
    first = agent.client.get(url, buffered=True, headers=agent.headers)
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "private, no-cache")
    assert recompute(first.json["data"])["average"] == 4
    seen = {"If-None-Match": first.headers["ETag"]}
    assert agent.client.get(url, buffered=True, headers=agent.headers | seen).status_code == 304
    page = agent.client.get(url, buffered=True, headers=agent.headers | {"Accept": "text/html"})
    assert (page.mimetype, page.headers["ETag"]) != ("application/json", first.headers["ETag"])
    add_testimonial(app, project, rating=3)
    assert agent.client.get(url, buffered=True, headers=agent.headers | seen).status_code == 200


def test_statements_rise_by_as_many_for_each_thousand(app, owner):
    project = owner.create_project(slug="fern")["_id"]

    def fill(count: int) -> None:
        now = clock.now() - timedelta(days=1)
        rows = [
            {
                "id": new_identifier(), "project_id": project, "status": "approved", "rating": 5,
                "source": "public_page", "author_name": "Li", "author_role": "", "text": "Good.",
                "submitted_at": now, "created_at": now, "updated_at": now,
            }
            for _ in range(count)
        ]  # fmt: skip
        with app.app_context(), write():
            db.session.execute(insert(models.Testimonial), rows)

    def count(form: Any) -> int:
        with app.app_context(), reading_snapshot():
            found = db.session.get_one(Project, project)
            return count_statements(db.engine, lambda: form(found, BytesIO()))

    told = []
    for more in (10, 990, 1000):
        fill(more)
        told.append((count(write_case_json), count(write_case_html)))
    few, thousand, two = told
    assert few[0] == few[1]
    assert two[0] - thousand[0] <= 8
    assert thousand[0] - few[0] <= 8
    assert two == (two[0], two[0])


def list_changes(case: dict[str, Any]) -> dict[str, list[tuple[Any, Any]]]:
    """Return what became of each field, oldest first."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    for each in reversed(case["changesOfSettings"]):
        for change in each["changes"] or ():
            told = found.setdefault(change["field"], [])
            told.append((change.get("before"), change.get("after")))
    return found


def test_settings_are_told_from_what_to_what(app, owner, agent):
    """Each kind of setting by the door that changes it, however often within the hour."""
    project = owner.create_project(slug="fern")["_id"]
    path = f"/v1/projects/{project}"
    step = {"kind": "code", "title": "Thanks", "text": "10% off", "code": "FERN10", "until": None}
    for address, change in (
        ("widget-config", {"layout": "list"}),
        ("widget-design", {"minRating": 4, "tags": ["good"]}),
        ("widget-design", {"minRating": 0}),
        ("page-config", {"headline": "So?", "collectFields": {"rating": False}}),
        ("page-design", {"asksInsider": True, "steps": [step], "signature": "Mira Fern"}),
    ):
        answer = agent.patch(f"{path}/{address}", change)
        assert answer.status_code == 200, answer.text
    told = list_changes(read_case(app, project))
    assert told["widgetConfig.layout"] == [("masonry", "list")]
    assert told["widgetDesign.minRating"] == [(0, 4), (4, 0)]
    assert told["widgetDesign.tags"] == [(None, ["good"])]
    assert told["pageConfig.headline"][0][1] == "So?"
    assert told["pageConfig.collectFields.rating"] == [(True, False)]
    assert told["pageDesign.asksInsider"] == [(False, True)]
    (text,) = [name for name in told if name.startswith("pageDesign.steps.") and "text" in name]
    assert told[text] == [(None, "10% off")]
    (code,) = [name for name in told if name.endswith(".code")]
    assert told[code] == told["pageDesign.signature"] == [(None, None)]
    with app.app_context():
        assert not db.session.scalars(
            select(Event.id).where(
                or_(cast(Event.details, Text).contains(each) for each in ("FERN10", "Mira"))
            )
        ).all()
    browser = open_browser(app, owner)
    base = f"/dashboard/projects/{project}"
    page = browser.post(f"{base}/export/case-file.html", buffered=True).text
    assert "widgetDesign.minRating: <del>0</del>" in page
    activity = browser.get(f"{base}/settings/developers/activity").text
    assert "widgetDesign.minRating: 0 → 4" in activity


def test_forms_widgets_and_their_end_are_told(app, owner, agent):
    project = owner.create_project(slug="fern")["_id"]
    path = f"/v1/projects/{project}"
    form = {"title": "Menu", "headline": "Was it good?"}
    assert agent.post(f"{path}/forms", form).status_code == 200
    assert agent.patch(f"{path}/forms/menu", {"headline": "And now?"}).status_code == 200
    assert agent.client.delete(f"{path}/forms/menu", headers=agent.headers).status_code == 200
    told = list_changes(read_case(app, project))
    assert told["menu.design.headline"] == [("Was it good?", "And now?"), ("And now?", None)]


def test_what_changed_very_often_has_its_first_and_last_value(app, owner, agent):
    project = owner.create_project(slug="fern")["_id"]
    path = f"/v1/projects/{project}/widget-design"
    assert agent.patch(path, {"radius": 0}).status_code == 200
    for number in range(MAX_CHANGES + 5):
        assert agent.patch(path, {"minRating": 1 + number % 5}).status_code == 200
    told = list_changes(read_case(app, project))
    assert told["widgetDesign.radius"][0][1] == 0
    assert told["widgetDesign.minRating"][0] == (0, 1)
    assert told["widgetDesign.minRating"][-1][1] == 1 + (MAX_CHANGES + 4) % 5
    assert sum(len(each) for each in told.values()) == MAX_CHANGES
