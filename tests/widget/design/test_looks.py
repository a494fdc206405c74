"""Looks: six combinations that leave colour and content alone."""

import itertools
from typing import Any

from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.projects.schemas import WidgetConfigUpdateSchema
from testimonials.projects.widget_design import DEFAULTS, WidgetDesignSchema
from testimonials.widget.drafts import LOOKS, apply_look, find_look, find_nearest_look

# What no look may touch.
OWN: dict[str, Any] = {
    "brandColor": "#C2410C", "cardWidth": "wide", "tags": ["press"], "order": "best",
    "minRating": 4, "labels": {"showMore": "More"}, "showHeader": True, "photoSize": 64,
    "dateStyle": "month", "showHighlights": False,
}  # fmt: skip
OWN_CONFIG = {"palette": "rose", "initialCount": 12, "showCtaButton": False, "showDates": False}


def test_there_are_six_looks_and_a_new_widget_has_one():
    assert len(LOOKS) == 6
    assert find_look(WIDGET_CONFIG, {}) == "highlights"
    assert find_look(WIDGET_CONFIG, {"radius": 0}) is None
    assert find_nearest_look(WIDGET_CONFIG | {"layout": "list"}, {"radius": 6}) == "letters"


def test_a_look_is_whole_whatever_was_there_before():
    for name, before in itertools.product(LOOKS, LOOKS):
        start = WIDGET_CONFIG | OWN_CONFIG, DEFAULTS | OWN
        config, design = apply_look(name, *apply_look(before, *start, "light"), "light")
        assert find_look(config, design) == name
        assert WidgetConfigUpdateSchema().check(config) == config
        assert WidgetDesignSchema().check(design) == design
        assert {each: design[each] for each in OWN} == OWN
        assert {each: config[each] for each in OWN_CONFIG} == OWN_CONFIG
        assert config["theme"] == ("dark" if name == "night" else "light")
