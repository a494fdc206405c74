"""What others are told: which events, about what, in which order, and to whom."""

import re
from collections import Counter
from typing import Any

import pytest

from testimonials.auth.tokens import Scope
from testimonials.collection.request_mail import send_due_requests
from testimonials.core.extensions import db
from testimonials.integrations.webhooks.delivery import Dispatcher
from testimonials.integrations.webhooks.log import delete_old_deliveries
from testimonials.integrations.webhooks.payloads import MAX_BODY_BYTES
from testimonials.transfer.tables import jobs
from tests.auth.tokens import give_token
from tests.collection.authors.authors import Visitor
from tests.collection.requests.asking import ask, form_of, read_requests, requests_to
from tests.integrations.webhooks.receiver import Hook, Receiver
from tests.support.commands import run
from tests.support.plans import explain_statements
from tests.support.rows import add_testimonial
from tests.support.shapes import data_of

JSON = {"Accept": "application/json"}
EDITED = {
    "author_name": "Maya", "text": "Warm bread!", "submitted_on": "2024-01-01", "tags": "rye",
}  # fmt: skip


def read_told(hook: Hook, **query: Any) -> list[dict[str, Any]]:
    answer = hook.caller.client.get("/v1/events", headers=hook.token, query_string=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json["data"]["items"])  # type: ignore[index]


def take(hook: Hook, receiver: Receiver) -> list[tuple[str, dict[str, Any]]]:
    """Let everything be sent; return the types and data of what came, verified."""
    hook.deliver()
    came = [(each["type"], each["data"]) for each in receiver.verify(hook.secret)]
    receiver.bodies.clear()
    receiver.headers.clear()
    return came


def test_what_happens_to_a_testimonial_is_told_signed_and_in_order(hook, receiver, browser):
    row = hook.caller.create_testimonial(hook.project, text="Warm bread.", rating=5)
    base = f"/dashboard/projects/{hook.project}"
    here = f"{base}/testimonials/{row['_id']}"
    ((type, data),) = take(hook, receiver)
    assert (type, data) == ("testimonial.approved", row | {"tags": []})
    for path, form in (
        (here, EDITED), (f"{here}/reply", {"reply": "Thank you"}),
        (f"{here}/highlights", {"words": "bread"}), (f"{here}/action", {"action": "pin"}),
        (f"{here}/action", {"action": "reject"}), (f"{here}/action", {"action": "delete"}),
        (f"{here}/action", {"action": "restore"}), (f"{base}/settings/live", {"live": "false"}),
    ):  # fmt: skip
        browser.post(path, data=form)
    told = take(hook, receiver)
    expected = ["updated"] * 4 + ["rejected", "deleted", "updated"]
    of_it = [type.partition(".")[2] for type, data in told if data["_id"] == row["_id"]]
    assert of_it == expected
    assert {tuple(data["tags"]) for type, data in told if data["_id"] == row["_id"]} == {("rye",)}
    # What is sent is as it is now.
    assert {data.get("reply", {}).get("text") for type, data in told if "reply" in data} == {
        "Thank you"
    }
    listed = [each for each in read_told(hook) if "testimonialId" in each]
    assert [each["type"] for each in listed] == ["testimonial.approved"] + [
        f"testimonial.{each}" for each in expected
    ]
    assert {each["testimonialId"] for each in listed} == {row["_id"]}
    assert listed[0]["actor"]["kind"] == "agent"
    assert listed[1]["actor"] == {"kind": "person", "name": "The owner or a colleague"}


def test_a_decision_about_many_is_one_event_and_a_message_for_each(app, hook, receiver, browser):
    states = ("pending", "pending", "rejected")
    rows = [add_testimonial(app, hook.project, status=state) for state in states]
    add_testimonial(app, hook.project, status="demo")
    base = f"/dashboard/projects/{hook.project}"
    done = browser.post(
        f"{base}/inbox/bulk?status=all", data={"action": "approve", "all": "1"}, headers=JSON
    )
    (event,) = read_told(hook)
    assert (event["type"], event["count"]) == ("testimonial.approved", 3)
    assert "testimonialId" not in event
    came = take(hook, receiver)
    assert {type for type, _ in came} == {"testimonial.approved"}
    assert sorted(data["_id"] for _, data in came) == sorted(rows)
    # What was put back differs by what each was before.
    undo = {"undo": done.json["notice"]["undo_token"]}  # type: ignore[index]
    assert browser.post(f"{base}/inbox/undo", data=undo, headers=JSON).status_code == 200
    kinds = Counter(type for type, _ in take(hook, receiver))
    assert kinds == {"testimonial.updated": 2, "testimonial.rejected": 1}
    assert [each.get("count") for each in read_told(hook, after=event["id"])] in (
        [2, None], [None, 2],
    )  # fmt: skip
    browser.post(f"{base}/inbox/bulk?status=all", data={"action": "delete", "all": "1"})
    kinds = Counter(type for type, _ in take(hook, receiver))
    # Of samples nobody is told.
    assert kinds == {"testimonial.deleted": 3}


def test_the_longest_words_are_told_and_a_body_is_never_too_large(hook, receiver, browser):
    line, text = "\U0001f600" * 120, "\U0001f600" * 2000
    words = {"authorName": line, "authorRole": line, "authorCompany": line, "text": text}
    row = hook.caller.create_testimonial(hook.project, **words)
    here = f"/dashboard/projects/{hook.project}/testimonials/{row['_id']}"
    browser.post(f"{here}/reply", data={"reply": "\U0001f600" * 1000})
    data = take(hook, receiver)[-1][1]
    assert (data["text"], len(data["reply"]["text"])) == (text, 1000)
    people = [{"email": f"{n}@example.com", "name": line[:110]} for n in range(45)]
    proposal = {"kind": "request", "values": {"people": people}}
    made = data_of(hook.caller.post(f"/v1/projects/{hook.project}/proposals", proposal))
    form = {"decision": "declined", "ids": made["_id"]}
    browser.post(f"/dashboard/projects/{hook.project}/inbox/proposals", data=form)
    short = {"projectId": hook.project, "_id": made["_id"]}
    assert take(hook, receiver) == [("proposal.decided", short)]
    assert all(len(each.body.encode()) < MAX_BODY_BYTES for each in hook.deliveries())


def test_what_is_held_as_spam_is_told_once_it_is_released(app, hook, receiver, browser):
    visitor = Visitor(app.test_client(), hook.project, "fern")
    visitor.write(subject="Cheap", text="Buy now")
    row = visitor.row()
    here = f"/dashboard/projects/{hook.project}/testimonials/{row.id}/action"
    assert row.status == "spam"
    for action in ("delete", "restore"):
        browser.post(here, data={"action": action})
    assert (take(hook, receiver), read_told(hook)) == ([], [])
    browser.post(here, data={"action": "release"})
    ((type, data),) = take(hook, receiver)
    assert (type, data["_id"], data["status"]) == ("testimonial.submitted", row.id, "pending")
    # What the owner takes for spam was told before.
    browser.post(here, data={"action": "set-aside", "reason": "spam"})
    ((type, data),) = take(hook, receiver)
    assert (type, data["status"], data["setAside"]) == ("testimonial.rejected", "spam", "spam")
    browser.post(here, data={"action": "release"})
    assert [type for type, _ in take(hook, receiver)] == ["testimonial.updated"]


def test_of_authors_no_word_taken_back_is_told(app, hook, receiver):
    visitor = Visitor(app.test_client(), hook.project, "fern")
    path = visitor.write(text="Kind people")
    row = visitor.row()
    ((type, data),) = take(hook, receiver)
    assert (type, data["text"]) == ("testimonial.submitted", "Kind people")
    assert data["authorEmail"] == "noor@example.com"
    visitor.post(f"{path}/correct", text="Kinder people", name="Noor", consent="yes")
    visitor.post(f"{path}/withdraw")
    last = [("testimonial.updated", {}), ("testimonial.withdrawn", {})]
    short = {"_id": row.id, "projectId": hook.project}
    # Nothing was sent in between, so the words are gone from the correction as well.
    expected = [(type, short | {"status": "withdrawn"}) for type, _ in last]
    assert take(hook, receiver) == expected
    visitor.post(path, consent="yes")
    visitor.post(f"{path}/delete")
    assert take(hook, receiver) == [("testimonial.updated", short), ("testimonial.deleted", short)]
    actors = {tuple(each["actor"].values()) for each in read_told(hook)}
    assert actors == {("visitor", "The author")}
    networks = {each.body for each in hook.deliveries()}
    assert any("Kind people" in body for body in networks)
    with app.app_context():
        delete_old_deliveries(1000)
        db.session.commit()
    # The log forgets the words too.
    assert {each.body for each in hook.deliveries()} == {""}


def test_answers_are_told(app, hook, receiver, browser):
    ask(browser, hook.project, "noor@example.com")
    with app.app_context():
        send_due_requests()
    (mail,) = requests_to(app)
    page = app.test_client().get(form_of(mail)).text
    form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    words = {"name": "Noor", "text": "Good", "consent": "yes", "subject": ""}
    answer = app.test_client().post("/fern", data=form | words)
    assert answer.status_code == 303, answer.text
    submitted, answered = take(hook, receiver)
    assert submitted[0] == "testimonial.submitted"
    request = read_requests(app)["noor@example.com"].id
    assert answered == (
        "request.answered",
        {"projectId": hook.project, "testimonialId": submitted[1]["_id"], "requestId": request},
    )


def test_what_became_of_a_proposal_is_told_to_who_made_it(hook, receiver, browser):
    path = f"/v1/projects/{hook.project}/proposals"
    change = {"kind": "page", "values": {"headline": "How was it?"}, "reason": "Shorter"}
    made = hook.caller.post(path, change).json["data"]  # type: ignore[index]
    assert take(hook, receiver) == []
    form = {"decision": "accepted", "ids": made["_id"]}
    browser.post(f"/dashboard/projects/{hook.project}/inbox/proposals", data=form)
    came = dict(take(hook, receiver))
    assert came.keys() == {"proposal.decided", "project.updated"}
    decided = came["proposal.decided"]
    assert (decided["_id"], decided["status"]) == (made["_id"], "accepted")
    assert came["project.updated"]["publicPageConfig"]["headline"] == "How was it?"


def test_who_reads_on_from_an_event_misses_no_repetition(hook, receiver, browser, moved_clock):
    """An editor that saves by itself makes one event, which comes again under a new id."""
    page = f"/v1/projects/{hook.project}/widget-config"
    seen = ""
    for layout in ("list", "masonry"):
        hook.caller.patch(page, {"layout": layout})
        (event,) = read_told(hook, after=seen) if seen else read_told(hook)
        assert event["type"] == "project.updated"
        ((type, data),) = take(hook, receiver)
        assert (type, data["widgetConfig"]["layout"]) == ("project.updated", layout)
        seen = event["id"]
    assert len(read_told(hook)) == 1
    moved_clock.move(hours=2)
    hook.caller.patch(page, {"layout": "list"})
    assert len(read_told(hook)) == 2


def test_an_import_in_parts_is_one_event_of_which_each_reader_gets_each_part_once(
    app, hook, receiver, tmp_path, monkeypatch
):
    monkeypatch.setattr(jobs, "BATCH_ROWS", 2)
    file, came = tmp_path / "file.csv", 0
    for start in (0, 5):
        lines = [f"Person {place},Words {place}" for place in range(start + 5)]
        file.write_text("\n".join(["Name,Review", *lines]))
        run(app, "testimonials", "import", "fern", str(file))
        told = take(hook, receiver)
        assert len({data["_id"] for _, data in told}) == len(told) == 5
        came += len(told)
    (event,) = read_told(hook)
    assert (event["type"], event["count"], came) == ("testimonial.updated", 10, 10)


def test_the_list_goes_on_by_id_and_tells_a_token_of_its_project_alone(app, hook, owner):
    other = owner.create_project(slug="other")["_id"]
    for project in (hook.project, other, hook.project):
        owner.create_testimonial(project)
    client, path = owner.client, "/v1/events?type=testimonial.approved&limit=2"
    first = client.get(path, headers=hook.token)
    page = first.json["data"]  # type: ignore[index]
    assert page["next"] == page["items"][-1]["id"]
    assert f"after={page['next']}" in first.headers["Link"]
    rest = client.get(f"{path}&after={page['next']}", headers=hook.token).json["data"]  # type: ignore[index]
    told = [each["projectId"] for each in (*page["items"], *rest["items"])]
    assert (told, rest["next"]) == ([hook.project, other, hook.project], None)
    by_token = give_token(app, owner, Scope.PUBLISH)
    by_token.create_testimonial(other)
    narrow = give_token(app, owner, Scope.READ, project_id=other).headers
    items = client.get("/v1/events", headers=narrow).json["data"]["items"]  # type: ignore[index]
    assert {each["projectId"] for each in items} == {other}
    assert items[-1]["actor"] == {"kind": "token", "name": "Helper (access token)"}
    foreign = f"/v1/events?projectId={hook.project}"
    assert client.get(foreign, headers=narrow).status_code == 404
    for wrong in ("after=1", "type=session.started", "projectId=x", "limit=0"):
        assert client.get(f"/v1/events?{wrong}", headers=narrow).status_code == 400
    draft = give_token(app, owner, Scope.DRAFT).headers
    assert client.get("/v1/events", headers=draft).status_code == 403


def test_reading_the_record_never_reads_all_of_it(app, backend, hook):
    if backend == "postgresql":
        pytest.skip("PostgreSQL reads a small table whole, whatever indexes it has.")

    def work() -> None:
        hook.caller.create_testimonial(hook.project)
        read_told(hook)
        Dispatcher().run()

    with app.app_context():
        plans = [
            *explain_statements(db.engine, work, "event"),
            *explain_statements(db.engine, work, "webhook_delivery"),
            *explain_statements(db.engine, work, "webhook_endpoint"),
        ]
    assert len(plans) >= 8
    scanned = [plan for plan in plans if re.search(r"SCAN (event|webhook_delivery|earlier)", plan)]
    assert scanned == []
