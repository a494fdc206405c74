"""The checklist above the inbox: its steps are done by facts."""

import re

import pytest
from flask import Flask

from tests.collection.requests.asking import ask
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.support.rows import change_project

STEPS = ("look", "brand", "share", "approve", "embed")
TITLES = {
    "Look at your widget": "look", "Add your brand": "brand", "Share the link": "share",
    "Approve what comes in": "approve", "Put it on your site": "embed",
}  # fmt: skip


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="fern", businessName="Fern", skipDemoTestimonials=False)


def done_on(page: str) -> set[str]:
    parts = page.split('<li class="first-step')[1:]
    assert len(parts) == len(STEPS)
    found = set()
    for part in parts:
        title = re.search(r"<h3>(.*?)</h3>", part)
        if part.startswith(" is-done"):
            found.add(TITLES[title[1]])
    return found


def done(inbox: Inbox) -> set[str]:
    return done_on(inbox.get("inbox").text)


def press(inbox: Inbox, do: str) -> str:
    answer = inbox.client.post(f"{inbox.base}/checklist", data={"do": do})
    assert answer.status_code == 303
    return answer.headers["Location"]


def see_widget(inbox: Inbox) -> None:
    answer = inbox.client.get(
        f"/widget/{inbox.project}/feed", headers={"Origin": "https://fern.example"}
    )
    assert answer.status_code == 200


def test_each_step_is_done_by_what_happens_until_all_is_gone(inbox: Inbox) -> None:
    assert done(inbox) == set()
    assert inbox.client.post(f"{inbox.base}/checklist", data={"do": "fly"}).status_code == 400
    assert press(inbox, "look").endswith(f"/widget/{inbox.project}")
    assert done(inbox) == {"look"}
    see_widget(inbox)
    assert done(inbox) == {"look", "embed"}
    assert "Seen on <bdi>fern.example</bdi>" in inbox.get("inbox").text
    (received,) = inbox.receive("Hannah")
    assert done(inbox) == {"look", "embed", "share"}
    inbox.act(received, "reject")
    # A layout is no brand.
    inbox.owner.patch(f"/v1/projects/{inbox.project}/widget-config", {"layout": "list"})
    assert done(inbox) == {"look", "embed", "share", "approve"}
    change_project(inbox.app, inbox.project, page_config={"headline": "Tell us"})
    assert "Getting started" not in inbox.get("inbox").text
    assert "Show checklist" not in inbox.get("settings").text


def test_an_approval_is_a_review_a_colour_a_brand_and_the_list_can_be_hidden(inbox: Inbox) -> None:
    inbox.act(inbox.receive("Hannah")[0], "approve")
    change_project(inbox.app, inbox.project, page_config={"buttonColor": "#10B981"})
    assert done(inbox) == {"share", "approve", "brand"}
    assert "Show checklist" not in inbox.get("settings").text
    assert press(inbox, "hide") == f"{inbox.base}/inbox"
    assert "Getting started" not in inbox.get("inbox").text
    assert "Show checklist" in inbox.get("settings").text
    press(inbox, "show")
    assert "Getting started" in inbox.get("inbox").text


def test_a_copied_link_is_sharing(inbox: Inbox) -> None:
    answer = inbox.client.post(f"{inbox.base}/checklist", data={"do": "share"}, headers=JSON)
    assert (answer.json, done(inbox)) == ({"ok": True}, {"share"})


def test_asking_by_mail_is_sharing(inbox: Inbox) -> None:
    ask(inbox.client, inbox.project, "Noor <noor@example.com>")
    assert done(inbox) == {"share"}
