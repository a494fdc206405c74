"""A widget's colours (design, "Brand colour"): from one, and every pair can be read."""

import random
from typing import Any

from flask.testing import FlaskClient

from testimonials.core.images.colors import NAMES, contrast, derive_colors
from testimonials.projects.widget_design import PALETTES
from tests.support.colours import PAIRS
from tests.support.rows import change_project
from tests.support.sampling import rounds, sample

# The table in the design: light and dark accent, then light `on`, `soft` and `tint`.
BRANDS = {
    "#C2410C": "bb3a00 fe8d69 ffffff fff2e7 ffe2ca",
    "#6D4AFF": "6742f7 a7a6fe ffffff f3f3fe e4e5ff",
    "#FACC15": "7f6604 f5cd4b 1d1500 faf4e3 f3e8c4",
}


def read_colors(client: FlaskClient, project: str) -> dict[str, dict[str, str]]:
    answer: Any = client.get(f"/widget/{project}/feed").json
    return {
        theme: dict(zip((*NAMES, "shade", "glyph"), written.split(" "), strict=True))
        for theme, written in answer["colours"].items()
    }


def test_the_feed_has_the_brands_colours(app, client, project):
    for brand, expected in BRANDS.items():
        change_project(app, project, widget_design={"brandColor": brand})
        found = read_colors(client, project)
        light, dark = found["light"], found["dark"]
        assert [light["accent"], dark["accent"], *(light[n] for n in ("on", "soft", "tint"))] == (
            expected.split()
        )
        assert light["solid"] == brand[1:].lower()
        assert (light["card"], dark["star"]) == ("ffffff", "fbbf24")


def test_palettes_name_brands(app, client, owner, project):
    path = f"/v1/projects/{project}/widget-config"
    for palette, brand in sample(PALETTES.items(), 3):
        assert owner.patch(path, {"palette": palette}).status_code == 200
        named = read_colors(client, project)
        change_project(app, project, widget_design={"brandColor": brand})
        assert read_colors(client, project) == named
        change_project(app, project, widget_design={})
    # The brand's own colour goes before the palette, and stars may take it: as it is where they
    # can be seen, and otherwise no darker than they must be.
    stars = {"#6D4AFF": "6d4aff a7a6fe", "#FACC15": "a08103 f5cd4b"}
    for brand, expected in stars.items():
        design = {"brandColor": brand, "starColor": "brand"}
        change_project(app, project, widget_design=design)
        found = read_colors(client, project)
        assert [each["star"] for each in found.values()] == expected.split()
        light = {name: f"#{each}" for name, each in found["light"].items()}
        assert min(contrast(light["star"], light[name]) for name in ("card", "soft", "tint")) >= 3


def test_words_can_be_read_in_the_colours_of_any_brand():
    chance = random.Random(13)
    brands = [f"#{chance.randrange(1 << 24):06X}" for _ in range(rounds(100, 2_000))]
    for brand in [*brands, *PALETTES.values(), "#000000", "#FFFFFF"]:
        derived = derive_colors(brand)
        for colours in (derived.light, derived.dark):
            assert colours.keys() == set(NAMES)
            for name, (grounds, least) in PAIRS.items():
                for ground in grounds:
                    assert contrast(colours[name], colours[ground]) >= least, (brand, name, ground)
