"""The checklist above the inbox: its steps are done by facts."""

import re

import pytest
from flask import Flask

from testimonials.extensions import begin_write, db
from testimonials.projects import models
from tests.auth.browsers import open_browser
from tests.collection.requests.asking import ask
from tests.conftest import Caller, MakeCaller, MovableClock
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox

STEPS = ("look", "brand", "share", "approve", "embed")
TITLES = {
    "Look at your widget": "look",
    "Add your brand": "brand",
    "Share the link": "share",
    "Approve what comes in": "approve",
    "Put it on your site": "embed",
}


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    """The owner's first project, with samples."""
    return open_inbox(app, owner, slug="fern", businessName="Fern", skipDemoTestimonials=False)


def done_on(page: str) -> set[str]:
    """Return the steps that a page shows as done."""
    parts = page.split('<li class="first-step')[1:]
    assert len(parts) == len(STEPS)
    found = set()
    for part in parts:
        title = re.search(r"<h3>(.*?)</h3>", part)
        assert title
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


def test_a_new_project_has_five_steps_to_go(inbox: Inbox) -> None:
    page = inbox.get("inbox").text
    assert done_on(page) == set()
    assert "0 of 5 done" in page
    assert page.count('aria-current="step"') == 1
    # One solid button, for the next step.
    assert len(re.findall(r'class="button solid"', page)) == 1
    assert press(inbox, "look").endswith(f"/widget/{inbox.project}")
    assert done(inbox) == {"look"}
    assert inbox.client.post(f"{inbox.base}/checklist", data={"do": "fly"}).status_code == 400


@pytest.mark.parametrize("config", [{"buttonColor": "#10B981"}, {"headline": "Tell us"}])
def test_a_colour_or_a_headline_is_a_brand(inbox: Inbox, config: dict[str, str]) -> None:
    with inbox.app.app_context():
        begin_write()
        project = db.session.get_one(models.Project, inbox.project)
        project.page_config = project.page_config | config
        db.session.commit()
    assert done(inbox) == {"brand"}


def test_a_submission_shows_that_the_link_was_shared(inbox: Inbox) -> None:
    inbox.receive("Hannah")
    assert done(inbox) == {"share"}


def test_a_copied_link_is_sharing(inbox: Inbox) -> None:
    answer = inbox.client.post(f"{inbox.base}/checklist", data={"do": "share"}, headers=JSON)
    assert answer.json == {"ok": True}
    assert done(inbox) == {"share"}


def test_asking_by_mail_is_sharing(inbox: Inbox) -> None:
    ask(inbox.client, inbox.project, "Noor <noor@example.com>")
    assert done(inbox) == {"share"}


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_a_decision_is_a_review(inbox: Inbox, action: str) -> None:
    (received,) = inbox.receive("Hannah")
    inbox.act(received, action)
    assert done(inbox) == {"share", "approve"}


def test_a_sighting_is_an_embedding(inbox: Inbox) -> None:
    see_widget(inbox)
    assert done(inbox) == {"embed"}
    assert "Seen on <bdi>fern.example</bdi>" in inbox.get("inbox").text


def test_a_complete_list_is_gone(inbox: Inbox) -> None:
    (received,) = inbox.receive("Hannah")
    inbox.act(received, "approve")
    see_widget(inbox)
    press(inbox, "look")
    inbox.owner.patch(f"/v1/projects/{inbox.project}/widget-config", {"layout": "list"})
    assert done(inbox) == {"look", "share", "approve", "embed"}
    with inbox.app.app_context():
        begin_write()
        project = db.session.get_one(models.Project, inbox.project)
        project.page_config = project.page_config | {"headline": "Tell us"}
        db.session.commit()
    assert "Getting started" not in inbox.get("inbox").text
    assert "Show checklist" not in inbox.get("settings").text


def test_hiding_and_showing(inbox: Inbox) -> None:
    assert "Show checklist" not in inbox.get("settings").text
    assert press(inbox, "hide") == f"{inbox.base}/inbox"
    assert "Getting started" not in inbox.get("inbox").text
    assert "Show checklist" in inbox.get("settings").text
    press(inbox, "show")
    assert "Getting started" in inbox.get("inbox").text


def test_samples_are_removed_or_kept(inbox: Inbox) -> None:
    page = inbox.get("inbox").text
    assert "Remove all 6" in page
    assert page.count('<li class="sample ') == 6
    settle = f"{inbox.base}/samples"
    assert inbox.client.post(settle, data={"samples": "keep"}).status_code == 303
    assert "Remove all" not in inbox.get("inbox").text
    assert len(inbox.shown()) == 6
    kept = inbox.receive("Hannah")
    inbox.act(kept[0], "approve")
    answer = inbox.client.post(settle, data={"samples": "remove"})
    assert answer.status_code == 303
    assert inbox.shown() == ["Hannah"]


def test_it_is_a_button_in_the_head_where_something_waits(inbox: Inbox) -> None:
    def has_whole(query: str = "") -> bool:
        return 'class="first-box"' in inbox.get(f"inbox{query}").text

    assert has_whole()
    assert not has_whole("?status=all")
    assert not has_whole("?q=words")
    inbox.receive("Hannah")
    assert not has_whole()
    page = inbox.get("inbox").text
    assert page.index("Getting started") < page.index("Hannah</bdi>")
    assert done_on(page) == {"share"}


def test_it_tells_who_built_the_project(
    app: Flask, inbox: Inbox, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    # The owner's account was claimed before this project.
    assert "Your agent built" not in inbox.get("inbox").text
    agent = make_caller("agents@example.com")
    project = agent.create_project()["_id"]
    moved_clock.move(hours=1)
    with app.app_context():
        begin_write()
        account = db.session.get_one(models.Account, agent.account_id)
        account.claimed_at = moved_clock.time
        # The password of the other account, which is the one the browser types.
        other = db.session.get_one(models.Account, inbox.owner.account_id)
        account.password_hash = other.password_hash
        db.session.commit()
    page = open_browser(app, agent).get(f"/dashboard/projects/{project}/inbox").text
    assert "Your agent built the first version." in page


def test_moderators_have_no_checklist(inbox: Inbox, outsider: Caller) -> None:
    with inbox.app.app_context():
        begin_write()
        db.session.add(
            models.ProjectMember(
                project_id=inbox.project, account_id=outsider.account_id, role="moderator"
            )
        )
        db.session.commit()
    page = open_browser(inbox.app, outsider).get(f"{inbox.base}/inbox")
    assert page.status_code == 200
    assert "Getting started" not in page.text
