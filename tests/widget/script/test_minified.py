"""The widget's code is kept minified: what is served comes from the sources beside it."""

import json

import pytest

from testimonials.widget.script import FOLDER, MINIFIED, digest_sources
from tools.minify import minify_all


def test_whoever_changes_the_widgets_code_minifies_it():
    kept = json.loads((FOLDER / MINIFIED).read_text(encoding="utf-8"))
    assert kept["sources"] == digest_sources(), "Run scripts/minify."


@pytest.mark.thorough
def test_nothing_but_the_sources_is_in_what_is_served():
    assert json.loads((FOLDER / MINIFIED).read_text(encoding="utf-8")) == minify_all()
