"""The owner's own questions and forms: asking, answering, what is kept and who sees it."""

import html
import io
import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image as Pictures
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.core.http.i18n import LANGUAGES
from testimonials.operations.expiry import sweep
from testimonials.projects.models import Project
from testimonials.testimonials.fields import count_answers, public_answers
from testimonials.transfer.case_file import write_case_html, write_case_json
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.pictures import photo, to_bytes
from tests.support.rows import change_testimonial, read_testimonials
from tests.support.visitors import form_token

CHOICE = {
    "id": "takehome", "kind": "choice", "text": "What do you take home?",
    "choices": ["Bread", "Buns", "Cake"], "isPublic": True,
    "translations": {"de": {"text": "Was nehmen Sie mit?", "choices": ["Brot", "", "Kuchen"]}},
}  # fmt: skip
SCALE = {"id": "comeback", "kind": "scale", "text": "How likely are you to come back?"}
TEXT = {"id": "whatbake", "kind": "text", "text": "What did you bake?", "isRequired": True}
CONSENT = {
    "id": "printbag", "kind": "consent", "text": "You may print my words on bags", "isPublic": True,
    "translations": {"de": {"text": "Sie dürfen meine Worte auf Tüten drucken"}},
}  # fmt: skip
SLUG = "oat"


@pytest.fixture
def configurer(app: Flask, owner: Caller) -> Caller:
    return give_token(app, owner, Scope.READ, Scope.CONFIGURE)


@pytest.fixture
def project(owner: Caller) -> str:
    project = owner.create_project(slug=SLUG, businessName="Oat & Ember", skipDemoTestimonials=True)
    return str(project["_id"])


def ask(configurer: Caller, project: str, *questions: dict[str, Any], status: int = 200) -> Any:
    answer = configurer.patch(f"/v1/projects/{project}/page-design", {"questions": list(questions)})
    assert answer.status_code == status, answer.text
    return answer.json["data"]["questions"] if status == 200 else answer.json["errors"]


def send(client: FlaskClient, path: str = f"/{SLUG}", **values: Any) -> TestResponse:
    """Fill in the form at `path` and send it."""
    said = {"text": "They know my name.", "name": "Noor", "consent": "yes"}
    return client.post(path, data=said | {"token": form_token(client.get(path).text)} | values)


def test_answers_are_kept_with_the_words_in_the_owners_language(app, client, configurer, project):
    ask(configurer, project, CHOICE | {"several": True}, SCALE, TEXT, CONSENT)
    given = {"q_takehome": ["Cake", "Bread"], "q_comeback": "0", "q_whatbake": " Rye.\r\nTwice. "}
    answer = send(client, f"/{SLUG}?lang=de", **given, q_printbag="yes", lang="de")
    assert answer.status_code == 303, answer.text
    (row,) = read_testimonials(app, project)
    assert [(each["question"], each["answer"], each["isPublic"]) for each in row.answers] == [
        ("What do you take home?", ["Bread", "Cake"], True),
        ("How likely are you to come back?", 0, False),
        ("What did you bake?", "Rye.\nTwice.", False),
        # A consent says what was agreed to.
        ("Sie dürfen meine Worte auf Tüten drucken", True, False),
    ]
    # The owner's API has them all; the public only what was asked in public.
    (item,) = configurer.get(f"/v1/projects/{project}/submissions").json["data"]["items"]
    assert item["answers"] == row.answers
    assert "form" not in item
    own = re.search(r'href="[^"]*(/yours/[^"]+)"', client.get(answer.headers["Location"]).text)
    page = client.get(html.unescape(own[1])).text
    for said in ("Bread, Cake", "0 / 10", "Rye.\nTwice.", "Sie dürfen meine Worte"):
        assert said in page, said


def test_what_was_not_asked_for_or_offered_is_refused_and_nothing_is_lost(
    app, client, configurer, project
):
    ask(configurer, project, CHOICE, SCALE, TEXT, CONSENT | {"isRequired": True})
    for values, said in (
        ({"q_whatbake": ""}, "Fill in this field."),
        ({"q_whatbake": "x" * 501}, "Shorten this to 500 characters; it has 501."),
        ({"q_takehome": "Wine"}, "This answer is no longer offered. Choose another."),
        ({"q_takehome": ["Bread", "Buns"]}, "Choose one of the options."),
        ({"q_comeback": "11"}, "Choose a number from 0 to 10."),
        ({"q_comeback": "٣"}, "Choose a number from 0 to 10."),
        ({"q_printbag": "false"}, "Tick this to continue."),
    ):
        fine = {"q_whatbake": "Rye", "q_printbag": "yes"}
        answer = send(client, **fine | values)
        assert answer.status_code == 422, values
        assert "They know my name." in answer.text
        assert html.escape(said) in answer.text, said
        # A German reads it in German.
        german = client.post(f"/{SLUG}?lang=de", data={"text": "Gut.", **fine, **values})
        assert html.escape(said) not in german.text
    assert read_testimonials(app, project) == []


def test_a_question_made_private_hides_its_answers_also_once_it_is_gone(
    app, client, configurer, project
):
    def shown() -> list[Any]:
        (row,) = read_testimonials(app, project)
        with app.app_context():
            stored = db.session.get_one(Project, project)
            return [each["answer"] for each in public_answers(row, stored)]

    ask(configurer, project, CHOICE, SCALE)
    assert send(client, q_takehome="Buns", q_comeback="9").status_code == 303
    assert shown() == [["Buns"]]
    ask(configurer, project, CHOICE | {"isPublic": False}, SCALE | {"isPublic": True})
    # What was asked in private never shows.
    assert shown() == []
    ask(configurer, project)
    assert shown() == []
    ask(configurer, project, CHOICE)
    assert shown() == [["Buns"]]
    ask(configurer, project)
    assert shown() == [["Buns"]]
    with app.app_context():
        stored = db.session.get_one(Project, project)
        counts = count_answers(stored, ["takehome", "comeback", "whatbake"])
        assert counts == {"takehome": 1, "comeback": 1, "whatbake": 0}


def test_an_answer_fixes_the_kind(client, configurer, project):
    (made,) = ask(configurer, project, {"kind": "text", "text": "Why us?"})
    assert ask(configurer, project, {"kind": "text", "text": "Why us?"}) == [made]
    # Nobody has answered yet.
    (made,) = ask(configurer, project, made | {"kind": "scale"})
    assert send(client, **{f"q_{made['id']}": "10"}).status_code == 303
    changed = made | {"text": "How likely?", "low": "Never"}
    assert ask(configurer, project, changed) == [changed]
    errors = ask(configurer, project, SCALE, changed | {"kind": "text"}, status=400)
    assert "answered this as scale" in errors["questions[1].kind"][0]
    ask(configurer, project)
    assert ask(configurer, project, changed | {"kind": "text"}, status=400)
    for wrong, field in (
        ([SCALE] * 6, "questions"),
        ([SCALE, SCALE], "questions"),
        ([CHOICE | {"choices": ["Bread"]}], "questions[0].choices"),
        ([CHOICE | {"choices": ["Bread", "Bread"]}], "questions[0].choices"),
        ([SCALE | {"translations": {"xx": {}}}], "questions[0].translations.xx.key"),
        ([SCALE | {"id": "short"}], "questions[0].id"),
    ):
        assert field in ask(configurer, project, *wrong, status=400)


def test_a_form_has_an_address_words_questions_and_a_tag_of_its_own(
    app, client, configurer, project
):
    ask(configurer, project, SCALE | {"isRequired": True})
    path = f"/v1/projects/{project}/forms"
    body = {"title": "Nach dem Kurs!", "headline": "How was the class?", "tag": "class"}
    words = {"de": {"headline": "Wie war der Kurs?"}}
    made = configurer.post(path, body | {"questions": [TEXT], "translations": words}).json["data"]
    assert made["url"].endswith(f"/{SLUG}/f/nach-dem-kurs")
    page = f"/{SLUG}/f/nach-dem-kurs"
    assert "How was the class?" in client.get(page).text
    assert "Wie war der Kurs?" in client.get(f"{page}?lang=de").text
    assert send(client, page).status_code == 422
    assert send(client, page, q_whatbake="Rye").status_code == 303
    (row,) = read_testimonials(app, project)
    assert (row.form_name, [each["answer"] for each in row.answers]) == ("nach-dem-kurs", ["Rye"])
    (item,) = configurer.get(f"/v1/projects/{project}/submissions").json["data"]["items"]
    assert (item["form"], item["tags"]) == ("nach-dem-kurs", ["class"])
    listed = configurer.get(f"/v1/projects/{project}/submissions?form=nach-dem-kurs")
    assert len(listed.json["data"]["items"]) == 1
    listed = configurer.get(f"/v1/projects/{project}/submissions?form=other")
    assert listed.json["data"] == {"items": [], "next": None}
    configurer.patch(f"{path}/nach-dem-kurs", {"isOpen": False, "name": "Class"})
    assert client.get(page).status_code == 404
    assert read_testimonials(app, project)[0].form_name == "class"
    assert client.post(f"/{SLUG}/f/class", data={"text": "Kept"}).status_code == 409
    assert configurer.client.delete(f"{path}/class", headers=configurer.headers).status_code == 200
    assert client.get(f"/{SLUG}/f/class").status_code == 404
    assert len(read_testimonials(app, project)) == 1


def test_names_of_forms_are_free_known_and_few(configurer, project):
    path = f"/v1/projects/{project}/forms"
    for body, said in (
        ({"title": "!!!"}, "letters or digits"), ({"title": "New"}, "reserved"),
        ({"title": "x", "tag": "a, b"}, "tag"), ({"title": "x", "colour": "red"}, "Unknown field"),
    ):  # fmt: skip
        answer = configurer.post(path, body)
        assert (answer.status_code, said in answer.text) == (400, True), answer.text
    for number in range(20):
        assert configurer.post(path, {"title": f"Form {number}"}).status_code == 200
    assert "already" in configurer.patch(f"{path}/form-1", {"name": "Form 2"}).text
    assert configurer.post(path, {"title": "One more"}).json["code"] == "FORM_LIMIT_REACHED"
    assert len(configurer.get(path).json["data"]) == 20


def test_a_code_for_everybody_is_noted_and_ends_on_its_day(app, client, configurer, project):
    path = f"/v1/projects/{project}/page-design"
    for until, is_rewarded in (("2999-12-31", True), ("2020-01-01", False)):
        code = {"kind": "code", "title": "A bun on the house", "code": "BUN-7", "until": until}
        assert configurer.patch(path, {"steps": [code]}).status_code == 200
        assert send(client, name=f"Noor {until}").status_code == 303
        assert read_testimonials(app, project)[-1].is_rewarded is is_rewarded
        told = configurer.get(f"/v1/projects/{project}/submissions").json["data"]["items"]
        assert told[0].get("rewarded", False) is is_rewarded
    # What the first was promised stays with it, though the offer is another one now.
    case, page = io.BytesIO(), io.BytesIO()
    with app.app_context():
        owned = db.session.get_one(Project, project)
        write_case_json(owned, case)
        write_case_html(owned, page)
    assert b"promised: <bdi>A bun on the house</bdi>" in page.getvalue()
    rows = json.loads(case.getvalue())["testimonials"]
    promised = [[each["promised"] for each in row["history"]] for row in rows]
    assert promised == [[["A bun on the house"]], [None]]
    for step in ({"kind": "link", "title": "Also there"}, {"kind": "code", "title": "A bun"}):
        assert configurer.patch(path, {"steps": [step]}).status_code == 400


def test_the_inbox_shows_answers_and_finds_what_came_by_a_form(
    app, owner, client, configurer, project
):
    configurer.post(f"/v1/projects/{project}/forms", {"title": "At the <door>"})
    ask(configurer, project, CHOICE, SCALE)
    assert send(client, q_takehome="Buns", q_comeback="9").status_code == 303
    assert send(client, f"/{SLUG}/f/at-the-door", name="Ida").status_code == 303
    browser, inbox = open_browser(app, owner), f"/dashboard/projects/{project}/inbox"
    row = read_testimonials(app, project)[0]
    page = browser.get(f"/dashboard/projects/{project}/testimonials/{row.id}").text
    answers = re.findall(r"<dt[^>]*>(.*?)</dt><dd><bdi>(.*?)</bdi></dd>", page, re.DOTALL)
    assert [(words, "Only you" in question) for question, words in answers] == [
        ("Buns", False),
        ("9 of 10", True),
    ]
    assert "At the &lt;door&gt;" in browser.get(inbox).text
    found = browser.get(f"{inbox}?form=at-the-door").text
    assert ("Ida" in found, "Noor" in found) == (True, False)


def test_the_longest_questions_fit(client, configurer, project):
    words = {"text": "\u8a9e" * 160, "choices": [f"{n}" + "\u8a9e" * 59 for n in range(8)]}
    languages = {language.code: words for language in LANGUAGES}
    question = {"kind": "choice", "translations": languages, **words}
    ask(configurer, project, *(question | {"text": f"{n}" + "\u8a9e" * 159} for n in range(5)))
    assert client.get(f"/{SLUG}?lang=ja").text.count("\u8a9e" * 160) == 5


def test_covers_and_portraits_outlive_the_sweep_while_they_are_used(
    app, configurer, project, moved_clock
):
    urls = []
    for name, size in (("cover", (3000, 900)), ("portrait", (600, 400))):
        sent = {"data": to_bytes(photo(*size), "PNG"), "content_type": "image/png"}
        path = f"/v1/projects/{project}/{name}"
        answer = configurer.client.put(path, headers=configurer.headers, **sent)
        urls.append(answer.json["data"][f"{name}Url"])
    sizes = []
    for url in urls:
        with Pictures.open(io.BytesIO(app.test_client().get(url).data)) as picture:
            sizes.append(picture.size)
    assert sizes == [(2032, 610), (256, 256)]
    moved_clock.move(days=3)
    with app.app_context():
        sweep()
    assert {app.test_client().get(url).status_code for url in urls} == {200}
    path = f"/v1/projects/{project}/cover"
    answer = configurer.client.delete(path, headers=configurer.headers)
    assert answer.json["data"]["coverUrl"] is None
    with app.app_context():
        sweep()
    assert [app.test_client().get(url).status_code for url in urls] == [404, 200]


def test_an_author_corrects_answers_and_privacy_stays(app, client, configurer, project):
    ask(configurer, project, CHOICE, SCALE, TEXT, CONSENT)
    given = {"q_takehome": "Buns", "q_comeback": "9", "q_whatbake": "Rye", "q_printbag": "yes"}
    thanks = client.get(send(client, **given, lang="de").headers["Location"]).text
    own = re.search(r'href="[^"]*(/yours/[^"?]+)', thanks)
    change_testimonial(app, read_testimonials(app, project)[0].id, status="approved")
    # Meanwhile a question is gone, one isn't private any more, one offers something else, one asks
    # for another consent, and one is new.
    ask(
        configurer,
        project,
        CHOICE | {"choices": ["Bread", "Cake"], "translations": {}},
        TEXT | {"isPublic": True},
        CONSENT | {"text": "You may sell my words", "translations": {}},
        TEXT | {"id": "brandnew", "text": "What else?"},
    )
    page = client.get(f"{own[1]}/correct").text
    assert re.search(r'value="Buns" checked', page)
    assert "Sie dürfen meine Worte auf Tüten drucken" in page
    assert "sell my words" not in page
    assert re.search(r"What did you bake\?</span>\s*<span[^>]*>\(only", page)

    def correct(status: int, **values: str) -> str:
        form = {"text": "They know my name.", "name": "Noor", "q_takehome": "Buns"}
        form |= {"q_whatbake": "Rye", "q_printbag": "yes"}
        answer = client.post(f"{own[1]}/correct", data=form | values)
        assert answer.status_code == status, answer.text
        return answer.text

    def stored() -> list[Any]:
        (row,) = read_testimonials(app, project)
        return [row.status] + [
            (each["question"], each["answer"], each["isPublic"]) for each in row.answers
        ]

    before = stored()
    correct(303)
    # Nothing was changed, so nothing goes back.
    assert stored() == before
    assert "Fill in this field." in correct(422, q_whatbake="")
    refused = correct(422, q_whatbake="x" * 501)
    assert "Shorten this to 500 characters; it has 501." in refused
    assert 'href="#q_whatbake"' in refused
    assert stored() == before
    correct(303, q_whatbake="Spelt", q_takehome="", q_brandnew="Tea.")
    assert stored() == [
        "pending", ("How likely are you to come back?", 9, False),
        ("What did you bake?", "Spelt", False),
        ("Sie dürfen meine Worte auf Tüten drucken", True, False), ("What else?", "Tea.", False),
    ]  # fmt: skip
