"""What the owner adds to a testimonial in public: highlighted words, and a reply."""

from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.collection.authors.authors import Visitor
from tests.dashboard.inbox.inbox import JSON, UNDO, Inbox
from tests.support.rows import change_testimonial

# The emoji is one code point and two of UTF-16, and the words come twice.
TEXT = "😀 Great work.\nReally great, from start to end."


@pytest.fixture
def maya(inbox: Inbox) -> str:
    (found,) = inbox.receive("Maya", text=TEXT)
    inbox.act(found, "approve")
    return found


def send(inbox: Inbox, testimonial_id: str, part: str, **values: str) -> TestResponse:
    return inbox.client.post(f"{inbox.base}/testimonials/{testimonial_id}/{part}", data=values)


def edit(inbox: Inbox, testimonial_id: str, text: str) -> str:
    form = {"author_name": "Maya", "text": text, "submitted_on": "2026-01-02"}
    path = f"{inbox.base}/testimonials/{testimonial_id}"
    return inbox.client.post(path, data=form, follow_redirects=True).text


def shown(inbox: Inbox) -> dict[str, Any]:
    """Return the only testimonial as the feed has it; the API has the same."""
    (item,) = inbox.client.get(f"/widget/{inbox.project}/feed").json["items"]  # type: ignore[index]
    path = f"/v1/projects/{inbox.project}/testimonials"
    (listed,) = inbox.owner.get(path).json["data"]["items"]  # type: ignore[index]
    for name in ("highlights", "reply"):
        assert item.get(name) == listed.get(name)
    return dict(item)


def marked(inbox: Inbox) -> list[str]:
    item = shown(inbox)
    return [item["text"][start:end] for start, end in item.get("highlights", [])]


def undo(inbox: Inbox, page: str) -> None:
    found = UNDO.search(page)
    inbox.client.post(f"{inbox.base}/inbox/undo", data={"undo": found[1]}, headers=JSON)


def test_words_are_highlighted_where_selected_or_they_come_first(inbox, maya):
    # What was selected; then typed words, which take the first place that is free.
    assert send(inbox, maya, "highlights", words="great", start="21").status_code == 303
    assert shown(inbox)["highlights"] == [[21, 26]]
    send(inbox, maya, "highlights", words=" GREAT ")
    assert shown(inbox)["highlights"] == [[2, 7], [21, 26]]
    # A place that has other words by now is not taken.
    send(inbox, maya, "highlights", words="start to end", start="0")
    assert marked(inbox) == ["Great", "great", "start to end"]
    # Those that touch are one; a line break ends one.
    send(inbox, maya, "highlights", words="work. Really great")
    assert marked(inbox) == ["Great", "work.", "Really great", "start to end"]
    send(inbox, maya, "highlights", remove="2")
    assert marked(inbox) == ["work.", "Really great", "start to end"]
    assert "<mark>Really great</mark>" in inbox.get("inbox?status=approved").text


def test_other_words_and_more_than_ten_highlights_are_refused(inbox, maya):
    for words in ("", "   ", "not there", "x" * 2001):
        answer = send(inbox, maya, "highlights", words=words)
        assert (answer.status_code, 'id="mark-words-error"' in answer.text) == (422, True)
    assert marked(inbox) == []
    # A place that means nothing does no harm.
    for start in ("", "999", "9" * 30):
        send(inbox, maya, "highlights", words="great", start=start)
    assert marked(inbox) == ["Great", "great"]
    edit(inbox, maya, " ".join(f"w{n}x" for n in range(11)))
    for number in range(10):
        assert send(inbox, maya, "highlights", words=f"w{number}x").status_code == 303
    answer = send(inbox, maya, "highlights", words="w10x")
    assert (answer.status_code, "at most 10 highlights" in answer.text) == (422, True)


def test_highlights_follow_an_edit_or_are_lost_with_a_notice(inbox, maya):
    for words, start in (("Great", "2"), ("great", "21"), ("start to end", "33")):
        send(inbox, maya, "highlights", words=words, start=start)
    page = edit(inbox, maya, "😀😀 Great work.\nReally great, from the start to end.")
    assert marked(inbox) == ["Great", "great", "start to end"]
    assert "removed" not in page
    page = edit(inbox, maya, "😀😀 Good work.\nReally good, from the start to end.")
    assert marked(inbox) == ["start to end"]
    assert "so a highlight was removed" in page
    undo(inbox, page)
    assert marked(inbox) == ["Great", "great", "start to end"]


def test_a_reply_is_public_and_can_be_changed_undone_and_removed(inbox, maya):
    long = send(inbox, maya, "reply", reply="x" * 2001)
    assert long.status_code == 422
    assert "x" * 2001 in long.text
    send(inbox, maya, "reply", reply="Thank you,\r\nMaya!")
    first = shown(inbox)["reply"]
    assert first["text"] == "Thank you,\nMaya!"
    answer = send(inbox, maya, "reply", reply="Thanks!")
    assert shown(inbox)["reply"]["text"] == "Thanks!"
    undo(inbox, inbox.client.get(answer.headers["Location"]).text)
    assert shown(inbox)["reply"] == first
    assert "Replied" in inbox.get("inbox?status=approved").text
    send(inbox, maya, "reply", remove="1", reply="Thanks!")
    assert "reply" not in shown(inbox)
    assert "Reply: Thank you,\nMaya!" in inbox.get(f"testimonials/{maya}").text


def test_samples_and_what_was_withdrawn_take_neither(app, inbox, maya):
    for status in ("demo", "withdrawn"):
        change_testimonial(app, maya, status=status)
        for part, values in (("highlights", {"words": "Great"}), ("reply", {"reply": "Thanks"})):
            assert send(inbox, maya, part, **values).status_code == 409
            assert f'id="{part}"' not in inbox.get(f"testimonials/{maya}").text


def test_the_author_sees_the_reply_and_a_correction_ends_both(inbox, app):
    visitor = Visitor(app.test_client(), inbox.project, "salon")
    path = visitor.write(text="They listened. Twice.")
    row = visitor.row().id
    inbox.act(row, "approve")
    send(inbox, row, "highlights", words="They listened")
    send(inbox, row, "reply", reply="Gladly!")
    assert "Gladly!" in visitor.see(path)
    correction = {"name": "Noor", "role": "Visitor", "company": "Haddad & Co", "rating": "4"}
    visitor.post(f"{path}/correct", text="They listened. Twice.", **correction)
    assert (visitor.row().highlights, visitor.row().reply) == ([[0, 13]], "Gladly!")
    visitor.post(f"{path}/correct", text="They did not listen.", **correction)
    assert (visitor.row().highlights, visitor.row().reply) == (None, None)
    assert "Reply: Gladly!" in inbox.get(f"testimonials/{row}").text
