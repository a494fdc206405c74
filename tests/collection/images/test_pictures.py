"""Pictures that shared links show: of a collection page and of a testimonial, in every script."""

import html
import io
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image as Pictures

from testimonials.collection import models
from testimonials.collection.images import pictures, typesetting
from testimonials.collection.images.typesetting import Text, measure
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import Limit
from testimonials.core.images.colors import derive_colors
from testimonials.core.images.uploads import AVATAR, LOGO
from testimonials.testimonials import models as rows_of
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.dashboard.project.test_settings import rename
from tests.support.pictures import photo, read, read_image, to_bytes
from tests.support.rows import (
    add_testimonial,
    change_project,
    change_testimonial,
    count_rows,
    expire_account,
    read_project,
)
from tests.support.sampling import sample


@pytest.fixture
def kiln(owner: Caller) -> str:
    return str(
        owner.create_project(businessName="Kiln & Clay", headline="How was your pot?")["_id"]
    )


def draw_shared(client: FlaskClient) -> Pictures.Image:
    answer = client.get("/kiln-clay/share.png")
    assert (answer.status_code, answer.content_type) == (200, "image/png")
    return read(answer.data).convert("RGB")


def ink(picture: Pictures.Image, box: tuple[int, int, int, int], colour: tuple[int, ...]) -> int:
    """Count the pixels of a colour within a box."""
    return sum(count for count, each in picture.crop(box).getcolors(10**6) or [] if each == colour)


def test_the_page_names_its_picture_and_address(client, kiln):
    page = html.unescape(client.get("/kiln-clay").text)
    found = re.search(r'property="og:image" content="(https://[^"]+)"', page)
    assert found[1].startswith("https://testimonials.example.com/kiln-clay/share.png?v=")
    assert client.get(found[1]).status_code == 200
    for line in (
        '<meta property="og:image:width" content="1200">',
        '<meta property="og:image:height" content="630">',
        '<meta property="og:image:alt" content="Kiln & Clay: ',
        '<meta name="twitter:card" content="summary_large_image">',
        '<link rel="canonical" href="https://testimonials.example.com/kiln-clay">',
        "<title>How was your pot? · Kiln & Clay</title>",
    ):
        assert line in page


def test_it_has_the_brands_colors_texts_and_stars(app, client, kiln):
    change_project(app, kiln, page_config={"buttonColor": "#047857"})
    colors = derive_colors("#047857").light
    picture = draw_shared(client)
    assert picture.size == (1200, 630)
    assert picture.getpixel((0, 0)) == rgb(colors["soft"])
    assert ink(picture, (72, 72, 300, 110), rgb(colors["accent"])) > 2_000
    assert ink(picture, (72, 110, 1128, 300), rgb(colors["text"])) > 2_000
    assert ink(picture, (72, 470, 144, 570), rgb(colors["solid"])) > 2_000


def test_it_follows_what_it_shows_alone(app, client, kiln):
    seen = [client.get("/kiln-clay/share.png")]
    for change in (
        {"page_config": {"headline": "And your bowl?"}}, {"page_config": {"theme": "dark"}},
        {"page_config": {"buttonColor": "#BE123C"}}, {"business_name": "Clay & Kiln"},
    ):  # fmt: skip
        address = re.search(r"share\.png\?v=\w+", client.get("/kiln-clay").text)
        change_project(app, kiln, **change)
        assert re.search(r"share\.png\?v=\w+", client.get("/kiln-clay").text) != address
        seen.append(client.get("/kiln-clay/share.png"))
    assert len({answer.data for answer in seen}) == len({each.headers["ETag"] for each in seen})
    assert len({answer.data for answer in seen}) == len(seen)
    change_project(app, kiln, page_config={"description": "Other words."})
    assert client.get("/kiln-clay/share.png").headers["ETag"] == seen[-1].headers["ETag"]
    assert count_rows(app, models.SharePicture) == 1


def test_it_is_drawn_once_and_shows_the_logo(app, client, kiln):
    first = client.get("/kiln-clay/share.png")
    with app.app_context(), write():
        row = db.session.get_one(models.SharePicture, kiln)
        assert row.content == first.data
        # Had it been drawn anew, this would not come back.
        row.content = to_bytes(photo(), "PNG")
    assert draw_shared(client).size == (64, 48)
    with app.app_context():
        with write():
            picture = Pictures.new("RGB", (300, 100), (220, 20, 20))
            logo = read_image(to_bytes(picture, "PNG"), LOGO)
            db.session.add(logo)
        logo_id = logo.id
    change_project(app, kiln, logo_id=logo_id)
    pixel = draw_shared(client).getpixel((72 + 100, 474 + 46))
    assert pixel[0] > 180
    assert pixel[1] < 60


def test_unknown_and_expired_pages_have_none_and_renamed_ones_lead_on(
    app, client, agent, owner, kiln
):
    rename(open_browser(app, owner), kiln, "clay")
    moved = client.get("/kiln-clay/share.png?v=1")
    assert (moved.status_code, moved.location) == (307, "/clay/share.png?v=1")
    assert client.get(moved.location).status_code == 200
    slug = agent.create_project(businessName="Gone")["publicPageConfig"]["slug"]
    assert client.get(f"/{slug}/share.png").status_code == 200
    expire_account(app, agent.account_id)
    for name in (slug, "nobody", "%00"):
        assert client.get(f"/{name}/share.png").status_code == 404


# Long ones, and what other scripts do.
HARD = (
    ("W" * 120, "w" * 160),
    ("A\u0301\u0308" * 40, "line break " * 10),
    *sample(
        [
            ("🎉🎉", "🎉"), ("مقهى الياسمين", "كيف كانت زيارتك؟"), ("日本の店", "いかがでしたか？"),
            ("Кофейня", "Как всё прошло?"), ("नमस्ते", "आपका अनुभव कैसा रहा?"),
        ],
        2,
    ),
)  # fmt: skip


def test_every_name_stays_within_the_edges(app, client, kiln):
    for name, headline in HARD:
        change_project(app, kiln, business_name=name, page_config={"headline": headline[:160]})
        picture = draw_shared(client)
        assert picture.size == (1200, 630)
        for left in (0, 1130):
            assert len(picture.crop((left, 0, left + 70, 630)).getcolors() or []) == 1


SIZES = {"landscape": (1200, 630), "square": (1080, 1080), "story": (1080, 1920)}
WORDS = "I drive forty minutes for the rye, and I’d drive sixty."


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    found = owner.create_project(businessName="Oat & Ember", slug="oat")["_id"]
    change_project(app, found, widget_design={"brandColor": "#C2410C"})
    return str(found)


def draw(owner: Caller, project: str, testimonial: str, query: str = "") -> Pictures.Image:
    path = f"/v1/projects/{project}/testimonials/{testimonial}/picture{query}"
    # A read ignores If-Match, as it does everywhere.
    answer = owner.client.get(path, headers=owner.headers | {"If-Match": '"x"'})
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "image/png"
    assert len(answer.data) < 400_000
    return Pictures.open(io.BytesIO(answer.data)).convert("RGB")


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def test_each_look_has_the_brands_colours(app, owner, project):
    light, dark = (derive_colors("#C2410C").light, derive_colors("#C2410C").dark)
    row = add_testimonial(
        app, project, text=WORDS, rating=4, author_name="Jonas", highlights=[[39, 53]]
    )
    for look, size, ground, mark, star, initials in (
        ("paper", "landscape", light["soft"], light["mark"], light["accent"], "back"),
        ("solid", "story", light["solid"], light["solidmark"], light["on"], ""),
        ("night", "landscape", dark["card"], dark["mark"], dark["star"], "back"),
        ("card", "square", light["card"], light["mark"], light["star"], "back"),
    ):
        picture = draw(owner, project, row, f"?look={look}&size={size}")
        whole = (0, 0, *picture.size)
        assert picture.size == SIZES[size]
        assert ink(picture, whole, rgb(ground)) > 50_000
        assert ink(picture, whole, rgb(mark)) > 3_000
        # Four stars of five.
        assert ink(picture, whole, rgb(star)) > 1_000
        if initials:
            people = [(dark if look == "night" else light)[f"back{number}"] for number in range(3)]
            assert any(ink(picture, whole, rgb(each)) > 3_000 for each in people)
        if size == "story":
            # Apps lay their buttons over these.
            for box in ((0, 0, 1080, 250), (0, 1580, 1080, 1920)):
                assert ink(picture, box, rgb(ground)) == 1080 * (box[3] - box[1])
    with app.app_context(), write():
        red = read_image(to_bytes(Pictures.new("RGB", (200, 200), (220, 20, 20)), "PNG"), AVATAR)
        db.session.add(red)
        db.session.flush()
        db.session.get_one(rows_of.Testimonial, row).avatar_id = red.id
    pixel = draw(owner, project, row).getpixel((72 + 46, 474 + 46))
    assert pixel[0] > 180 > 60 > pixel[1]


def test_a_picture_is_kept_until_it_would_look_different_and_goes_with_its_testimonial(
    app, client, owner, project
):
    row = add_testimonial(app, project, text=WORDS, author_name="Jonas")
    url = f"/oat/{row}/picture.png"
    first = client.get(url)
    assert (first.status_code, first.content_type) == (200, "image/png")
    assert f'<meta property="og:image" content="https://testimonials.example.com{url}">' in (
        client.get(f"/oat/{row}").text
    )
    assert client.get(url, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    with app.app_context(), write():
        kept = db.session.get_one(models.TestimonialPicture, (row, "paper", "landscape"))
        assert kept.content == first.data
        # Were it drawn anew, this would not come back.
        kept.content = to_bytes(photo(), "PNG")
    assert draw(owner, project, row).size == (64, 48)
    for change in ({"text": "Other words."}, {"highlights": [[0, 5]]}, {"rating": 2}):
        change_testimonial(app, row, **change)
        assert client.get(url).headers["ETag"] != first.headers["ETag"]
    change_project(app, project, widget_design={"brandColor": "#4F46E5"})
    assert draw(owner, project, row).size == (1200, 630)
    assert count_rows(app, models.TestimonialPicture) == 1
    change_testimonial(app, row, status="rejected")
    assert client.get(url).status_code == 404
    with app.app_context(), write():
        db.session.delete(db.session.get_one(rows_of.Testimonial, row))
    assert count_rows(app, models.TestimonialPicture) == 0


def test_only_the_newest_of_a_project_are_kept_and_strangers_cannot_draw_without_end(
    app, client, project, monkeypatch
):
    monkeypatch.setattr(pictures, "MOST_KEPT", 2)
    monkeypatch.setattr(pictures, "DRAWINGS", Limit("testimonial-picture", 4, "for tests"))
    rows = [add_testimonial(app, project, text=f"Words {number}.") for number in range(4)]
    for row in rows:
        assert client.get(f"/oat/{row}/picture.png").status_code == 200
    assert count_rows(app, models.TestimonialPicture) <= 2
    assert client.get(f"/oat/{rows[-1]}/picture.png").status_code == 200
    refused = client.get(f"/oat/{rows[0]}/picture.png")
    assert (refused.status_code, refused.location) == (302, "/oat/share.png")


def test_owners_choose_look_and_size_to_download(app, owner, project):
    row = add_testimonial(app, project, text=WORDS, author_name="Jonas")
    browser = open_browser(app, owner)
    page = f"/dashboard/projects/{project}/testimonials/{row}/picture"
    inbox = browser.get(f"/dashboard/projects/{project}/inbox?status=approved").text
    assert f'href="{page}"' in inbox
    chosen = html.unescape(browser.get(f"{page}?look=night&size=story").text)
    assert 'width="1080" height="1920"' in chosen
    for link in re.findall(rf'(?:src|href)="({page}\.png[^"]+)"', chosen):
        answer = browser.get(link)
        assert Pictures.open(io.BytesIO(answer.data)).size == (1080, 1920)
    assert answer.headers["Content-Disposition"] == (
        "attachment; filename=testimonial-night-story.png"
    )
    change_testimonial(app, row, text="So good \ue123")
    assert "no font for some of the letters" in browser.get(page).text
    assert browser.get(f"{page}?look=sepia").status_code == 400


def test_what_is_not_public_unknown_or_without_a_font_has_no_picture(app, owner, client, project):
    shown = add_testimonial(app, project)
    base = f"/v1/projects/{project}/testimonials"
    waiting = add_testimonial(app, project, status="pending")
    assert owner.get(f"{base}/{waiting}/picture").status_code == 404
    for path in (f"/oat/{waiting}", f"/nobody/{shown}"):
        assert client.get(f"{path}/picture.png").status_code == 404
    for query in ("look=sepia", "size=10000x10000"):
        refused = owner.get(f"{base}/{shown}/picture?{query}")
        assert (refused.status_code, refused.json and refused.json["code"]) == (
            400,
            "VALIDATION_FAILED",
        )
    # Nobody has a font for the private use area.
    row = add_testimonial(app, project, text="So good \ue123\ue124")
    answer = owner.get(f"/v1/projects/{project}/testimonials/{row}/picture")
    assert answer.status_code == 422
    assert answer.json
    assert answer.json["code"] == "PICTURE_REFUSED"
    assert "letters: \ue123\ue124." in answer.json["message"]
    assert client.get(f"/oat/{row}/picture.png").location.endswith("/oat/share.png")
    assert read_project(app, project).slug == "oat"


SCRIPTS = {
    "arabic": "الخبز هنا رائع، وأطلبه كل أسبوع! مُحَمَّد لا",
    "persian": "می‌خواهم دوباره بیایم؛ عالی بود.",
    "hebrew": "הלחם הטוב ביותר בעיר, ואני נוסע 40 דקות.",
    "japanese": "ここのライ麦パンは毎週買っています。「最高」の一言です！",
    "simplified": "这家面包店的黑麦面包是全城最好的，我每周都会去。",
    "traditional": "這家麵包店的黑麥麵包是全城最好的，我每週都會去。",
    "korean": "여기 호밀빵은 정말 최고예요.",
    "cyrillic": "Лучший ржаной хлеб в городе — їжджу щотижня.",
    "greek": "Το καλύτερο ψωμί στην πόλη!",
    "vietnamese": "Bánh mì ngon nhất thành phố.",
    "emoji": "Best 👩‍🎨 in 🇩🇪 👍🏽 ❤️ 1️⃣ 🎉 😀",
}


def test_common_scripts_need_no_font_of_the_machine():
    for script, words in SCRIPTS.items():
        text = Text.read(words, typesetting.SERIF, "display")
        used = {Path(each.face).parent for each in text.clusters}
        assert used == {typesetting.FILES}, script
    # Also FriBiDi is ours, without which letters aren't joined.
    assert typesetting.can_shape()
    assert str(typesetting.FILES / "libfribidi") in Path("/proc/self/maps").read_text()


def test_texts_are_joined_cut_and_broken_as_they_should():
    word = Text.read("ملخص", typesetting.SANS, "display").clusters
    apart = sum(measure((each,), 200) for each in word)
    assert measure(word, 200) < 0.95 * apart
    for emoji in ("👩‍🎨", "🇩🇪", "👍🏽", "1️⃣"):
        assert measure(Text.read(emoji, typesetting.SANS, "display").clusters, 200) == 200
    for prank in ("a" + "\u0301" * 2000, "👩\u200d" * 600, "W" * 2000):
        block = Text.read(prank, typesetting.SANS, "display").shorten(40, 900, 300)
        assert block.width <= 900
        assert max(len(each.text) for line in block.lines for each in line) <= 14
    long = Text.read("We switched on a Tuesday. " * 80, typesetting.SANS, "display")
    assert long.set(40, 900, 300) is None
    lines = long.shorten(40, 900, 300).lines
    assert (len(lines), lines[-1][-1].text) == (6, "…")
    japanese = Text.read(SCRIPTS["japanese"] * 3, typesetting.SANS, "display")
    for line in japanese.shorten(40, 500, 2000).lines:
        assert line[0].text not in "、。」！"
        assert line[-1].text not in "「"
