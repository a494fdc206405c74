"""DELETE /v1/projects/:id/testimonials/demo (spec, "DELETE .../testimonials/demo")."""

import pytest
from flask import Flask

from tests.conftest import Caller
from tests.support.rows import add_testimonial, read_project, read_testimonials


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project(skipDemoTestimonials=False)["_id"])


def _path(project_id: str) -> str:
    return f"/v1/projects/{project_id}/testimonials/demo"


def test_deletes_every_demo_and_says_how_many(app: Flask, owner: Caller, project_id: str) -> None:
    answer = owner.delete(_path(project_id))
    assert answer.status_code == 200
    assert set(answer.json) == {"message", "data"}
    assert answer.json["data"] == {"deletedCount": 6}
    assert owner.get(f"/v1/projects/{project_id}/testimonials").json["data"]["items"] == []
    version = read_project(app, project_id).feed_version
    assert owner.delete(_path(project_id)).json["data"] == {"deletedCount": 0}
    assert read_project(app, project_id).feed_version == version


def test_entries_of_any_other_status_are_untouched(
    app: Flask, owner: Caller, project_id: str
) -> None:
    kept = {
        add_testimonial(app, project_id, status=status, source=source)
        for status in ("approved", "pending", "rejected")
        for source in ("manual", "public_page", "import", "demo")
    }
    owner.delete(_path(project_id))
    assert {row.id for row in read_testimonials(app, project_id)} == kept


def test_the_feed_is_without_them_in_the_very_next_answer(owner: Caller, project_id: str) -> None:
    first = owner.client.get(f"/widget/{project_id}/feed")
    assert first.json["total"] == 6
    owner.delete(_path(project_id))
    again = owner.client.get(
        f"/widget/{project_id}/feed", headers={"If-None-Match": first.headers["ETag"]}
    )
    assert (again.status_code, again.json["total"]) == (200, 0)
