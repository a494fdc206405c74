"""A project's brand: what the upgrade makes of what was chosen, and what a name tells."""

import pytest

from testimonials.migrations.versions.rev_0010_brand import _choose_color
from testimonials.projects.brand import TRADES, guess_trade


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
    design: dict[str, str], button: str, palette: str, expected: str | None
) -> None:
    assert _choose_color(design, {"buttonColor": button}, {"palette": palette}) == expected


@pytest.mark.parametrize(
    ("name", "trade"),
    [
        ("Landbäckerei Huber", "bakery"),
        ("The Daily Bread", "bakery"),
        ("Café Central", "cafe"),
        ("Fern & Fable Salon", "salon"),
        ("Rosa's Flower Shop", "shop"),
        ("Schreinerei Vogt", "craft"),
        ("Nimbus Cloud", "software"),
        ("Oat & Ember", "anything"),
        ("東京", "anything"),
        ("", "anything"),
    ],
)
def test_a_name_tells_the_trade(name: str, trade: str) -> None:
    assert guess_trade(name) == trade


def test_no_trade_is_grey_or_indigo() -> None:
    assert not {"#4F46E5", "#27272A"} & set(TRADES.values())
