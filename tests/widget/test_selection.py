"""What a container may choose: GET /widget/:id/feed with ?shape=, ?id=, ?tag= and ?min=."""

from typing import Any

from testimonials.widget.container import BADGES, SHAPES
from tests.support.rows import add_testimonial, change_project
from tests.widget.conftest import read_feed


def _texts(feed: dict[str, Any]) -> list[str]:
    return [item["text"] for item in feed["items"]]


def test_one_stands_alone(app, client, outsider, project):
    wanted = add_testimonial(app, project, text="This one")
    add_testimonial(app, project, text="Not this one")
    feed = read_feed(client, project, f"id={wanted}")
    assert (_texts(feed), feed["total"], feed["next"]) == (["This one"], 1, None)
    # Within somebody's page it has no button of its own below.
    assert "cta" not in feed
    pending = add_testimonial(app, project, text="Waits", status="pending")
    foreign = add_testimonial(app, outsider.create_project()["_id"], text="Somebody else's")
    for hidden in (pending, foreign, "0" * 24):
        assert read_feed(client, project, f"id={hidden}")["items"] == []


def test_tags_in_any_spelling(app, client, owner, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"initialCount": 3})
    for number in range(5):
        add_testimonial(app, project, text=f"Tagged {number}", tags=["Wedding hair"])
        add_testimonial(app, project, text=f"Other {number}", tags=["Wedding"])
    for spelling in ("Wedding%20hair", "wedding%20HAIR"):
        feed = read_feed(client, project, f"tag={spelling}")
        assert (_texts(feed), feed["total"]) == (["Tagged 4", "Tagged 3", "Tagged 2"], 5)
        rest = read_feed(client, project, f"tag={spelling}&after={feed['next']}")
        assert (_texts(rest), rest["next"]) == (["Tagged 1", "Tagged 0"], None)
    assert read_feed(client, project, "tag=unknown")["total"] == 0


def test_a_least_length_counts_letters(app, client, project):
    for text in ("ä" * 39, "日" * 40, "😀" * 41):
        add_testimonial(app, project, text=text)
    feed = read_feed(client, project, "min=40")
    assert (_texts(feed), feed["total"]) == (["😀" * 41, "日" * 40], 2)


def test_the_badge_counts_genuine_ratings(app, client, agent):
    project = agent.create_project(skipDemoTestimonials=False, slug="samples")["_id"]
    empty = read_feed(client, project, "shape=badge")
    assert (empty["total"], empty["items"]) == (0, [])
    for rating, values in [
        (5, {}), (4.5, {}), (3, {"text": "short", "tags": ["other"]}), (1, {"status": "pending"}),
        (1, {"status": "rejected"}), (None, {}),
    ]:  # fmt: skip
        add_testimonial(app, project, rating=rating, source="public_page", **values)
    # Whatever else is chosen, an average is of all.
    for query in ("shape=badge", "shape=badge&min=10&tag=other"):
        feed = read_feed(client, project, query)
        wall = "https://testimonials.example.com/samples/wall"
        assert feed["badge"] == {"average": 3.4, "label": "4 ratings", "url": wall}
        assert (feed["total"], feed["items"], feed["next"]) == (4, [], None)


def test_badges_and_people_say_true_numbers(app, client, agent):
    project = agent.create_project(skipDemoTestimonials=False)["_id"]
    picture = "https://example.com/ann.png"
    for name, rating, values in [
        ("Bea", 4, {}), ("Ann", 5, {"author_avatar": picture}), ("Cid", 3.5, {}),
        ("Dora", None, {}), ("Ed", 1, {"status": "rejected"}), ("Bea", 5, {}),
    ]:  # fmt: skip
        add_testimonial(app, project, author_name=name, rating=rating, **values)
    for shape in BADGES:
        feed = read_feed(client, project, f"shape={shape}&tag=none&min=100")
        assert (feed["shape"], feed["total"], feed["items"]) == (shape, 5, [])
        # Whatever their stars; nobody stands there twice, and no sample at all.
        people = [("Ann", picture), ("Bea", None), ("Dora", None), ("Cid", None)]
        assert feed["header"] == {
            "average": 3.7,
            "count": 5,
            "people": 6,
            "all": True,
            "faces": [
                {"name": name, "face": [name[0], colour], "avatar": avatar}
                for (name, avatar), colour in zip(people, (1, 2, 2, 2), strict=True)
            ],
        }


def test_a_popup_has_five_and_a_single_one(app, client, project):
    for number in range(7):
        add_testimonial(app, project, text=f"Number {number}", tags=["a"] * (number % 2))
    for shape, query, expected in [
        ("popup", "", ["Number 6", "Number 5", "Number 4", "Number 3", "Number 2"]),
        ("popup", "&tag=a", ["Number 5", "Number 3", "Number 1"]),
        ("single", "", ["Number 6"]),
        ("single", "&tag=a", ["Number 5"]),
    ]:
        feed = read_feed(client, project, f"shape={shape}{query}")
        assert (feed["shape"], _texts(feed)) == (shape, expected)
        assert (feed["total"], feed["next"], "cta" in feed) == (len(expected), None, False)
    change_project(app, project, status="inactive")
    for shape in SHAPES:
        feed = read_feed(client, project, f"shape={shape}")
        assert (feed["total"], feed["items"], feed["project"]["active"]) == (0, [], False)
        assert (feed.get("header") or {"people": 0})["people"] == 0


def test_a_strip_is_always_one_row(client, owner, project):
    for number in range(12):
        owner.create_testimonial(project, text=f"Number {number}")
    for animation, expected in (("none", "none"), ("vertical", "horizontal")):
        path = f"/v1/projects/{project}/widget-config"
        owner.patch(path, {"layout": "list", "animation": animation, "initialCount": 4})
        feed = read_feed(client, project, "shape=strip")
        assert feed["shape"] == "strip"
        assert (feed["config"]["layout"], feed["config"]["animation"]) == ("carousel", expected)
        assert (len(feed["items"]), feed["total"], feed["next"]) == (4, 4, None)


def test_what_means_nothing_is_refused_by_name(client, project):
    for query in (
        "shape=circle", "id=x", "id=%00", "min=-1", "min=2001", "min=ten", "min=%D9%A3",
        f"tag={'x' * 41}", "tag=a%00b", "theme=blue",
    ):  # fmt: skip
        answer = client.get(f"/widget/{project}/feed?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.json["errors"]
