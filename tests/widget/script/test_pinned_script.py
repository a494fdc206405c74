"""/widget/v1-<digest>.js: one version of the script, for those who pin it."""

import gzip
import hashlib
import re
from base64 import b64encode

import pytest

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.widget.cache import EXTENSION, SCRIPT_TYPE
from testimonials.widget.embed import build_checked_script
from testimonials.widget.script import (
    PIECES,
    WALL,
    WidgetScript,
    build_piece,
    build_script,
    keep_script,
)
from tests.support.rows import add_testimonial, change_project, count_rows


def test_the_element_names_the_bytes_that_are_served(app, client):
    with app.app_context():
        element = build_checked_script()
    pattern = r'src="https://[^/]+([^"]+)" integrity="sha384-([^"]+)"'
    ((address, digest),) = re.findall(pattern, element)
    plain = client.get("/widget/v1.js")
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.data == plain.data == build_script(*WALL)
    assert b64encode(hashlib.sha384(answer.data).digest()).decode() == digest
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    # Without it a browser can't check the digest of another origin's script.
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert 'crossorigin="anonymous"' in element


def test_an_earlier_version_is_served_after_an_upgrade(app, client):
    old = b"console.log('an earlier version')"
    digest = hashlib.sha256(old).hexdigest()[:16]
    with app.app_context(), write():
        db.session.add(WidgetScript(digest=digest, content=gzip.compress(old)))
    answer = client.get(f"/widget/v1-{digest}.js")
    assert (answer.status_code, answer.data) == (200, old)
    assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
    for name in ("v1-0000000000000000.js", "v1-.js", "v1-%00.js", "v1-..%2f.js", "v2.js"):
        assert client.get(f"/widget/{name}").status_code == 404, name


def test_each_version_is_kept_once(app):
    with app.app_context():
        keep_script()
        keep_script()
        kept = {gzip.decompress(row.content) for row in db.session.query(WidgetScript)}
        assert kept == {build_script(*WALL), *(build_piece(name) for name in PIECES)}
    assert count_rows(app, WidgetScript) == 1 + len(PIECES)


def test_pieces_are_pinned_by_the_script(client):
    (start,) = set(re.findall(r"v1-(v[0-9a-f]{7})", client.get("/widget/v1.js").text))
    for name in PIECES:
        answer = client.get(f"/widget/v1-{start}{name}.js")
        assert (answer.status_code, answer.data) == (200, build_piece(name)), name
        # A module of another origin is only taken with both.
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


# What each widget loads before it is drawn, its styles included, at most: compressed.
BUDGETS = {
    "masonry face cards masonry": 6_550,
    "masonry face cards looks masonry": 7_350,
    "list face heading cards list": 6_200,
    "carousel face cards carousel": 7_900,
    "horizontal face cards marquee": 7_400,
    "popup face cards popup": 6_700,
    "badge badge": 2_500,
    "badge-sentence badge sentence": 2_750,
    "people face heading head badge people": 3_850,
    # With every mark, and what follows them.
    "masonry face cards masonry extras": 8_000,
}


@pytest.mark.parametrize("draw", BUDGETS)
def test_what_comes_before_the_first_paint_is_small(draw):
    _, *pieces = draw.split(" ")
    assert len(gzip.compress(build_script(*pieces), 9)) <= BUDGETS[draw]


def test_the_script_that_names_a_widget_has_its_pieces(app, client, project):
    for number in range(3):
        add_testimonial(app, project, author_name=f"Maya {number}")
    address = f"/widget/v1.js?project={project}"
    for layout in ("masonry", "list", "carousel"):
        drawn = ["face", *(["heading"] if layout == "list" else []), "cards", layout]
        change_project(app, project, widget_config=WIDGET_CONFIG | {"layout": layout})
        # The second answer is from memory.
        for _ in range(2):
            assert client.get(address).data == build_script(*drawn)
    shape = client.get(f"{address}&shape=badge")
    # Without a rating there is nothing to draw.
    assert shape.data == build_script()
    # What anybody may add to the address gives the same, but isn't kept beside it.
    assert client.get(f"{address}&x=1").data == build_script("face", "cards", "carousel")
    kept = app.extensions[EXTENSION]
    assert kept.peek((SCRIPT_TYPE, f"project={project}")) is not None
    assert kept.peek((SCRIPT_TYPE, f"project={project}&x=1")) is None
    for wrong in ("?project=x", "?project=" + "0" * 24, f"?project={project}&shape=x", "?v=2"):
        assert client.get(f"/widget/v1.js{wrong}").data == build_script(*WALL), wrong
