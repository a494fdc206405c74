"""What the public sees of a testimonial beside its words: a recording, answers and marks."""

import json
import re

import pytest

from testimonials.core import clock
from testimonials.core.extensions import db
from tests.conftest import Caller
from tests.support.plans import count_statements
from tests.support.rows import add_recording, add_testimonial, change_project
from tests.widget.conftest import read_feed

BUNS = {"id": "aaaaaaaa", "question": "What do you take home?", "kind": "choice"}
BACK = {"id": "bbbbbbbb", "question": "Will you come back?", "kind": "scale"}
ANSWERS = [
    BUNS | {"answer": ["Buns", "Cake"], "isPublic": True},
    BACK | {"answer": 9, "isPublic": True},
    BACK | {"id": "cccccccc", "answer": 1, "isPublic": False},
]


@pytest.fixture
def project(owner: Caller) -> str:
    made = owner.create_project(slug="bakery", businessName="Oat", skipDemoTestimonials=True)
    return str(made["_id"])


def test_recordings_have_all_a_card_needs(app, client, project):
    # An upload that is under way is not shown.
    add_recording(app, add_testimonial(app, project), "voice", state="uploading")
    testimonial = add_testimonial(app, project, text="Warm buns.", highlights=[[0, 4]])
    recording = add_recording(app, testimonial, poster_id="0" * 24, transcript="Warm buns. I stay.")
    item, under_way = read_feed(client, project)["items"]
    assert "extras" not in under_way
    base = "https://testimonials.example.com"
    assert item["extras"] == {
        "recording": {
            "src": f"{base}/media/recordings/{recording}", "type": "video/webm",
            "page": f"{base}/bakery/{testimonial}", "poster": f"{base}/media/{'0' * 24}.webp",
            "captions": f"{base}/media/recordings/{recording}.vtt", "seconds": 58, "width": 350,
        }
    }  # fmt: skip
    assert (item["text"], item["highlights"]) == ("Warm buns.", [[0, 4]])


def test_a_snippet_keeps_room_for_posters(app, owner, project):
    testimonial = add_testimonial(app, project, is_rewarded=True)
    heights = []
    for change in (lambda: add_recording(app, testimonial), lambda: None):
        snippet = owner.get(f"/v1/projects/{project}/embed-snippet").json["data"]
        heights += [int(each) for each in re.findall(r"min-height:(\d+)px", snippet["container"])]
        change()
    assert heights[0] + 200 < heights[1]


def test_private_answers_stay_so_everywhere(app, client, project):
    add_testimonial(app, project, answers=ANSWERS)
    [item] = read_feed(client, project)["items"]
    shown = [["What do you take home?", "Buns, Cake"], ["Will you come back?", "9/10"]]
    assert item["extras"] == {"answers": shown}
    wall = client.get("/bakery/wall").text
    assert "Buns, Cake" in wall
    assert "9/10" in wall
    # Made private later, also what was asked in public is.
    change_project(app, project, private_questions=["aaaaaaaa", "bbbbbbbb"])
    assert "extras" not in read_feed(client, project)["items"][0]
    for path in ("/bakery/wall", f"/widget/{project}/feed.json", f"/widget/{project}/fragment"):
        assert "Buns" not in client.get(path).text, path


def test_marks_say_what_they_mean(app, client, project):
    add_testimonial(app, project, is_rewarded=True, purchase_verified_at=clock.now())
    feed = read_feed(client, project, "lang=de")
    assert feed["items"][0]["extras"] == {"marks": ["verified", "rewarded"]}
    assert feed["words"]["verified"] == "Bestätigter Kauf"
    wall = client.get("/bakery/wall").text
    # On the card for screen readers and as a tip, and below the cards for everybody.
    assert wall.count("They used a link that Oat made for their order.") == 3
    assert wall.count("Oat thanks everyone who writes, whatever they say.") == 3
    newsletter = client.get(f"/widget/{project}/newsletter").text
    assert "Verified customer" in newsletter
    assert "Got a thank-you for writing" in newsletter


def test_words_alone_pay_for_nothing_else(app, client, project):
    testimonial = add_testimonial(app, project)
    plain = read_feed(client, project, "lang=en")
    assert "verified" not in plain["words"]
    with app.app_context():
        engine = db.engine

    def count() -> int:
        """Return how many statements it takes to make the widget's data anew."""
        change_project(app, project, business_name="Oat")
        return count_statements(engine, lambda: read_feed(client, project))

    written = count()
    for _ in range(2):
        add_recording(app, testimonial)
        testimonial = add_testimonial(app, project)
    assert "verified" in read_feed(client, project, "lang=en")["words"]
    assert count() == written + 1


def test_a_page_plays_without_a_script(app, client, project):
    testimonial = add_testimonial(app, project, text="", rating=5)
    recording = add_recording(app, testimonial, transcript="Warm <b>buns</b>.")
    src = f"https://testimonials.example.com/media/recordings/{recording}"
    page = client.get(f"/bakery/{testimonial}").text
    assert f'<video controls playsinline preload="none" crossorigin="anonymous" src="{src}"' in page
    assert f'<track kind="captions" label="CC" src="{src}.vtt" default>' in page
    # The wall and what is built into other sites link to it.
    for path in ("/bakery/wall", f"/widget/{project}/fragment"):
        found = client.get(path).text
        assert f'href="https://testimonials.example.com/bakery/{testimonial}"' in found
        assert "<video" not in found
    item = json.loads(client.get(f"/widget/{project}/feed.json").text)["items"][0]
    assert item["attachments"] == [
        {"url": src, "mime_type": "video/webm", "duration_in_seconds": 58}
    ]
    # Without words there is nothing to draw: a link shows the project's own picture.
    assert client.get(f"/bakery/{testimonial}/picture.png").status_code == 302
