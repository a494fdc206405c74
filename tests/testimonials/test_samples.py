"""The six samples of an account's first project, and DELETE .../testimonials/demo (spec)."""

from typing import Any

from testimonials.core.db.transactions import write
from testimonials.projects.brand import TRADES
from testimonials.projects.projects import delete_project, get_project
from testimonials.testimonials import models
from testimonials.testimonials.samples import PEOPLE, SAMPLES, write_samples
from tests.auth.links import ORIGIN
from tests.conftest import Caller
from tests.support.rows import add_testimonial, count_rows, read_project, read_testimonials


def _items(caller: Caller, project: dict[str, Any]) -> list[dict[str, Any]]:
    answer = caller.get(f"/v1/projects/{project['_id']}/testimonials")
    return list(answer.json["data"]["items"])


def test_deleting_the_first_gives_them_to_no_later_one(app, owner):
    first = owner.create_project(skipDemoTestimonials=False)
    with app.app_context(), write():
        delete_project(get_project(first["_id"]))
    assert count_rows(app, models.Testimonial) == 0
    assert _items(owner, owner.create_project(skipDemoTestimonials=False)) == []


def test_they_are_six_of_the_business_with_faces_of_ours_and_said_to_be_samples(owner):
    project = owner.create_project(skipDemoTestimonials=False, businessName="Kiln & Clay")
    items = _items(owner, project)
    assert {(item["status"], item["source"]) for item in items} == {("demo", "demo")}
    assert len({item["authorName"] for item in items}) == 6
    assert len({item["text"].replace("Kiln & Clay", "") for item in items}) == 6
    assert all("Kiln & Clay" in item["text"] for item in items)
    assert {item["authorRole"] for item in items} == {"Sample customer"}
    assert all(4 <= item["rating"] <= 5 for item in items)
    times = [item["createdAt"] for item in items]
    assert times == sorted(set(times), reverse=True)
    feed = owner.client.get(f"/widget/{project['_id']}/feed").json
    assert [item["id"] for item in feed["items"]] == [item["_id"] for item in items]
    assert all(item["isSample"] for item in feed["items"])
    assert all(item["authorAvatar"].startswith(ORIGIN) for item in feed["items"])
    for item in items:
        path = item["authorAvatar"].removeprefix(ORIGIN)
        answer = owner.client.get(path, buffered=True)
        assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml"), path


TRADES_BY_NAME = {
    "Oat & Ember Bakery": "bakery", "Café Linde": "cafe", "Fern Hair Salon": "salon",
    "Bücher-Laden": "shop", "Kiln Pottery": "craft", "Anna Coaching": "coach",
    "Northgate Software": "software", "Kiln & Clay": "anything", "": "anything",
    "Landbäckerei Huber": "bakery", "The Daily Bread": "bakery", "Café Central": "cafe",
    "Fern & Fable Salon": "salon", "Rosa's Flower Shop": "shop", "Schreinerei Vogt": "craft",
    "Nimbus Cloud": "software", "Oat & Ember": "anything", "東京": "anything",
}  # fmt: skip


def test_they_are_of_the_trade_that_the_name_tells():
    for name, trade in TRADES_BY_NAME.items():
        said = [each.text.replace("{name}", name or "your product") for each in SAMPLES[trade]]
        assert [columns["text"] for columns in write_samples(name)] == said


def test_eight_trades_have_six_voices_each():
    assert SAMPLES.keys() == TRADES.keys()
    # Neither is grey or indigo.
    assert not {"#4F46E5", "#27272A"} & set(TRADES.values())
    assert {each.who for samples in SAMPLES.values() for each in samples} == PEOPLE.keys()
    for trade, samples in SAMPLES.items():
        assert len({each.who for each in samples}) == 6, trade
        assert all("{name}" in each.text and 4 <= each.rating <= 5 for each in samples), trade
    texts = [each.text for samples in SAMPLES.values() for each in samples]
    assert len(texts) == len(set(texts)) == 48


def test_deletes_every_demo_and_says_how_many(app, owner):
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


def test_entries_of_any_other_status_are_untouched(app, owner):
    project_id = owner.create_project(skipDemoTestimonials=False)["_id"]
    kept = {
        add_testimonial(app, project_id, status=status, source=source)
        for status in ("approved", "pending", "rejected")
        for source in ("manual", "public_page", "import", "demo")
    }
    owner.delete(f"/v1/projects/{project_id}/testimonials/demo")
    assert {row.id for row in read_testimonials(app, project_id)} == kept
