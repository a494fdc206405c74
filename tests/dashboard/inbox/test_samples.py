"""Samples in the inbox: removed at once, or kept without being asked again."""

import pytest
from flask import Flask

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox

LINE = "samples show in your widget until you remove them."


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, skipDemoTestimonials=False)


def settle(inbox: Inbox, choice: str):  # type: ignore[no-untyped-def]
    return inbox.client.post(f"{inbox.base}/samples", data={"samples": choice}, headers=JSON)


def test_kept_samples_are_not_asked_about_again(inbox: Inbox) -> None:
    assert LINE in inbox.get("inbox?status=all").text
    assert settle(inbox, "keep").status_code == 200
    assert LINE not in inbox.get("inbox?status=all").text
    assert len(inbox.shown()) == 6


def test_removing_all_can_be_undone_and_touches_nothing_else(inbox: Inbox) -> None:
    inbox.owner.create_testimonial(inbox.project, authorName="Real")
    answer = settle(inbox, "remove")
    assert answer.json["notice"]["text"] == "Removed 6 samples"
    assert inbox.shown() == ["Real"]
    assert LINE not in inbox.get("inbox?status=all").text
    assert settle(inbox, "remove").status_code == 409
    inbox.undo(answer)
    assert len(inbox.shown()) == 7
