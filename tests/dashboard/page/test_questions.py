"""The page editor's lists: questions, prompts and steps; its pictures, languages and forms."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from markupsafe import escape
from werkzeug.datastructures import MultiDict
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.core.events import read_types
from tests.dashboard.inbox.inbox import JSON
from tests.dashboard.page.test_look import picture
from tests.support.rows import add_testimonial

BREAD = {"id": "aaaaaaa1", "kind": "choice", "text": "What do you take?", "isPublic": True}
RETURN = {"id": "aaaaaaa2", "kind": "scale", "text": "Will you come back?", "low": "Never"}
SENT = {"id": "aaaaaaa3", "kind": "text", "text": "Who sent you?"}
LINK = {"id": "bbbbbbb1", "kind": "link", "title": "There too", "url": "https://a.example"}
CODE = {"id": "bbbbbbb2", "kind": "code", "title": "A bun", "code": "BUN-7K2F"}


@pytest.fixture
def page(owner: Caller) -> str:
    project = owner.create_project(slug="fern", businessName="Fern", skipDemoTestimonials=True)
    return f"/dashboard/projects/{project['_id']}/collect/page"


def fill(
    lists: str, items: list[dict[str, Any]], before: dict[str, Any] | None = None, **more: Any
) -> MultiDict[str, str]:
    sent = MultiDict({"before": json.dumps(before or {}), **more})
    for name in lists.split():
        # Says that the list is sent, whatever is in it.
        sent.add(name, "")
    for item in items:
        sent.add("steps" if item["kind"] in ("link", "code") else "questions", item["id"])
        for name, value in item.items():
            if name == "translations":
                continue
            for each in value if isinstance(value, list) else [value]:
                sent.add(f"{item['id']}-{name}", {True: "true", False: "false"}.get(each, each))
    return sent


def save(browser: FlaskClient, path: str, *arguments: Any, **more: Any) -> TestResponse:
    return browser.post(path, data=fill(*arguments, **more), headers=JSON)


def lists_of(answer: TestResponse) -> dict[str, Any]:
    assert answer.json is not None, answer.text
    return {name: each for name, each in answer.json["values"].items() if isinstance(each, list)}


def texts(questions: list[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in questions]


def test_questions_prompts_and_steps_are_stored_and_shown(browser, client, app, owner, page):
    bread = BREAD | {"choices": ["Bread", " Buns ", "", "Bread"], "several": True}
    cards = [bread, RETURN, SENT | {"text": ""}]
    lists = lists_of(save(browser, page, "prompts questions", cards, prompts="What changed?"))
    # A new card without words is none.
    assert texts(lists["questions"]) == ["What do you take?", "Will you come back?"]
    assert lists["questions"][0]["choices"] == ["Bread", "Buns"]
    save(browser, page, "steps", [LINK | {"copies": True}, CODE | {"until": "2126-12-31"}])
    shown = client.get("/fern").text
    for expected in ("What changed?", "Will you come back?", "Buns", "A bun"):
        assert expected in shown
    editor = browser.get(page).text
    for expected in ("Choice · on the card", "until 31 Dec 2126", "2 of 5"):
        assert expected in editor
    assert read_types(app, owner.account_id).count("page.changed") == 1


def test_the_buttons_of_a_form_without_a_script(browser, page):
    items = [BREAD | {"choices": ["Bread", "Buns"]}, RETURN, SENT]
    stored = lists_of(save(browser, page, "questions", items))
    for action, order in (
        ("up questions aaaaaaa3", ["aaaaaaa1", "aaaaaaa3", "aaaaaaa2"]),
        ("up questions aaaaaaa1", ["aaaaaaa1", "aaaaaaa3", "aaaaaaa2"]),
        ("down questions aaaaaaa1", ["aaaaaaa3", "aaaaaaa1", "aaaaaaa2"]),
        ("delete questions aaaaaaa3", ["aaaaaaa1", "aaaaaaa2"]),
        ("delete questions unknown", ["aaaaaaa1", "aaaaaaa2"]),
    ):
        answer = save(browser, page, "questions", stored["questions"], stored, do=action)
        stored = lists_of(answer)
        assert [each["id"] for each in stored["questions"]] == order, action
    form = fill("questions", stored["questions"], stored, do="down questions aaaaaaa1")
    answer = browser.post(page, data=form)
    assert answer.headers["Location"].endswith("#item-aaaaaaa1")
    shown = browser.get(answer.headers["Location"]).text
    assert 'id="questions" open' in shown
    # An empty card stands at the end, to write another into.
    assert "New question" in shown


def test_what_a_colleague_changed_meanwhile_stays(browser, page):
    bread = BREAD | {"choices": ["Bread", "Buns"]}
    seen = lists_of(save(browser, page, "questions", [bread, RETURN]))
    # Somebody else rewords one, deletes the other, and adds a third.
    save(browser, page, "questions", [bread | {"text": "What do you carry home?"}, SENT], seen)
    mine = [RETURN | {"text": "Mine"}, bread | {"isRequired": True}]
    questions = lists_of(save(browser, page, "questions", mine, seen))["questions"]
    assert texts(questions) == ["What do you carry home?", "Who sent you?"]
    assert questions[0]["isRequired"]
    # Nothing was changed here, so nothing is.
    again = lists_of(save(browser, page, "questions", [bread, RETURN], seen))["questions"]
    assert again == questions


WRONG = (
    (BREAD | {"choices": ["Bread"]}, "aaaaaaa1-choices", "two different answers"),
    (BREAD | {"text": "", "choices": ["A", "B"]}, "aaaaaaa1-text", "Fill in this field."),
    (RETURN | {"text": "x" * 161}, "aaaaaaa2-text", "160"),
    (RETURN | {"high": "x" * 41}, "aaaaaaa2-high", "40"),
    (RETURN | {"kind": "file"}, "aaaaaaa2-kind", "Must be one of"),
    (SENT | {"id": "no id"}, "no id-id", "8 lower-case"),
    (LINK | {"url": ""}, "bbbbbbb1-url", "https://example.com"),
    (LINK | {"url": "javascript:alert(1)"}, "bbbbbbb1-url", "http"),
    (CODE | {"code": ""}, "bbbbbbb2-code", "Fill in this field."),
    (CODE | {"until": "31.12."}, "bbbbbbb2-until", "2026-12-31"),
)


def test_what_is_wrong_or_too_much_is_said_at_its_field(browser, page):
    for item, field, words in WRONG:
        lists = "steps" if item["kind"] in ("link", "code") else "questions"
        answer = save(browser, page, lists, [item])
        assert answer.status_code == 422
        assert words in answer.json["errors"][field][0]
        refused = browser.post(page, data=fill(lists, [item], {"shown": item["id"]}))
        # What somebody saw stays what they saw, also if others changed it meanwhile.
        assert f'name="before" value="{escape(json.dumps({"shown": item["id"]}))}"' in refused.text
        assert refused.status_code == 422
        assert words in refused.text
        assert f'data-item="{item["id"]}"' not in browser.get(page).text
    six = [SENT | {"id": f"aaaaaaa{number}"} for number in range(6)]
    assert save(browser, page, "questions", six).status_code == 422
    assert save(browser, page, "questions", six[:5]).status_code == 200


def test_what_a_form_says_it_showed_may_be_anything(browser, page):
    shown: tuple[object, ...] = (5, [5], [{}], [{"id": []}], {"id": "aaaaaaa3"}, None)
    for number, before in enumerate(shown):
        sent = SENT | {"text": f"Who sent you, no. {number}?"}
        answer = save(browser, page, "questions", [sent], {"questions": before})
        assert texts(lists_of(answer)["questions"]) == [sent["text"]], before


def test_an_answered_question_keeps_its_kind(app, browser, page):
    stored = lists_of(save(browser, page, "questions", [SENT]))
    given = SENT | {"question": SENT["text"], "answer": "Noor", "isPublic": False}
    for _ in range(2):
        add_testimonial(app, page.split("/")[3], answers=[given])
    shown = browser.get(page).text
    assert "2 answers are kept" in shown
    assert 'id="editor-aaaaaaa3-kind" disabled>' in shown
    answer = save(browser, page, "questions", [SENT | {"kind": "scale"}], stored)
    assert (answer.status_code, "aaaaaaa3-kind" in answer.json["errors"]) == (422, True)


def test_pictures_of_the_page(browser, client, page):
    head = '--x\r\nContent-Disposition: form-data; name="{}"; filename="a.png"\r\n\r\n'
    for name in ("cover", "portrait"):
        body = head.format(name).encode() + picture() + b"\r\n--x--\r\n"
        kind = "multipart/form-data; boundary=x"
        answer = browser.post(f"{page}/{name}", data=body, content_type=kind, headers=JSON)
        assert answer.json["url"].endswith(".webp")
    browser.post(page, data={"signature": "Mira, who bakes it", "focusX": "20", "focusY": "100"})
    shown = client.get("/fern").text
    assert 'class="cover"' in shown
    assert "Mira, who bakes it" in shown
    assert "--tm-focus:20% 100%" in client.get("/fern/theme.css").text
    # Without a name nobody speaks as a person.
    browser.post(page, data={"isPerson": "false"})
    assert "who bakes it" not in client.get("/fern").text
    for name in ("cover", "portrait"):
        browser.post(f"{page}/{name}/remove")
    assert 'class="cover"' not in client.get("/fern").text
    assert browser.post(f"{page}/avatar").status_code == 404


def test_translations_follow_a_choice(browser, client, page):
    bread = BREAD | {"choices": ["Bread", "Buns", "Cake"]}
    stored = lists_of(save(browser, page, "questions", [bread]))
    german = {"headline": "Wie war es?", "aaaaaaa1-text": "Was nehmen Sie?"}
    german |= {"aaaaaaa1-choices-0": "Brot", "aaaaaaa1-choices-2": "Kuchen"}
    assert browser.post(f"{page}/words?lang=de", data=german).status_code == 303
    shown = client.get("/fern?lang=de").text
    for word in ("Wie war es?", "Was nehmen Sie?", "Brot", "Buns", "Kuchen"):
        assert word in shown
    # Bread is deleted, cake comes first.
    moved = [bread | {"choices": ["Cake", "Buns"]}]
    (question,) = lists_of(save(browser, page, "questions", moved, stored))["questions"]
    assert question["translations"]["de"]["choices"] == ["Kuchen", ""]
    preview = browser.get(f"{page}/preview?view=opened&lang=de").text
    assert "Kuchen" in preview
    assert 'lang="de"' in preview
    german |= {"aaaaaaa1-choices-0": "x" * 61}
    too_long = browser.post(f"{page}/words?lang=de", data=german, headers=JSON)
    assert list(too_long.json["errors"]) == ["aaaaaaa1-choices-0"]
    # What the script leaves out, since it is too long, stays as it was.
    assert browser.post(f"{page}/words?lang=de", data={"headline": "Und?"}).status_code == 303
    shown = client.get("/fern?lang=de").text
    assert ("Und?" in shown, "Was nehmen Sie?" in shown) == (True, True)
    browser.post(f"{page}/words?lang=de", data=dict.fromkeys(german, ""))
    assert "Was nehmen Sie?" not in client.get("/fern?lang=de").text


def test_a_form_has_its_own_address_words_questions_and_tag(app, browser, client, owner, page):
    answer = browser.post(f"{page}/name", data={"title": "After the course"})
    name = "after-the-course"
    assert answer.headers["Location"].split("&")[0] == f"{page}?form={name}"
    taken = browser.post(f"{page}/name", data={"title": "After the course!"})
    assert taken.status_code == 422
    assert "There is a form named after-the-course already." in taken.text
    changes = fill("prompts questions", [SENT], prompts="What did you learn?")
    changes |= {"headline": "How was the course?", "tag": "course"}
    saved = browser.post(f"{page}?form={name}", data=changes, headers=JSON)
    assert lists_of(saved)["prompts"] == ["What did you learn?"]
    shown = client.get(f"/fern/f/{name}").text
    for expected in ("How was the course?", "Who sent you?", "What did you learn?"):
        assert expected in shown
        assert expected in browser.get(f"{page}/preview?form={name}").text
    bad = browser.post(f"{page}?form={name}", data={"tag": "two, tags"}, headers=JSON)
    assert list(bad.json["errors"]) == ["tag"]
    browser.post(f"{page}/words?form={name}&lang=fr", data={"headline": "Et le cours ?"})
    assert "Et le cours ?" in client.get(f"/fern/f/{name}?lang=fr").text
    code = browser.get(f"{page.removesuffix('page')}qr.svg?form={name}")
    assert "fern-after-the-course-qr.svg" in code.headers["Content-Disposition"]

    browser.post(f"{page}/forms/{name}/state", data={"open": "false"})
    assert "How was the course?" not in client.get(f"/fern/f/{name}").text
    # The title of the page is a menu of all.
    assert "After the course" in browser.get(page).text
    browser.post(f"{page}/forms/{name}/state", data={"open": "true"})
    clash = {"title": "Course", "name": "thanks"}
    refused = browser.post(f"{page}/name?form={name}", data=clash)
    assert (refused.status_code, "reserved" in refused.text) == (422, True)
    browser.post(f"{page}/name?form={name}", data={"title": "Course", "name": "course"})
    assert client.get("/fern/f/course").status_code == 200
    browser.post(f"{page}/forms/course/delete")
    assert client.get("/fern/f/course").status_code == 404
    assert browser.get(f"{page}?form=course").status_code == 404
    types = [each for each in read_types(app, owner.account_id) if each.startswith("form.")]
    assert (types[0], types[-1]) == ("form.added", "form.deleted")
