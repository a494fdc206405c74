"""No English is left in what a person reads in the dashboard and where they sign in.

pytest tests/contracts/translations/test_english.py -k inbox
"""

from pathlib import Path

import pytest
from flask import Flask

import testimonials
from tests.contracts.translations.english import find_in_script, find_in_template

ROOT = Path(testimonials.__file__).parent
TEMPLATES = ROOT / "templates"
FOLDERS = ("dashboard", "auth", "projects", "agents", "errors")
# Its sentences stand for what customers write.
MADE_UP = {"widget-preview.js"}
SCRIPTS = [
    *sorted((ROOT / "static/js").glob("*.js")),
    *sorted(
        path
        for name in ("dashboard", "auth")
        for path in (ROOT / "static/js" / name).rglob("*.js")
        if path.name not in MADE_UP
    ),
]
# The front page stays English.
PAGES = [
    *sorted(TEMPLATES.glob("_*.html")),
    TEMPLATES / "base.html",
    *sorted(path for name in FOLDERS for path in (TEMPLATES / name).rglob("*.html")),
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_a_template_has_no_text_that_is_not_translated(described_app: Flask, path: Path) -> None:
    found = find_in_template(described_app.jinja_env, path.read_text(encoding="utf-8"))
    assert found == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_script_has_no_text_of_its_own(path: Path) -> None:
    assert find_in_script(path.read_text(encoding="utf-8")) == []
