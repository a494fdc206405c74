"""Changes of thousands, in parts: others write in between, and an end half-way leaves it right."""

import threading
from collections.abc import Callable

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.db import transactions
from testimonials.core.event_lists import read_after
from testimonials.projects.models import Project
from testimonials.testimonials import history
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.core.events import read_events
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.dashboard.transfer.imports import import_all
from tests.support.rows import change_project, count_rows, read_testimonials
from tests.support.servers import PATIENCE

pytestmark = [pytest.mark.postgres, pytest.mark.recount]

OnPause = Callable[[Callable[[int], None]], list[int]]
SIX = "Name,Review\n" + "".join(f"P{number},Words {number}\n" for number in range(6))


class Killed(Exception):
    """Stands for the end of the process: what was not committed is gone."""


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, skipDemoTestimonials=True)


@pytest.fixture
def on_pause(monkeypatch: pytest.MonkeyPatch) -> OnPause:
    """Make parts of 4, and return what lets a function run between them, in another thread."""
    monkeypatch.setattr(history, "ROWS", 4)

    def listen(then: Callable[[int], None]) -> list[int]:
        pauses: list[int] = []

        def pause() -> None:
            pauses.append(len(pauses))
            if threading.current_thread() is threading.main_thread():
                then(len(pauses))

        monkeypatch.setattr(transactions, "let_others_write", pause)
        return pauses

    return listen


def kill_at(number: int) -> Callable[[int], None]:
    def kill(pause: int) -> None:
        if pause == number:
            raise Killed

    return kill


def run_beside(work: Callable[[], object]) -> None:
    beside = threading.Thread(target=work, daemon=True)
    beside.start()
    beside.join(PATIENCE)
    assert not beside.is_alive(), "it had to wait"


def count_states(inbox: Inbox) -> dict[str, int]:
    rows = read_testimonials(inbox.app, inbox.project)
    states = ["trash" if row.deleted_at else row.status for row in rows]
    return {state: states.count(state) for state in states}


def find_events(inbox: Inbox, type: str) -> list[Event]:
    """Return the events of a type about more than one testimonial."""
    events = read_events(inbox.app, inbox.owner.account_id, type=type)
    return [event for event in events if event.is_of_many]


def test_others_write_between_the_parts(app, inbox, on_pause):
    inbox.fill(30)
    write = lambda _: run_beside(lambda: inbox.owner.create_testimonial(inbox.project))  # noqa: E731
    pauses = on_pause(write)
    done = inbox.bulk("reject", all="1", status="pending")
    assert done.json["notice"]["text"] == "Rejected: 30"
    assert len(pauses) == 7
    assert count_states(inbox) == {"rejected": 30, "approved": 7}
    (event,) = find_events(inbox, "testimonial.rejected")
    assert (event.times, event.action) == (30, "reject")
    with app.app_context():
        told = [each for each in read_after(inbox.project, "", 100) if each.type == event.type]
        assert len({each.testimonial_id for each in told}) == len(told) == 30
        # Somebody who has read to the second part hears of the others alone.
        later = read_after(inbox.project, told[7].id, 100)
        assert len([each for each in later if each.type == event.type]) == 22
    undone = inbox.undo(done)
    assert undone.json["notice"]["text"] == "Undone (Rejected: 30)."
    assert count_states(inbox) == {"pending": 30, "approved": 14}
    (event,) = find_events(inbox, "testimonial.updated")
    assert event.times == 30


def test_what_an_end_half_way_has_done_can_be_undone(inbox, on_pause):
    inbox.fill(10)
    on_pause(kill_at(2))
    assert inbox.bulk("approve", all="1", status="pending").status_code == 500
    assert count_states(inbox) == {"approved": 8, "pending": 2}
    assert {"approved": 8, "pending": 2}.items() <= inbox.counts().items()
    assert [event.times for event in find_events(inbox, "testimonial.approved")] == [8]
    on_pause(kill_at(1))
    assert inbox.client.post(f"{inbox.base}/inbox/undo").status_code == 500
    assert count_states(inbox) == {"approved": 4, "pending": 6}
    on_pause(lambda _: None)
    page = inbox.client.post(f"{inbox.base}/inbox/undo", follow_redirects=True).text
    assert "Undone (Approved: 4)." in page
    assert count_states(inbox) == {"pending": 10}
    assert inbox.client.post(f"{inbox.base}/inbox/undo").status_code == 409
    assert count_states(inbox) == {"pending": 10}


def test_no_part_is_changed_of_a_deleted_one(app, inbox, on_pause):
    inbox.fill(10)
    gone = {"deleted_at": clock.now()}
    on_pause(lambda _: run_beside(lambda: change_project(app, inbox.project, **gone)))
    assert inbox.bulk("approve", all="1", status="pending").status_code == 404
    assert count_states(inbox) == {"approved": 4, "pending": 6}


def test_a_call_in_parts_is_made_once(app, inbox, on_pause):
    inbox.fill(10)
    undo = inbox.bulk("approve", all="1", status="pending").json["notice"]["undo_token"]
    agent = give_token(app, inbox.owner, Scope.PUBLISH)
    path, body, key = f"/v1/projects/{inbox.project}/undo", {"undo": undo}, {"Idempotency-Key": "k"}

    def send() -> TestResponse:
        return agent.client.post(path, json=body, headers=agent.headers | key)

    pauses = on_pause(lambda _: None)
    dry = agent.post(f"{path}?dryRun=true", body)
    assert (dry.json["data"], len(pauses)) == ({"undoneCount": 10}, 2)
    assert count_states(inbox) == {"approved": 10}
    on_pause(kill_at(1))
    assert send().status_code == 500
    assert count_states(inbox) == {"approved": 6, "pending": 4}
    # Of two at once, both get the answer of the one that was done first.
    answers: list[TestResponse] = []
    on_pause(lambda _: run_beside(lambda: answers.append(send())))
    answers.append(send())
    assert count_states(inbox) == {"pending": 10}
    assert [answer.status_code for answer in answers] == [200, 200]
    assert (answers[0].data, answers[1].headers["Idempotent-Replayed"]) == (answers[1].data, "true")


def test_undoing_an_import_goes_on(app, inbox, on_pause):
    path = import_all(app, inbox, SIX).request.path
    on_pause(kill_at(1))
    assert inbox.client.post(f"{path}/undo").status_code == 500
    assert count_states(inbox) == {"trash": 4, "approved": 2}
    assert f"{path}/undo" in inbox.client.get(path).text
    on_pause(lambda _: None)
    page = inbox.client.post(f"{path}/undo", follow_redirects=True).text
    assert "Moved 2 testimonials to the trash" in page
    assert "Undone" in page
    assert count_states(inbox) == {"trash": 6}


@pytest.mark.parametrize(
    "arguments", ["projects delete {project} --yes", "accounts delete {account} --yes", "prune"]
)
def test_what_goes_for_good_goes_in_parts(app, inbox, outsider, on_pause, arguments):
    """Cut short, it is seen nowhere and can't come back, and the sweep removes the rest."""
    inbox.fill(10)
    theirs = outsider.create_project(skipDemoTestimonials=True)["_id"]
    if arguments == "prune":
        change_project(app, inbox.project, deleted_at=clock.EPOCH)
    names = {"project": inbox.project, "account": inbox.owner.account_id}
    command = arguments.format(**names).split()
    write_too = lambda _: run_beside(lambda: outsider.create_testimonial(theirs))  # noqa: E731

    def end(pause: int) -> None:
        write_too(pause)
        raise Killed

    on_pause(end)
    assert isinstance(app.test_cli_runner().invoke(args=command).exception, Killed)
    assert count_states(inbox) == {"pending": 6}
    assert inbox.owner.get(f"/v1/projects/{inbox.project}").status_code in (401, 404)
    assert "take-back" not in inbox.client.get("/dashboard").text
    pauses = on_pause(write_too)
    assert app.test_cli_runner().invoke(args=["prune"]).exit_code == 0
    assert len(pauses) == 1
    assert count_states(inbox) == {}
    assert count_rows(app, Project) == 1
