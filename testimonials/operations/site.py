"""The front page, `/healthz`, `robots.txt` and the favicon."""

import json
from pathlib import Path
from typing import Any

from flask import Response, current_app, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from testimonials import __version__
from testimonials.core.http.blueprints import site
from testimonials.core.http.i18n import ENGLISH
from testimonials.core.http.urls import app_url, base_path, base_url
from testimonials.core.images.colors import colour_of, derive_colors, initials_of
from testimonials.core.settings.table import current_settings
from testimonials.operations.database import instance_mark
from testimonials.projects.defaults import PALETTES, WIDGET_CONFIG
from testimonials.projects.widget_design import PALETTES as BRANDS
from testimonials.projects.widget_design import read_look, write_colors
from testimonials.widget.words import write_words

# The front page: the widget with samples of an invented bakery, and the first API call.

# No project has this id; the page's script replaces the requests for it.
PROJECT_ID = "bakery"
SAMPLES = json.loads(Path(__file__).with_name("bakery.json").read_text(encoding="utf-8"))
ROLE = "Invented bakery"
LOOK = {"cardStyle": "quote", "palette": "indigo", "showDates": False, "showCtaButton": False}
LAYOUTS = {"masonry": "Masonry", "list": "List", "carousel": "Carousel"}


def describe_front_page() -> dict[str, Any]:
    """Return the samples, the widget's data for them, and the options to try."""
    return {
        "samples": [
            {
                "name": name,
                "role": ROLE,
                "text": text,
                "rating": rating,
                "initials": initials_of(name),
                "who": colour_of(name),
            }
            for name, text, rating in SAMPLES
        ],
        "widget": {
            "feed": _describe_feed(),
            "colours": {name: write_colors(derive_colors(BRANDS[name])) for name in PALETTES},
        },
        "palettes": PALETTES,
        "layouts": LAYOUTS,
    }


def _describe_feed() -> dict[str, Any]:
    """Return the widget's data in the shape of `describe_feed`."""
    return {
        "project": {"id": PROJECT_ID, "name": ROLE, "active": True},
        "config": WIDGET_CONFIG | LOOK,
        "design": read_look({}),
        "lang": ENGLISH.code,
        "signs": ENGLISH.signs,
        "words": write_words({}),
        "cta": {"label": "", "url": ""},
        "total": len(SAMPLES),
        "items": [
            {
                "id": f"{PROJECT_ID}-{number}",
                "authorName": name,
                "authorRole": ROLE,
                "text": text,
                "rating": rating,
                "submittedAt": "2026-06-01T08:00:00.000Z",
                "isSample": True,
            }
            for number, (name, text, rating) in enumerate(SAMPLES)
        ],
        "next": None,
    }


@site.get("/")
def show_home() -> ResponseReturnValue:
    return render_template(
        "home.html",
        base_url=base_url(),
        app_url=app_url(),
        signup_open=current_settings().signup != "closed",
        claim_days=f"{current_settings().claim_days:g}",
        page=describe_front_page(),
    )


@site.get("/healthz")
def check_health() -> Response:
    """Return that this process is alive; `/readyz` checks what it depends on.

    The other values are for `testimonials doctor`, which requests the public URL: whether it is
    this instance that answers, and what the proxies in front of it add to a request.
    """
    forwarded = request.headers.get("X-Forwarded-For", "")
    return jsonify(
        status="ok",
        version=__version__,
        instance=instance_mark(),
        proxies=len([each for each in forwarded.split(",") if each.strip()]),
        scheme=request.scheme,
    )


@site.get("/robots.txt")
def get_robots() -> Response:
    """Keep crawlers away from secret links."""
    base = base_path()
    return Response(
        f"User-agent: *\nDisallow: {base}/v1/\nDisallow: {base}/claim\nDisallow: {base}/yours/\n",
        mimetype="text/plain",
    )


@site.get("/favicon.ico")
def get_favicon() -> Response:
    return current_app.send_static_file("img/mark.svg")
