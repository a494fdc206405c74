"""A project's brand: what it is by itself, where it shows, and what stays of a surface's own."""

import io
import random
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from PIL import Image, ImageDraw

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.core.images.colors import contrast, derive_colors
from testimonials.dashboard.brand import name_color
from testimonials.migrations.versions.rev_0010_brand import _choose_color
from testimonials.projects.models import Project
from testimonials.projects.notifications import project_look
from testimonials.projects.widget_design import PALETTES, write_colors
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.colours import PAIRS
from tests.support.pictures import to_bytes
from tests.support.rows import change_project
from tests.support.sampling import sample
from tests.support.visitors import form_token


@pytest.mark.parametrize(
    ("design", "button", "palette", "expected"),
    [
        ({}, "#4F46E5", "neutral", None),
        ({}, "#4F46E5", "emerald", "#047857"),
        ({}, "#0f766e", "emerald", "#0F766E"),
        ({"brandColor": "#C2410C"}, "#0F766E", "emerald", "#C2410C"),
        ({"brandColor": None}, "#4F46E5", "rose", "#E11D48"),
    ],
)
def test_an_upgrade_makes_a_brand_of_the_first_color_that_was_chosen(
    design, button, palette, expected
):
    assert _choose_color(design, {"buttonColor": button}, {"palette": palette}) == expected


@pytest.mark.parametrize(
    ("color", "name"),
    [
        ("#C2410C", "Orange-red"), ("#7C4A21", "Brown"), ("#065F46", "Green"), ("#1D5FD1", "Blue"),
        ("#0F766E", "Turquoise"), ("#7E3FA0", "Violet"), ("#EC4899", "Pink"), ("#F59E0B", "Orange"),
        ("#27272A", "Black"), ("#FFFFFF", "White"), ("#8A8A8A", "Grey"), ("#DC2626", "Red"),
    ],
)  # fmt: skip
def test_a_color_is_called_what_people_call_it(color, name):
    assert name_color(color) == name


def show(owner: Caller, project: dict[str, Any]) -> dict[str, Any]:
    """Return the colors of the widget, and the page's theme."""
    feed = owner.client.get(f"/widget/{project['_id']}/feed").json
    slug = project["publicPageConfig"]["slug"]
    theme = owner.client.get(f"/{slug}/theme.css").text
    return {"widget": feed["colours"], "font": feed["design"]["font"], "theme": theme}


def derive(color: str) -> dict[str, str]:
    return write_colors(derive_colors(color))


def test_a_new_project_has_its_trades_color_while_specified_fields_answer_defaults(owner):
    project = owner.create_project(businessName="Oat & Ember Bakery")
    shown = show(owner, project)
    assert shown["widget"] == derive("#C2410C")
    assert "--tm-button:#C2410C;--tm-button-text:#FFFFFF" in shown["theme"]
    assert project["widgetConfig"]["palette"] == "neutral"
    page = project["publicPageConfig"]
    assert (page["buttonColor"], page["buttonTextColor"], page["logo"]) == (
        "#4F46E5", "#FFFFFF", None,
    )  # fmt: skip


def test_a_call_that_names_the_palette_sets_it_also_when_all_comes_back_as_read(owner):
    project = owner.create_project(businessName="Oat & Ember Bakery")
    path = f"/v1/projects/{project['_id']}/widget-config"
    assert owner.patch(path, {"showDates": False}).status_code == 200
    assert show(owner, project)["widget"] == derive("#C2410C")
    config = project["widgetConfig"]
    assert owner.patch(path, config).json["data"]["widgetConfig"] == config
    assert show(owner, project)["widget"] == derive(PALETTES["neutral"])


def test_a_surfaces_own_values_are_kept(app, owner):
    project = owner.create_project()
    change_project(
        app,
        project["_id"],
        brand={"color": "#C2410C", "font": "classic"},
        widget_design={"brandColor": "#6D4AFF", "font": "system"},
        page_config={"buttonColor": "#2F8F6B"},
    )
    shown = show(owner, project)
    assert (shown["widget"], shown["font"]) == (derive("#6D4AFF"), "system")
    assert "--tm-button:#2F8F6B;--tm-button-text:#000000" in shown["theme"]
    change_project(app, project["_id"], widget_design={}, page_config={"buttonColor": None})
    shown = show(owner, project)
    assert (shown["widget"], shown["font"]) == (derive("#C2410C"), "serif")
    assert "--tm-button:#C2410C" in shown["theme"]
    assert "--font:Georgia" in shown["theme"]


def test_a_project_from_before_looks_as_it_did(app, owner):
    """What it has set stays its own, whatever the brand is."""
    project = owner.create_project()
    config = project["widgetConfig"]
    page = {"buttonColor": "#4F46E5", "buttonTextColor": "#FFFFFF"}
    assert config["palette"] == "neutral"
    change_project(app, project["_id"], widget_config=config, page_config=page)
    before = show(owner, project)
    assert before["widget"] == derive("#27272A")
    assert "--tm-button:#4F46E5;--tm-button-text:#FFFFFF" in before["theme"]
    change_project(app, project["_id"], brand={"color": "#C2410C"})
    assert show(owner, project) == before


def test_the_brand_is_set_once_by_a_token_and_taken_back(app, owner):
    project = owner.create_project(businessName="Oat & Ember Bakery")
    path, token = f"/v1/projects/{project['_id']}", give_token(app, owner, Scope.CONFIGURE)
    read = owner.get(f"{path}/brand")
    effective = {
        "name": "Oat & Ember Bakery", "website": "", "logo": None, "color": "#C2410C",
        "font": "site", "trade": "bakery",
    }  # fmt: skip
    unset = {"color": None, "font": None, "trade": None}
    assert read.json["data"] == unset | {"brand": effective}
    assert project["brand"] == effective
    assert owner.get(f"{path}/page-config").json["data"]["brand"] == effective
    changed = token.patch(f"{path}/brand", {"color": "#6d4aff", "font": "classic"})
    assert changed.json["data"] == unset | {
        "color": "#6D4AFF", "font": "classic",
        "brand": effective | {"color": "#6D4AFF", "font": "classic"},
    }  # fmt: skip
    assert changed.headers["ETag"] == owner.get(f"{path}/brand").headers["ETag"]
    assert show(owner, project)["widget"] == derive("#6D4AFF")
    assert token.patch(f"{path}/brand", {"color": "blue"}).status_code == 400
    assert token.patch(f"{path}/brand", {"color": None, "font": None}).json == read.json | {
        "message": "Brand updated"
    }


def test_what_a_surface_had_of_the_brands_follows_it(app, owner):
    """So that one choice is enough in a project from before."""
    project = owner.create_project()
    change_project(
        app,
        project["_id"],
        brand={"color": "#047857"},
        widget_config=project["widgetConfig"] | {"palette": "emerald"},
        page_config={"buttonColor": "#047857", "buttonTextColor": "#FFFFFF"},
    )
    token = give_token(app, owner, Scope.CONFIGURE)
    token.patch(f"/v1/projects/{project['_id']}/brand", {"color": "#C2410C"})
    shown = show(owner, project)
    assert shown["widget"] == derive("#C2410C")
    assert "--tm-button:#C2410C" in shown["theme"]


def test_what_is_read_on_the_website_changes_no_etag_and_nothing_that_was_set(app, owner):
    project = owner.create_project(businessName="Oat & Ember")
    paths = [f"/v1/projects/{project['_id']}{each}" for each in ("", "/brand", "/page-config")]
    before = [owner.get(path).headers["ETag"] for path in paths]
    read = {"color": "#2F5D50", "trade": "bakery", "typeface": "classic"}
    change_project(app, project["_id"], brand={"read": read})
    assert [owner.get(path).headers["ETag"] for path in paths] == before
    assert owner.get(paths[0]).json["data"]["brand"]["color"] == "#2F5D50"
    # Our own pages are in the nearest of their fonts; the widget inherits the real one.
    shown = show(owner, project)
    assert re.search(r"\.page-collection\{[^}]*--font:Georgia", shown["theme"])
    assert shown["font"] == "page"
    wall = re.findall(r"--tm-font:([^;]+)", owner.client.get("/oat-ember/wall").text)
    assert wall == ["Georgia,serif"]
    change_project(app, project["_id"], brand={"color": "#C2410C", "read": read})
    assert owner.get(paths[0]).json["data"]["brand"]["color"] == "#C2410C"


def draw_logo(number: int) -> bytes:
    """Draw a logo in one of the shapes of real ones: wide, square, dark on transparent."""
    size = ((320, 60), (128, 128), (200, 90))[number % 3]
    ground = (0, 0, 0, 0) if number % 2 else (*random.Random(number).randbytes(3), 255)
    picture = Image.new("RGBA", size, ground)
    box = (8, 8, size[0] // 2, size[1] - 8)
    ImageDraw.Draw(picture).ellipse(box, fill=(24, 24, 27, 255))
    return to_bytes(picture, "PNG")


def say_thanks(browser: FlaskClient, number: int) -> str:
    """Send the form of the page; return the page that says thanks."""
    form = {"text": f"Good bread, number {number}.", "name": "Vera", "consent": "yes"}
    form |= {"token": form_token(browser.get("/oat").text)}
    return browser.post("/oat", data=form, follow_redirects=True).text


@pytest.mark.thorough
def test_every_surface_has_the_brand_and_nothing_of_ours(app, browser, owner):
    """200 colors and 20 logos with `--deep`, a few of each without."""
    project = owner.create_project(slug="oat", businessName="Oat")
    path, chance = f"/dashboard/projects/{project['_id']}/settings/brand", random.Random(7)
    one = owner.create_testimonial(project["_id"], authorName="Vera", text="Good bread.")
    colors = [f"#{chance.randrange(1 << 24):06X}" for _ in range(200)]
    logos = sample(range(20), 2)
    for number, color in enumerate(sample(colors, 6)):
        if number < len(logos):
            file = io.BytesIO(draw_logo(logos[number]))
            browser.post(f"{path}/logo", data={"logo": (file, "logo.png")})
        form = {"businessName": "Oat", "color": "another", "another": color}
        assert browser.post(path, data=form).status_code == 303
        both = derive_colors(color)
        for theme in (both.light, both.dark):
            for name, (grounds, least) in PAIRS.items():
                worst = min(contrast(theme[name], theme[ground]) for ground in grounds)
                assert worst >= least, (color, name)
        logo = owner.get(f"/v1/projects/{project['_id']}/brand").json["data"]["brand"]["logo"]
        surfaces = [browser.get(each).text for each in ("/oat", "/oat/wall", f"/oat/{one['_id']}")]
        collect = path.replace("settings/brand", "collect")
        surfaces += [say_thanks(browser, number), browser.get(f"{collect}/card").text]
        assert all(logo in page for page in surfaces)
        for page in (*surfaces, browser.get(f"{collect}/qr.svg").text):
            assert "#4f46e5" not in page.lower()
        shown = show(owner, project)
        assert shown["widget"] == derive(color)
        styles = browser.get(f"/dashboard/projects/{project['_id']}/brand.css").text
        with app.app_context():
            look = project_look(db.session.get_one(Project, project["_id"]))
        assert (look.light, look.dark, look.logo_url) == (both.light, both.dark, logo)
        for text in (shown["theme"], styles):
            assert both.light["solid"].lower() in text.lower(), color
            assert "#4f46e5" not in text.lower()
        picture = Image.open(io.BytesIO(browser.get("/oat/share.png").data)).convert("RGB")
        assert (0x4F, 0x46, 0xE5) not in {found for _, found in picture.getcolors(1 << 20) or []}
