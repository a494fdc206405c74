"""POST /v1/projects/:id/testimonials (spec, "POST /v1/projects/:id/testimonials")."""

import json
import re
from typing import Any

import pytest
from flask import Flask

from testimonials.testimonials import models
from tests.conftest import Caller, MovableClock
from tests.support.rows import count_rows, read_project, read_testimonials

NEEDED = {"authorName": "Maya Kowalski", "text": "It simply works."}
FULL = NEEDED | {
    "rating": 4.5,
    "authorRole": "Owner",
    "authorCompany": "Kiln & Clay",
    "authorAvatar": "https://example.com/maya.jpg",
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TIMES = {"submittedAt", "createdAt", "updatedAt"}


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project()["_id"])


def _path(project_id: str) -> str:
    return f"/v1/projects/{project_id}/testimonials"


def _refuse(owner: Caller, project_id: str, body: object) -> dict[str, Any]:
    """Post a body that must be refused with 400, and make sure that nothing was stored."""
    answer = owner.post(_path(project_id), body)
    assert answer.status_code == 400, answer.text
    assert "data" not in answer.json
    assert count_rows(owner.client.application, models.Testimonial) == 0
    return dict(answer.json)


def test_answers_200_with_message_and_the_created_testimonial(
    owner: Caller, project_id: str
) -> None:
    answer = owner.post(_path(project_id), FULL)
    assert answer.status_code == 200
    assert set(answer.json) == {"message", "data"}
    created = answer.json["data"]
    assert set(created) == set(FULL) | TIMES | {"_id", "projectId", "status", "source"}
    assert created | FULL == created
    assert created["projectId"] == project_id
    assert (created["source"], created["status"]) == ("manual", "approved")
    assert all(TIME.fullmatch(created[name]) for name in TIMES)


def test_fields_that_are_not_set_are_omitted_but_author_role_is_empty(
    owner: Caller, project_id: str
) -> None:
    created = owner.create_testimonial(project_id)
    assert set(created) == set(NEEDED) | TIMES | {
        "_id", "projectId", "status", "source", "authorRole"
    }  # fmt: skip
    assert created["authorRole"] == ""


def test_empty_role_and_company_count_as_not_given(owner: Caller, project_id: str) -> None:
    created = owner.create_testimonial(project_id, authorRole=" ", authorCompany="\t")
    assert created["authorRole"] == ""
    assert "authorCompany" not in created


@pytest.mark.parametrize("name", ["authorName", "text"])
def test_name_and_text_are_required(owner: Caller, project_id: str, name: str) -> None:
    body = {key: value for key, value in NEEDED.items() if key != name}
    error = _refuse(owner, project_id, body)
    assert list(error["errors"]) == [name]
    assert error["code"] == "VALIDATION_FAILED"
    assert name in error["message"]
    assert "required" in error["message"]


@pytest.mark.parametrize(
    ("name", "most"),
    [("authorName", 120), ("authorRole", 120), ("authorCompany", 120), ("text", 2000)],
)
def test_lengths_count_code_points_after_trimming(
    owner: Caller, project_id: str, name: str, most: int
) -> None:
    # Each of these takes four bytes of UTF-8 and two of UTF-16's units.
    longest = "😀" * most
    error = _refuse(owner, project_id, NEEDED | {name: longest + "x"})
    assert error["errors"] == {name: [f"Must be at most {most} characters; this has {most + 1}."]}
    assert owner.create_testimonial(project_id, **{name: f"  {longest} \n"})[name] == longest


def test_a_rating_from_1_to_5_comes_back_as_the_number_it_is(
    owner: Caller, project_id: str
) -> None:
    for rating in [1, 1.0, 4.5, 3.14159, 5, 5.0]:
        created = owner.create_testimonial(project_id, rating=rating)["rating"]
        assert created == rating
        # JSON has one kind of number, but 5 and not 5.0 is what a person reads.
        assert isinstance(created, int) == float(rating).is_integer()


def test_nan_and_infinity_are_refused(owner: Caller, project_id: str) -> None:
    for rating in ["NaN", "Infinity", "-Infinity", "1e999"]:
        body = f'{{"authorName": "A", "text": "B", "rating": {rating}}}'
        answer = owner.client.post(
            _path(project_id),
            data=body,
            headers=owner.headers | {"Content-Type": "application/json"},
        )
        assert answer.status_code == 400
        assert answer.json["code"] == "INVALID_BODY"


@pytest.mark.parametrize("name", sorted(FULL))
def test_a_wrong_json_type_is_400_and_null_is_no_way_to_omit_a_field(
    owner: Caller, project_id: str, name: str
) -> None:
    for value in [None, 1, True, ["a"], {"a": "b"}]:
        if name == "rating" and value == 1 and value is not True:
            continue
        assert list(_refuse(owner, project_id, FULL | {name: value})["errors"]) == [name]


def test_unknown_fields_are_400_and_named(owner: Caller, project_id: str) -> None:
    for name in [
        "status",
        "source",
        "pinned",
        "authorEmail",
        "twitter",
        "createdAt",
        "_id",
        "AuthorName",
    ]:
        error = _refuse(owner, project_id, NEEDED | {name: "x"})
        assert list(error["errors"]) == [name]
        assert "authorName, text, rating" in error["message"]


def test_every_broken_rule_is_named_at_once(owner: Caller, project_id: str) -> None:
    error = _refuse(owner, project_id, {"text": 5, "rating": 9, "shoe": "x"})
    assert set(error["errors"]) == {"authorName", "text", "rating", "shoe"}
    assert all(name in error["message"] for name in error["errors"])


@pytest.mark.parametrize("name", ["authorName", "authorRole", "authorCompany"])
def test_names_roles_and_companies_are_one_line(owner: Caller, project_id: str, name: str) -> None:
    for character in ["\n", "\u2028", "\u2029", "\x85"]:
        error = _refuse(owner, project_id, NEEDED | {name: f"a{character}b"})
        assert error["errors"][name] == ["Must be one line, without line breaks."]


def test_text_comes_back_as_it_was_sent(owner: Caller, project_id: str) -> None:
    for words in [
        "<script>alert(1)</script> & \"quotes\" 'n' {{7*7}}",
        "tab\there\nand a new line",
        "مرحبا — שלום — 日本語 — 👩‍👩‍👧 — Ünïcödé",
        "'; DROP TABLE testimonial; --",
        "%s %n \\u0000 \\",
    ]:
        created = owner.create_testimonial(project_id, text=words)
        assert created["text"] == words
        assert owner.get(_path(project_id)).json["data"]["items"][0]["text"] == words


def test_a_lone_surrogate_is_400(owner: Caller, project_id: str) -> None:
    answer = owner.client.post(
        _path(project_id),
        data=b'{"authorName": "\\ud800", "text": "B"}',
        headers=owner.headers | {"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.json["code"]) == (400, "INVALID_BODY")


def test_a_body_that_is_no_json_object_is_400(owner: Caller, project_id: str) -> None:
    for content, kind in [
        (b"", "application/json"),
        (b"  ", "application/json"),
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'"text"', "application/json"),
        (b"null", "application/json"),
        (b"\xff\xfe{}", "application/json"),
        (b"[" * 30_000, "application/json"),
        (b'{"text": "a", "text": "b"}', "application/json"),
        (json.dumps(NEEDED).encode(), "text/plain"),
        (json.dumps(NEEDED).encode(), ""),
        (b"authorName=A&text=B", "application/x-www-form-urlencoded"),
    ]:
        headers = owner.headers | ({"Content-Type": kind} if kind else {})
        answer = owner.client.post(_path(project_id), data=content, headers=headers)
        assert (answer.status_code, answer.json["code"]) == (400, "INVALID_BODY"), answer.text


def test_a_body_over_64_kib_is_413_as_json(owner: Caller, project_id: str) -> None:
    answer = owner.post(_path(project_id), NEEDED | {"text": "a" * 65_536})
    assert (answer.status_code, answer.json["code"]) == (413, "BODY_TOO_LARGE")
    assert "64 KiB" in answer.json["message"]
    assert count_rows(owner.client.application, models.Testimonial) == 0


def test_an_unknown_project_is_404(owner: Caller) -> None:
    for project in ["unknown", "f" * 24, "F" * 24, "a" * 23, "%00", "' OR 1=1"]:
        answer = owner.post(_path(project), NEEDED)
        assert (answer.status_code, answer.json["code"]) == (404, "NOT_FOUND")


def test_a_foreign_project_is_404_with_the_same_body_as_an_unknown_one(
    owner: Caller, outsider: Caller
) -> None:
    project_id = owner.create_project()["_id"]
    foreign = outsider.post(_path(project_id), NEEDED)
    unknown = outsider.post(_path("f" * 24), NEEDED)
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.data == unknown.data
    assert count_rows(owner.client.application, models.Testimonial) == 0


def test_a_bad_pair_is_401_even_for_an_unknown_project(owner: Caller, outsider: Caller) -> None:
    headers = owner.headers | {"x-api-key": outsider.api_key}
    for project_id in ("f" * 24, owner.create_project()["_id"]):
        answer = owner.client.post(_path(project_id), headers=headers, json=NEEDED)
        assert answer.status_code == 401


def test_the_api_has_no_cookies_and_no_cors(owner: Caller, project_id: str) -> None:
    headers = owner.headers | {"Origin": "https://shop.example"}
    answer = owner.client.post(_path(project_id), headers=headers, json=NEEDED)
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("hours", [0, -48])
def test_times_strictly_increase_within_a_project_whatever_the_clock_does(
    owner: Caller, project_id: str, moved_clock: MovableClock, hours: int
) -> None:
    times = []
    for _ in range(4):
        times.append(owner.create_testimonial(project_id)["createdAt"])
        moved_clock.move(hours=hours)
    assert times == sorted(set(times))


def test_a_refused_creation_moves_neither_time_nor_version(
    owner: Caller, project_id: str, app: Flask
) -> None:
    before = read_project(app, project_id)
    _refuse(owner, project_id, {"text": "no name"})
    after = read_project(app, project_id)
    assert before.feed_version == after.feed_version
    assert before.last_testimonial_at == after.last_testimonial_at
    assert read_testimonials(app, project_id) == []
