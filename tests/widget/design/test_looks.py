"""Looks (design, "Looks"): whole combinations that leave colour and content alone."""

import itertools
from typing import Any

from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.widget_design import DEFAULTS, WidgetDesignSchema, trim_design
from testimonials.widget.drafts import LOOKS, apply_look, find_look

# What no look may touch.
OWN: dict[str, Any] = {
    "brandColor": "#C2410C", "font": "serif", "cardWidth": "wide", "tags": ["press"],
    "order": "best", "minRating": 4, "labels": {"showMore": "More"},
}  # fmt: skip
OWN_CONFIG = {"palette": "rose", "initialCount": 12, "showCtaButton": False, "showStars": False}


def test_there_are_eight_looks_and_the_default_is_quiet() -> None:
    assert len(LOOKS) == 8
    assert find_look(WIDGET_CONFIG, {}) == "quiet"
    assert find_look(WIDGET_CONFIG, {"radius": 0}) is None
    chosen = WIDGET_CONFIG | {"layout": "carousel", "animation": "vertical", "theme": "dark"}
    config, _ = apply_look("soft", chosen, {})
    assert {**config, "cardStyle": "default", "showDates": True} == chosen


def test_a_look_is_whole_whatever_was_there_before() -> None:
    for name, before in itertools.product(LOOKS, LOOKS):
        started = apply_look(before, WIDGET_CONFIG | OWN_CONFIG, OWN)
        config, design = apply_look(name, *started)
        assert find_look(config, design) == name
        assert WidgetConfigUpdateSchema().check(config) == config
        assert WidgetDesignSchema().check(design) == design
        assert design.keys() == DEFAULTS.keys()
        assert {each: design[each] for each in OWN} == OWN
        assert {each: config[each] for each in OWN_CONFIG} == OWN_CONFIG
        assert config["theme"] == ("dark" if name == "glow" else "light")
        assert config["layout"] == ("list" if name == "editorial" else "masonry")
        # What is stored is little, and the same when it is put on again.
        assert apply_look(name, config, trim_design(design)) == (config, design)
