"""The picture that a shared link to a collection page shows."""

import html
import io
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image as Pictures

from testimonials.collection.models import SharePicture
from testimonials.core.pictures.images import LOGO
from testimonials.extensions import begin_write, db
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.dashboard.project.test_settings import rename
from tests.support.pictures import photo, read, read_image, to_bytes
from tests.support.rows import change_project, count_rows, expire_account
from tests.support.sampling import sample

WHITE = (255, 255, 255)


@pytest.fixture(autouse=True)
def project(owner: Caller) -> str:
    return str(
        owner.create_project(businessName="Kiln & Clay", headline="How was your pot?")["_id"]
    )


def draw(client: FlaskClient) -> Pictures.Image:
    answer = client.get("/kiln-clay/share.png")
    assert (answer.status_code, answer.content_type) == (200, "image/png")
    return read(answer.data).convert("RGB")


def ink(picture: Pictures.Image, box: tuple[int, int, int, int], colour: tuple[int, ...]) -> int:
    """Count the pixels of a colour within a box."""
    return sum(count for count, each in picture.crop(box).getcolors(10**6) or [] if each == colour)


def test_the_page_names_its_picture_title_and_address(client: FlaskClient) -> None:
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


def test_it_holds_initial_texts_and_stars(app: Flask, client: FlaskClient, project: str) -> None:
    change_project(app, project, page_config={"buttonColor": "#047857"})
    answer = client.get("/kiln-clay/share.png")
    assert len(answer.data) < 300_000
    drawn = Pictures.open(io.BytesIO(answer.data))
    assert (drawn.format, drawn.size) == ("PNG", (1200, 630))
    picture = drawn.convert("RGB")
    assert ink(picture, (84, 92, 188, 196), (4, 120, 87)) > 6_000
    assert ink(picture, (84, 92, 188, 196), WHITE) > 200
    text = (0x18, 0x18, 0x1B)
    assert ink(picture, (216, 92, 1116, 196), text) > 500
    assert ink(picture, (84, 220, 1116, 450), text) > 2_000
    assert ink(picture, (70, 460, 430, 560), (0xF5, 0x9E, 0x0B)) > 2_000


def test_it_follows_what_it_shows_alone(app: Flask, client: FlaskClient, project: str) -> None:
    seen = [client.get("/kiln-clay/share.png")]
    for change in (
        {"page_config": {"headline": "And your bowl?"}}, {"page_config": {"theme": "dark"}},
        {"page_config": {"buttonColor": "#BE123C"}},
        {"page_config": {"buttonTextColor": "#FFFF00"}}, {"business_name": "Clay & Kiln"},
    ):  # fmt: skip
        address = re.search(r"share\.png\?v=\w+", client.get("/kiln-clay").text)
        change_project(app, project, **change)
        assert re.search(r"share\.png\?v=\w+", client.get("/kiln-clay").text) != address
        seen.append(client.get("/kiln-clay/share.png"))
    assert len({answer.data for answer in seen}) == len({each.headers["ETag"] for each in seen})
    assert len({answer.data for answer in seen}) == len(seen)
    change_project(app, project, page_config={"description": "Other words."})
    assert client.get("/kiln-clay/share.png").headers["ETag"] == seen[-1].headers["ETag"]
    assert count_rows(app, SharePicture) == 1


def test_it_is_drawn_once(app: Flask, client: FlaskClient, project: str) -> None:
    first = client.get("/kiln-clay/share.png")
    with app.app_context():
        begin_write()
        row = db.session.get_one(SharePicture, project)
        assert row.content == first.data
        # Had it been drawn anew, this would not come back.
        row.content = to_bytes(photo(), "PNG")
        db.session.commit()
    assert draw(client).size == (64, 48)


def test_a_logo_replaces_the_initial(app: Flask, client: FlaskClient, project: str) -> None:
    with app.app_context():
        begin_write()
        logo = read_image(to_bytes(Pictures.new("RGB", (300, 100), (220, 20, 20)), "PNG"), LOGO)
        db.session.add(logo)
        db.session.commit()
        logo_id = logo.id
    change_project(app, project, logo_id=logo_id)
    pixel = draw(client).getpixel((84 + 150, 92 + 52))
    assert pixel[0] > 180
    assert pixel[1] < 60


def test_unknown_and_expired_pages_have_none_and_renamed_ones_lead_on(
    app: Flask, client: FlaskClient, agent: Caller, owner: Caller, project: str
) -> None:
    rename(open_browser(app, owner), project, "clay")
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
            ("🎉🎉", "🎉"),
            ("مقهى الياسمين", "كيف كانت زيارتك؟"),
            ("日本の店", "いかがでしたか？"),
            ("Кофейня", "Как всё прошло?"),
            ("नमस्ते", "आपका अनुभव कैसा रहा?"),
        ],
        2,
    ),
)


def test_every_name_stays_within_the_edges(app: Flask, client: FlaskClient, project: str) -> None:
    for name, headline in HARD:
        change_project(app, project, business_name=name, page_config={"headline": headline[:160]})
        picture = draw(client)
        assert picture.size == (1200, 630)
        # Between the card's edge and its text there is nothing but the card.
        for box in ((50, 80, 76, 520), (1124, 80, 1150, 520)):
            assert picture.crop(box).getcolors() == [((box[2] - box[0]) * 440, WHITE)]
        assert ink(picture, (36, 200, 1164, 560), (0xF5, 0x9E, 0x0B)) > 2_000
