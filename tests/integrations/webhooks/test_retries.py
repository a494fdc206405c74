"""What comes of tries: again later, given up, switched off; shared work, and workers that die."""

import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from testimonials.core.clock import now, to_milliseconds
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.jobs import BackgroundWorker
from testimonials.integrations.webhooks.delivery import (
    MAX_OF_ACCOUNT,
    Busy,
    Leased,
    lease,
    read_events,
)
from testimonials.integrations.webhooks.payloads import new_secret
from testimonials.projects.projects import lock_project
from testimonials.testimonials import models
from testimonials.testimonials.moderation import apply_action
from tests.auth.browsers import open_browser
from tests.auth.links import mails
from tests.conftest import Caller
from tests.integrations.webhooks.receiver import Handler, Receiver, add_hook, receiving
from tests.projects.test_website import serve_website
from tests.support.rows import add_testimonial
from tests.support.servers import wait_for

pytestmark = pytest.mark.postgres


def fail(handler: Handler) -> None:
    handler.answer(500, b"Broken")


def hang(receiver: Receiver) -> threading.Event:
    """Let the receiver answer nobody until the event is set."""
    release = threading.Event()

    def wait(handler: Handler) -> None:
        release.wait(10)
        handler.answer(200)

    receiver.behaviour = wait
    return release


def test_a_delivery_is_tried_for_three_days_and_then_the_endpoint_is_switched_off(
    app, hook, receiver, moved_clock
):
    receiver.behaviour, start = fail, moved_clock.time
    hook.caller.create_testimonial(hook.project)
    tried = []
    for _ in range(20):
        hook.deliver()
        (row,) = hook.deliveries()
        tried.append(round((moved_clock.time - start).total_seconds()))
        if row.state != "due":
            break
        # A moment too early nothing leaves.
        assert row.next_try_at is not None
        moved_clock.time = row.next_try_at - timedelta(milliseconds=1)
        hook.deliver()
        moved_clock.time = row.next_try_at
    hours = [2, 5, 10, 14, 20]
    expected = [0, 5, 300, 1800, *(each * 3600 for each in hours)]
    gaps = [after - before for before, after in zip([0, *tried], tried, strict=False)]
    assert (gaps[:-1], tried[-1]) == (expected, 3 * 24 * 3600)
    assert len(receiver.bodies) == len(tried) == 10
    assert len(set(receiver.ids)) == 1
    assert {(each["status"], each["answer"]) for each in row.attempts} == {(500, "Broken")}
    endpoint = hook.row()
    assert not endpoint.is_active
    because = "It has accepted nothing for three days. The last attempt: Its server answered 500."
    assert endpoint.switched_off_because == because
    (mail,) = [mail for mail in mails(app) if mail.purpose == "webhook-stopped"]
    assert mail.recipient == hook.caller.email
    assert because in " ".join(mail.text.split())
    # Switched on again it has what comes, and what it has missed if it asks for that.
    receiver.behaviour = lambda handler: handler.answer(200)
    since = {"since": "2020-01-01T00:00:00Z"}
    assert hook.call("POST", "/redeliver", since, 422)["code"] == "ENDPOINT_OFF"
    hook.call("PATCH", "", {"active": True})
    hook.deliver()
    assert len(receiver.bodies) == 10
    assert hook.call("POST", "/redeliver", since)["count"] == 1
    hook.deliver()
    assert (len(receiver.bodies), len(set(receiver.ids))) == (11, 1)
    hook.call("POST", "/redeliver", {"deliveryId": row.id})
    hook.deliver()
    assert (len(receiver.bodies), len(set(receiver.ids))) == (12, 1)


def test_a_success_lets_all_go(hook, receiver, moved_clock):
    receiver.behaviour = fail
    for _ in range(5):
        hook.caller.create_testimonial(hook.project)
        hook.deliver()
        moved_clock.move(minutes=10)
    assert hook.call("GET")["failingSince"] is not None
    told = hook.app.test_cli_runner().invoke(args=["doctor"]).stdout
    assert f"testimonials webhooks deliveries {hook.path.rpartition('/')[2]} says why" in told
    receiver.behaviour = lambda handler: handler.answer(200)
    hook.call("POST", "/test")
    hook.deliver()
    hook.deliver()
    assert {row.state for row in hook.deliveries()} == {"sent"}
    assert hook.call("GET")["failingSince"] is None


def test_410_switches_off_at_once(hook, receiver):
    receiver.behaviour = lambda handler: handler.answer(410)
    for _ in range(3):
        hook.caller.create_testimonial(hook.project)
    hook.deliver()
    assert hook.call("GET")["switchedOffBecause"] == "Its server answered 410 Gone."
    assert {row.state for row in hook.deliveries()} == {"failed"}
    sent = len(receiver.bodies)
    hook.caller.create_testimonial(hook.project)
    hook.deliver()
    assert len(receiver.bodies) == sent


def test_retry_after_holds_all(hook, receiver, moved_clock):
    receiver.behaviour = lambda handler: handler.answer(429, Retry_After="120")
    hook.caller.create_testimonial(hook.project)
    hook.deliver()
    hook.caller.patch(f"/v1/projects/{hook.project}/widget-config", {"layout": "list"})
    hook.deliver()
    receiver.behaviour = lambda handler: handler.answer(200)
    for seconds, count in ((119, 2), (2, 4)):
        moved_clock.move(seconds=seconds)
        hook.deliver()
        assert len(receiver.bodies) == count


def test_what_is_about_one_testimonial_waits_for_its_first_retries(hook, receiver, moved_clock):
    row = hook.caller.create_testimonial(hook.project)["_id"]
    receiver.behaviour = fail
    hook.deliver()
    receiver.behaviour = lambda handler: handler.answer(200)
    path = f"/dashboard/projects/{hook.project}/testimonials/{row}/action"
    open_browser(hook.app, hook.caller).post(path, data={"action": "delete"})
    hook.caller.create_testimonial(hook.project)
    hook.deliver()
    types = [each["type"] for each in receiver.verify(hook.secret)]
    # The other one doesn't wait, and its success lets the rest follow in order.
    assert types == ["testimonial.approved"] * 3 + ["testimonial.deleted"]


def test_a_slow_one_holds_up_none(app, owner, hook, receiver):
    release = hang(receiver)
    with receiving() as other:
        beside = add_hook(app, owner, other.url, project=hook.project)
        with app.app_context():
            db.session.execute(text("UPDATE webhook_endpoint SET failing_since = 1"))
            db.session.commit()
        for _ in range(30):
            owner.create_testimonial(hook.project)
        sender = threading.Thread(target=beside.deliver)
        sender.start()
        wait_for(lambda: len(other.bodies) == 30, what="the other's 30")
        assert len(receiver.bodies) <= 2
        release.set()
        sender.join()
        assert len(receiver.bodies) == 30


def test_a_slow_one_does_not_keep_its_thread_from_other_work(app, owner, hook, receiver):
    release = hang(receiver)
    owner.create_testimonial(hook.project)
    with serve_website() as site:
        owner.create_project(website=site.url)

        worker = BackgroundWorker(app, {"webhooks": 60})
        worker.start()
        wait_for(lambda: site.asked, what="the website to be read")
        assert [row.state for row in hook.deliveries()] == ["due"]
        # What came of it is noted although the process ends.
        threading.Timer(0.2, release.set).start()
        worker.stop()
        assert [row.state for row in hook.deliveries()] == ["sent"]


def test_the_slow_endpoints_of_one_account_hold_up_no_other_account(
    app, owner, outsider, hook, receiver
):
    release = hang(receiver)
    for n in range(4):
        add_hook(app, owner, f"{receiver.url}/{n}", project=hook.project)
    for _ in range(6):
        owner.create_testimonial(hook.project)
    with receiving() as other:
        beside = add_hook(app, outsider, other.url, project=outsider.create_project()["_id"])
        sender = threading.Thread(target=beside.deliver)
        sender.start()
        wait_for(
            lambda: len(receiver.bodies) >= MAX_OF_ACCOUNT, what="all that one account may have"
        )
        for _ in range(10):
            outsider.create_testimonial(beside.project)
        # None of the first account's has been answered.
        wait_for(lambda: len(other.bodies) == 10, what="the other account's 10")
        assert len(receiver.bodies) == MAX_OF_ACCOUNT
        release.set()
        sender.join()
        assert len(receiver.bodies) == 30


def test_a_place_that_gets_free_goes_to_the_account_with_few(
    app, owner, outsider, make_caller, receiver
):
    def wait_for_sending(caller: Caller, count: int) -> None:
        project = caller.create_project()["_id"]
        add_hook(app, caller, receiver.url, project=project)
        for _ in range(count):
            caller.create_testimonial(project)

    def take(count: int, under_way: list[Leased]) -> list[Leased]:
        with app.app_context():
            read_events()
            with write():
                return lease(count, Busy(under_way))

    wait_for_sending(owner, 20)
    wait_for_sending(outsider, 20)
    under_way = take(20, [])
    assert sorted(Counter(each.account_id for each in under_way).values()) == [5, 15]
    third = make_caller("third@example.com", is_claimed=True)
    wait_for_sending(third, 1)
    under_way.remove(max(under_way, key=lambda each: each.account_id == owner.account_id))
    assert [each.account_id for each in take(1, under_way)] == [third.account_id]


def test_two_that_send_at_once_send_each_once(app, hook, receiver):
    for _ in range(60):
        add_testimonial(app, hook.project, status="pending")
    with app.app_context():
        project = lock_project(hook.project)
        rows = list(db.session.scalars(db.select(models.Testimonial)))
        lock_for_writing()
        apply_action(project, rows, "approve", "owner@example.com")
        db.session.commit()
    senders = [threading.Thread(target=hook.deliver) for _ in range(2)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    hook.deliver()
    assert len(receiver.ids) == len(set(receiver.ids)) == 60


def test_a_lease_from_before_the_clock_was_set_back_keeps_nothing_from_being_sent(
    app, hook, receiver
):
    hook.caller.create_testimonial(hook.project)
    with app.app_context():
        read_events()
        later = to_milliseconds(now() + timedelta(hours=1))
        db.session.execute(text("UPDATE webhook_delivery SET leased_until = :at"), {"at": later})
        db.session.commit()
    hook.deliver()
    assert len(receiver.bodies) == 1


@pytest.mark.thorough
@pytest.mark.process
def test_what_a_killed_service_had_begun_is_sent_again(start, tmp_path):
    """Killed between the receiver's answer and the note of it; two workers share the rest."""
    with receiving() as receiver:
        settings = {"workers": "2", "webhook_addresses": "any"}
        service = start(**settings)
        key = service.sign_up()
        project = service.call("POST", "/v1/projects", {"slug": "fern"}, key).data["_id"]
        instance = Path(service.environment["TESTIMONIALS_INSTANCE_PATH"])
        engine = create_engine(f"sqlite:///{instance / 'testimonials.db'}")
        secret = new_secret()
        with engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO webhook_endpoint (id, project_id, url, events, secret, read_to, "
                    "is_active, created_by, keeper_id, created_at, updated_at) "
                    "SELECT :id, id, :url, '[]', :secret, '', 1, 'x', account_id, 1, 1 FROM project"
                ),
                {"id": "0" * 24, "url": receiver.url, "secret": secret},
            )

        def kill(handler: Handler) -> None:
            # While this writes, the service can't.
            with engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                handler.answer(200)
                service.kill()

        receiver.behaviour = kill
        body = {"authorName": "Maya", "text": "Good."}
        service.call("POST", f"/v1/projects/{project}/testimonials", body, key)
        wait_for(lambda: service.process.poll() is not None, what="its death")
        first = set(receiver.ids)
        receiver.behaviour = lambda handler: handler.answer(200)
        with engine.begin() as connection:
            # As if its lease had passed.
            connection.execute(text("UPDATE webhook_delivery SET leased_until = 1"))
        service = start(instance=instance, **settings)
        wait_for(lambda: len(receiver.ids) > len(first), what="the second try")
        for place in range(40):
            body = {"authorName": "Maya", "text": f"Good {place}."}
            service.call("POST", f"/v1/projects/{project}/testimonials", body, key)
        wait_for(lambda: len(set(receiver.ids)) >= 41, what="all of them")
        assert service.stop() == 0
    counts = Counter(receiver.ids)
    assert {name for name, count in counts.items() if count > 1} == first
    assert receiver.verify(secret)
