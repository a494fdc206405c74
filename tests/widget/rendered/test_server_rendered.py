"""The public wall and the fragment: the widget without its script."""

import json
import re
from typing import Any

from flask import Flask

from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.projects.projects import lock_project
from testimonials.widget.drafts import change_rated
from tests.support.rows import add_testimonial, change_project, change_testimonial, expire_account

APP = "https://testimonials.example.com"
ATTACK = (
    "</style></template></script><script>alert(1)</script><!-- \"'><img src=x onerror=alert(1)>"
)


def _rate(app: Flask, project: str, name: str = "Wheel course") -> None:
    with app.app_context(), write():
        change_rated(lock_project(project), {"kind": "Course", "name": name})


def _structured_data(page: str) -> Any:
    found = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    assert len(found) <= 1
    return json.loads(found[0]) if found else None


def _texts(page: str) -> list[str]:
    return re.findall(r"<blockquote[^>]*>([^<]*)</blockquote>", page)


def _surfaces(project: str) -> tuple[str, ...]:
    base = f"/widget/{project}"
    return base, f"{base}/fragment", "/kiln/wall"


def test_all_show_the_feed(app, client, owner, project):
    for number in range(5):
        owner.create_testimonial(project, text=f"Words no. {number}", rating=4.5)
    pinned = add_testimonial(app, project, text="Pinned", author_email="x@example.com")
    owner.create_testimonial(project, text="Newest")
    change_testimonial(app, pinned, is_pinned=True)
    for status in ("pending", "rejected", "spam", "withdrawn"):
        add_testimonial(app, project, text=f"Hidden {status}", status=status)
    add_testimonial(app, project, text="Hidden trash", deleted_at=clock.now())
    feed = client.get(f"/widget/{project}/feed").json
    shown = [item["text"] for item in feed["items"]]
    assert shown[0] == "Pinned"
    for path in _surfaces(project):
        page = client.get(path).text
        assert _texts(page) == shown, path
        assert "Hidden" not in page
        assert "x@example.com" not in page
        cards = page[page.index("<figure") :]
        assert cards.count('aria-label="Rated 4.5 out of 5"') == 5


def test_the_wall_says_what_it_is(client, owner, project):
    owner.create_testimonial(project, rating=5)
    owner.create_testimonial(project, rating=4)
    answer = client.get("/kiln/wall")
    page = answer.text
    assert "<title>What customers say about Kiln &amp; Clay</title>" in page
    assert f'<link rel="canonical" href="{APP}/kiln/wall">' in page
    assert f'<meta property="og:image" content="{APP}/kiln/share.png">' in page
    assert client.get("/kiln/share.png").status_code == 200
    assert "4.5 out of 5, from 2 ratings" in page
    # Complete without the script, which only tells that it was seen; not to be framed, as other
    # pages of ours.
    assert page.count("<script") == 1
    assert "widget/wall.js" in page
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    german = {"Accept-Language": "de"}
    assert "Was Kunden über Kiln" in client.get("/kiln/wall", headers=german).text


def test_a_renamed_a_paused_and_an_unknown_wall(app, client, owner, agent, project):
    owner.create_testimonial(project, text="Unmistakable")
    change_project(app, project, status="inactive")
    for path in _surfaces(project):
        answer = client.get(path)
        assert (answer.status_code, "Unmistakable" in answer.text) == (200, False)
    other = agent.create_project(slug="unclaimed")["_id"]
    assert client.get(f"/widget/{other}").status_code == 200
    expire_account(app, agent.account_id)
    pages = [f"/widget/{each}" for each in (other, "0" * 24, "x", "%00", f"{project}/")]
    pages += [f"/widget/{other}/fragment", "/widget/x/fragment"]
    for path in (*pages, "/unclaimed/wall", "/nobody/wall", "/%00/wall"):
        assert client.get(path).status_code == 404, path


def test_html_in_any_field_is_text(app, client, owner):
    project = owner.create_project(businessName=ATTACK, slug="kiln")["_id"]
    owner.create_testimonial(
        project, text=f"{ATTACK}\n{ATTACK}", authorName=ATTACK, authorRole=ATTACK, rating=5,
        authorAvatar="https://example.com/a.png?%22%3E",
    )  # fmt: skip
    _rate(app, project, ATTACK)
    pages = {path: client.get(path).text for path in _surfaces(project)}
    for page in pages.values():
        assert page.count("<template") == page.count("</template>")
        assert page.count("<style") == page.count("</style>") == 1
        assert _structured_data(page)["name"] == ATTACK
    pages["newsletter"] = client.get(f"/widget/{project}/newsletter").text
    for path, page in pages.items():
        assert "alert(1)&lt;" in page, path
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path


def test_structured_data_is_what_is_shown(app, client, agent):
    project = agent.create_project(slug="kiln", skipDemoTestimonials=False)["_id"]
    assert not any(_structured_data(client.get(path).text) for path in _surfaces(project))
    _rate(app, project)
    # Samples alone are no ratings.
    assert not any(_structured_data(client.get(path).text) for path in _surfaces(project))
    add_testimonial(app, project, text="Real", author_name="Maya", rating=4.5)
    add_testimonial(app, project, text="Without stars", rating=None)
    add_testimonial(app, project, text="Waits", rating=1, status="pending")
    for path in _surfaces(project):
        data = _structured_data(client.get(path).text)
        assert (data["@type"], data["name"]) == ("Course", "Wheel course")
        rating = {"ratingValue": 4.5, "ratingCount": 1, "bestRating": 5, "worstRating": 1}
        assert data["aggregateRating"] == {"@type": "AggregateRating"} | rating
        assert [review["reviewBody"] for review in data["review"]] == ["Real"]
        assert data["review"][0]["author"] == {"@type": "Person", "name": "Maya"}


def test_the_page_has_script_and_frame(client, owner, project):
    owner.create_testimonial(project)
    path = f"/widget/{project}"
    answer = client.get(path)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    snippet = owner.get(f"/v1/projects/{project}/embed-snippet").json["data"]
    assert snippet["script"].replace("async", "defer") in answer.text
    assert f'<div data-testimonials-project="{project}">' in answer.text
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors *" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    # In a frame it has no heading for the eye.
    framed = client.get(path, headers={"Sec-Fetch-Dest": "iframe"})
    assert 'class="is-framed"' in framed.text
    assert 'class="is-framed"' not in answer.text
    assert "Sec-Fetch-Dest" in framed.headers["Vary"]


def test_shapes_are_rendered(app, client, owner, project):
    wanted = owner.create_testimonial(project, text="This one", rating=5)["_id"]
    owner.create_testimonial(project, text="Another", rating=4)
    base = f"/widget/{project}"
    for path in (base, f"{base}/fragment"):
        assert _texts(client.get(f"{path}?id={wanted}").text) == ["This one"]
        for shape, words in (
            ("badge", "<b>4.5</b><span>from all 2 ratings</span>"),
            ("badge-corner", "<b>4.5</b><span>from all 2 ratings</span>"),
            ("badge-sentence", "<b>4.5</b> <u>from all 2 ratings</u>"),
            ("badge-card", '<b class="average" part="average">4.5</b>'),
            ("people", "<b>2 people wrote</b>"),
        ):
            badge = client.get(f"{path}?shape={shape}").text
            assert words in badge, shape
            assert _texts(badge) == []
        assert 'class="tm carousel strip default' in client.get(f"{path}?shape=strip").text
        assert _texts(client.get(f"{path}?shape=single").text) == ["Another"]
        # A pop-up is nothing to look at without the script that opens it.
        assert _texts(client.get(f"{path}?shape=popup").text) == []
        assert "light-dark(" in client.get(f"{path}?theme=auto").text
        assert client.get(f"{path}?shape=circle").status_code == 400
        change_project(app, project, widget_design={"layout": "spotlight"})
        assert 'class="tm list default' in client.get(path).text
        change_project(app, project, widget_design={})
    assert client.get(f"{base}/fragment?shape=popup").text.strip() == ""


def test_people_are_counted_without_ratings(client, owner, project):
    owner.create_testimonial(project, text="No stars")
    totals = {}
    for shape in ("people", "badge"):
        totals[shape] = client.get(f"/widget/{project}/feed?shape={shape}").get_json()["total"]
        shown = client.get(f"/widget/{project}/fragment?shape={shape}").text
        assert ("<b>1 person wrote</b></span>" in shown) is (shape == "people")
    assert totals == {"people": 1, "badge": 0}


def test_a_design_is_rendered(app, client, project):
    time = clock.now().replace(year=2026, month=3, day=9)
    for number in range(3):
        add_testimonial(
            app, project, text="𝄞 Short <words>.", rating=4.5, submitted_at=time,
            highlights=[[2, 7]], reply=f"Thanks {number}", replied_at=time,
        )  # fmt: skip
    pinned = add_testimonial(app, project, text="W" * 141, is_pinned=True, rating=5)
    design = {
        "brandColor": "#C2410C", "radius": 0, "density": "airy", "photoSize": 64, "font": "serif",
        "starColor": "brand", "dateStyle": "absolute", "featured": "solid", "showHeader": True,
    }  # fmt: skip
    change_project(app, project, widget_design=design)
    base = f"/widget/{project}"
    for path in (base, f"{base}/fragment"):
        german = client.get(f"{path}?lang=de").text
        assert 'class="tm masonry default airy' in german
        assert "#BB3A00" in german.upper()
        for value in ("--tm-radius:0px", "--tm-round:0", "--tm-photo:64px", "--tm-font:Georgia"):
            assert value in german
        assert '<li class="featured solid"><figure' in german
        # The size goes by the letters, and what is marked by its place.
        assert '<blockquote class="text" part="text">W' in german
        marked = '𝄞 <mark class="mark" part="mark">Short</mark> &lt;words&gt;.</blockquote>'
        assert german.count(f'<blockquote class="text short tiny" part="text">{marked}') == 3
        assert "<b>Antwort von Kiln &amp; Clay</b><p><bdi>Thanks 2</bdi></p>" in german
        assert "<bdi>9. März 2026</bdi>" in german
        assert '<span class="average" part="average">4,6</span>' in german
        assert re.search('aria-label="[^"]*4,5', german)
    design = {"dateStyle": "month", "featured": "off", "showHighlights": False, "photoSize": 0}
    change_project(app, project, widget_design=design)
    page = client.get(base).text
    # Half of the cards would say the same.
    assert "<time" not in page
    assert "<mark" not in page
    assert 'class="avatar' not in page
    assert 'class="featured' not in page
    change_testimonial(app, pinned, is_pinned=False, submitted_at=time.replace(month=5))
    for month in (4, 6, 7):
        add_testimonial(app, project, submitted_at=time.replace(month=month))
    assert "Mar 2026" in client.get(base).text
    assert "mars 2026" in client.get("/kiln/wall?lang=fr").text


def test_the_fragment_needs_nothing_else(client, owner, project):
    path = f"/widget/{project}/fragment"
    assert "Be the first to say a few words." in client.get(path).text
    owner.patch(f"/v1/projects/{project}/widget-config", {"showCtaButton": False})
    assert client.get(path).text.strip() == ""
    for _ in range(4):
        owner.create_testimonial(project, rating=5)
    answer = client.get(path)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert '<template shadowrootmode="open"><style>' in answer.text
    assert "<script" not in answer.text
    # Only what leads agents to the policy, which no browser fetches.
    assert re.findall("<link rel=.(\\w+)", answer.text) == ["describedby"] * 2
    assert "url(" not in answer.text
    assert re.findall(r'(?:src|data)="([^"]+)"', answer.text) == []
    assert len(_texts(client.get(f"{path}?limit=2").text)) == 2
    for limit in ("0", "51", "-1", "x", "1" * 12, "%D9%A3"):
        assert client.get(f"{path}?limit={limit}").status_code == 400
    assert client.get(f"{path}?after=x").status_code in (200, 400)
