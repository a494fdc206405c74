"""The pill at the head of the inbox: three steps, each done by what happened."""

import re

import pytest
from flask import Flask

from tests.collection.requests.asking import ask
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox

DONE = re.compile(r'is-done"[^>]*>.*?</span><span>([^<]*)')
QUESTION = "Take the samples away?"


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="fern", businessName="Fern", skipDemoTestimonials=False)


def read(inbox: Inbox) -> tuple[str, list[str]]:
    page = inbox.get("inbox").text
    found = re.search(r"</svg>((?:Three|Two|One) steps?[^<]*)</summary>", page)
    return (found[1] if found else "", DONE.findall(page))


def test_each_step_is_done_by_what_happens_until_the_pill_is_gone(inbox):
    assert read(inbox) == ("Three steps", [])
    assert ">Ask three customers</a>" in inbox.get("inbox").text
    (received,) = inbox.receive("Hannah")
    assert read(inbox) == ("Two steps left", ["Ask three customers"])
    inbox.act(received, "reject")
    assert read(inbox) == ("One step left", ["Ask three customers", "Approve the first one"])
    inbox.client.get(f"/widget/{inbox.project}/feed", headers={"Origin": "https://fern.example"})
    assert read(inbox) == ("", [])


def test_asking_by_mail_is_asking_and_the_steps_can_be_hidden(inbox):
    ask(inbox.client, inbox.project, "Noor <noor@example.com>")
    assert read(inbox) == ("Two steps left", ["Ask three customers"])
    answer = inbox.client.post(f"{inbox.base}/first-steps/hide")
    assert answer.headers["Location"] == f"{inbox.base}/inbox"
    assert read(inbox) == ("", [])


@pytest.mark.parametrize(("answer", "left"), [("remove", 0), ("keep", 6)])
def test_the_first_approved_one_offers_once_to_take_the_samples_away(inbox, answer, left):
    (received,) = inbox.receive("Hannah")
    assert QUESTION not in inbox.get("inbox").text
    inbox.act(received, "approve")
    assert QUESTION in inbox.get("inbox").text
    inbox.client.post(f"{inbox.base}/inbox/samples", data={"samples": answer})
    assert QUESTION not in inbox.get("inbox").text
    listed = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]
    assert [each["status"] for each in listed["items"]].count("demo") == left
