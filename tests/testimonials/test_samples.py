"""The six samples of an account's first project, and DELETE .../testimonials/demo (spec)."""

from typing import Any

from flask import Flask

from testimonials.core.db.transactions import write
from testimonials.projects.projects import delete_project, get_project
from testimonials.testimonials import models
from tests.conftest import Caller
from tests.support.rows import add_testimonial, count_rows, read_project, read_testimonials


def _items(caller: Caller, project: dict[str, Any]) -> list[dict[str, Any]]:
    answer = caller.get(f"/v1/projects/{project['_id']}/testimonials")
    return list(answer.json["data"]["items"])


def test_deleting_the_first_gives_them_to_no_later_one(app: Flask, owner: Caller) -> None:
    first = owner.create_project(skipDemoTestimonials=False)
    with app.app_context(), write():
        delete_project(get_project(first["_id"]))
    assert count_rows(app, models.Testimonial) == 0
    assert _items(owner, owner.create_project(skipDemoTestimonials=False)) == []


def test_they_render_in_the_public_widget_and_say_that_they_are_samples(owner: Caller) -> None:
    project = owner.create_project(skipDemoTestimonials=False, businessName="Kiln & Clay")
    items = _items(owner, project)
    assert len({item["authorName"] for item in items}) == 6
    assert len({item["text"].replace("Kiln & Clay", "") for item in items}) == 6
    assert all("Kiln & Clay" in item["text"] for item in items)
    feed = owner.client.get(f"/widget/{project['_id']}/feed").json
    assert [item["id"] for item in feed["items"]] == [item["_id"] for item in items]
    assert all(item["isSample"] for item in feed["items"])


def test_deletes_every_demo_and_says_how_many(app: Flask, owner: Caller) -> None:
    project_id = owner.create_project(skipDemoTestimonials=False)["_id"]
    feed, path = f"/widget/{project_id}/feed", f"/v1/projects/{project_id}/testimonials/demo"
    first = owner.client.get(feed)
    assert first.json["total"] == 6
    answer = owner.delete(path)
    assert answer.status_code == 200
    assert set(answer.json) == {"message", "data"}
    assert answer.json["data"] == {"deletedCount": 6}
    assert owner.get(f"/v1/projects/{project_id}/testimonials").json["data"]["items"] == []
    # The feed is without them in the very next answer.
    again = owner.client.get(feed, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.json["total"]) == (200, 0)
    version = read_project(app, project_id).feed_version
    assert owner.delete(path).json["data"] == {"deletedCount": 0}
    assert read_project(app, project_id).feed_version == version


def test_entries_of_any_other_status_are_untouched(app: Flask, owner: Caller) -> None:
    project_id = owner.create_project(skipDemoTestimonials=False)["_id"]
    kept = {
        add_testimonial(app, project_id, status=status, source=source)
        for status in ("approved", "pending", "rejected")
        for source in ("manual", "public_page", "import", "demo")
    }
    owner.delete(f"/v1/projects/{project_id}/testimonials/demo")
    assert {row.id for row in read_testimonials(app, project_id)} == kept
