"""No English is left in what a person reads in the dashboard and where they sign in."""

from pathlib import Path

import testimonials
from tests.contracts.translations.english import find_in_script, find_in_template

ROOT = Path(testimonials.__file__).parent
TEMPLATES = ROOT / "templates"
FOLDERS = ("dashboard", "auth", "projects", "agents", "errors")
# Its sentences stand for what customers write.
MADE_UP = {"widget/preview.js"}
SCRIPTS = [
    *sorted((ROOT / "static/js").glob("*.js")),
    *sorted(
        path
        for name in ("dashboard", "auth")
        for path in (ROOT / "static/js" / name).rglob("*.js")
        if f"{path.parent.name}/{path.name}" not in MADE_UP
    ),
]
# The front page stays English.
PAGES = [
    *sorted(TEMPLATES.glob("_*.html")),
    TEMPLATES / "base.html",
    *sorted(path for name in FOLDERS for path in (TEMPLATES / name).rglob("*.html")),
]


def test_no_template_and_no_script_has_a_text_that_is_not_translated(described_app):
    environment = described_app.jinja_env
    found = {path: find_in_template(environment, path.read_text("utf-8")) for path in PAGES}
    found |= {path: find_in_script(path.read_text("utf-8")) for path in SCRIPTS}
    assert len(found) > 100
    assert {str(path.relative_to(ROOT)): texts for path, texts in found.items() if texts} == {}
