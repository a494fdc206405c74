"""A build hook: one unsigned call for all that changed what a website shows."""

import pytest
from flask import Flask

from testimonials.core.audit import EventType
from testimonials.integrations.webhooks.delivery import BUILD_AFTER
from tests.conftest import Caller, MovableClock
from tests.integrations.webhooks.receiver import Hook, Receiver, add_hook

pytestmark = pytest.mark.postgres

# After these a website looks as before.
UNSEEN = {"testimonial.submitted", "request.answered", "proposal.decided"}


@pytest.fixture
def build(app: Flask, owner: Caller, receiver: Receiver) -> Hook:
    return add_hook(app, owner, receiver.url, template="build")


def add(hook: Hook, text: str) -> None:
    """Let something happen that a website shows, and be read."""
    hook.caller.create_testimonial(hook.project, text=text)
    hook.deliver()


def wait(hook: Hook, moved_clock: MovableClock) -> None:
    moved_clock.move(seconds=BUILD_AFTER.total_seconds() + 1)
    hook.deliver()


def test_a_row_of_changes_is_one_call_without_signature_or_words(build, receiver, moved_clock):
    for text in ("Warm bread.", "Good coffee.", "Kind people."):
        add(build, text)
    assert receiver.bodies == []
    wait(build, moved_clock)
    assert receiver.bodies == [b"{}"]
    assert not [name for name in receiver.headers[0] if name.startswith("webhook-")]
    # What happens from then on is another one.
    add(build, "Early, too.")
    wait(build, moved_clock)
    assert receiver.bodies == [b"{}"] * 2
    assert [row.state for row in build.deliveries()] == ["sent", "sent"]


def test_samples_that_go_start_a_build(app, owner, receiver, moved_clock):
    project = owner.create_project(slug="fern", skipDemoTestimonials=False)["_id"]
    build = add_hook(app, owner, receiver.url, project=project, template="build")
    assert owner.delete(f"/v1/projects/{project}/testimonials/demo").status_code == 200
    build.deliver()
    wait(build, moved_clock)
    assert receiver.bodies == [b"{}"]


def test_it_has_no_secret_and_hears_only_of_what_can_change_a_site(build):
    shown = build.call("GET")
    assert (shown["template"], build.secret) == ("build", None)
    known = {each.webhook for each in EventType.known.values() if each.webhook}
    assert known - set(shown["events"]) == UNSEEN
    assert build.call("POST", "/rotate")["secret"] is None
    for events, heard in ((["testimonial.approved"],) * 2, ([], shown["events"])):
        assert build.call("PATCH", body={"events": events})["events"] == heard


def test_one_that_fails_is_tried_again_and_no_reason_to_miss_the_next(build, receiver, moved_clock):
    receiver.behaviour = lambda handler: handler.answer(500)
    for text in ("Warm bread.", "Good coffee."):
        add(build, text)
        wait(build, moved_clock)
    receiver.behaviour = lambda handler: handler.answer(200)
    moved_clock.move(hours=1)
    build.deliver()
    assert [row.state for row in build.deliveries()] == ["sent", "sent"]
