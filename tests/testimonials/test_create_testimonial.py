"""POST /v1/projects/:id/testimonials (spec, "POST /v1/projects/:id/testimonials")."""

import re
from typing import Any

import pytest

from testimonials.testimonials import models
from tests.conftest import Caller
from tests.support.rows import count_rows, read_project

NEEDED = {"authorName": "Maya Kowalski", "text": "It simply works."}
FULL = NEEDED | {
    "rating": 4.5, "authorRole": "Owner", "authorCompany": "Kiln & Clay",
    "authorAvatar": "https://example.com/maya.jpg",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TIMES = {"submittedAt", "createdAt", "updatedAt"}


def _path(project_id: str) -> str:
    return f"/v1/projects/{project_id}/testimonials"


def _refuse(owner: Caller, project_id: str, body: object) -> dict[str, Any]:
    """Post a body that must be refused with 400, and make sure that nothing was stored."""
    answer = owner.post(_path(project_id), body)
    assert answer.status_code == 400, answer.text
    assert "data" not in answer.json
    assert count_rows(owner.client.application, models.Testimonial) == 0
    return dict(answer.json)


def test_answers_200_with_the_created_testimonial(owner, project_id):
    answer = owner.post(_path(project_id), FULL)
    assert answer.status_code == 200
    assert set(answer.json) == {"message", "data"}
    created = answer.json["data"]
    assert set(created) == set(FULL) | TIMES | {"_id", "projectId", "status", "source"}
    assert created | FULL == created
    assert created["projectId"] == project_id
    assert (created["source"], created["status"]) == ("manual", "approved")
    assert all(TIME.fullmatch(created[name]) for name in TIMES)


def test_unset_fields_are_omitted_but_role_is_empty(owner, project_id):
    given = set(NEEDED) | TIMES | {"_id", "projectId", "status", "source", "authorRole"}
    for empty in ({}, {"authorRole": " ", "authorCompany": "	"}):
        created = owner.create_testimonial(project_id, **empty)
        assert set(created) == given
        assert created["authorRole"] == ""


def test_name_and_text_are_required(owner, project_id):
    for name in NEEDED:
        body = {key: value for key, value in NEEDED.items() if key != name}
        error = _refuse(owner, project_id, body)
        assert list(error["errors"]) == [name]
        assert error["code"] == "VALIDATION_FAILED"
        assert name in error["message"]
        assert "required" in error["message"]
    for name in ("authorName", "authorRole", "authorCompany"):
        error = _refuse(owner, project_id, NEEDED | {name: "a\nb"})
        assert error["errors"][name] == ["Must be one line, without line breaks."]


def test_lengths_count_code_points_after_trimming(owner, project_id):
    limits = {"authorName": 120, "authorRole": 120, "authorCompany": 120, "text": 2000}
    for name, most in limits.items():
        # Each of these takes four bytes of UTF-8 and two of UTF-16's units.
        longest = "😀" * most
        error = _refuse(owner, project_id, NEEDED | {name: longest + "x"})
        said = f"Must be at most {most} characters; this has {most + 1}."
        assert error["errors"] == {name: [said]}
    for name, most in limits.items():
        longest = "😀" * most
        assert owner.create_testimonial(project_id, **{name: f"  {longest} \n"})[name] == longest


def test_a_rating_comes_back_as_the_number_it_is(owner, project_id):
    for rating in [1, 1.0, 4.5, 3.14159, 5, 5.0]:
        created = owner.create_testimonial(project_id, rating=rating)["rating"]
        assert created == rating
        # JSON has one kind of number, but 5 and not 5.0 is what a person reads.
        assert isinstance(created, int) == float(rating).is_integer()


def test_every_broken_rule_is_named_at_once(app, owner, project_id):
    before = read_project(app, project_id)
    error = _refuse(owner, project_id, {"text": 5, "rating": 9, "shoe": "x"})
    assert set(error["errors"]) == {"authorName", "text", "rating", "shoe"}
    assert all(name in error["message"] for name in error["errors"])
    # What is refused moves neither time nor version.
    after = read_project(app, project_id)
    assert before.feed_version == after.feed_version
    assert before.last_testimonial_at == after.last_testimonial_at


@pytest.mark.parametrize("hours", [0, -48])
def test_times_strictly_increase_within_a_project_whatever_the_clock_does(
    owner, project_id, moved_clock, hours
):
    times = []
    for _ in range(4):
        times.append(owner.create_testimonial(project_id)["createdAt"])
        moved_clock.move(hours=hours)
    assert times == sorted(set(times))
