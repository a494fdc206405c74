"""The front page, documents, and the pages of the API's reference."""

from typing import Any

from flask import Response, abort, current_app, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from testimonials import __version__
from testimonials.core.http.blueprints import site
from testimonials.core.http.i18n import ENGLISH
from testimonials.core.http.openapi import describe_api
from testimonials.core.http.urls import app_url, base_path, base_url
from testimonials.core.images.colors import colour_of, derive_colours, initials_of
from testimonials.core.settings.current import current_settings
from testimonials.operations.database import instance_mark
from testimonials.operations.health import NEEDED, check_host
from testimonials.operations.metrics import is_allowed, write_metrics
from testimonials.operations.reference import Document, describe_reference
from testimonials.projects.defaults import PALETTES, WIDGET_CONFIG
from testimonials.projects.widget_design import read_look
from testimonials.widget.colors import PALETTES as BRANDS
from testimonials.widget.colors import write_colours
from testimonials.widget.words import write_words

# What the front page shows: the widget with samples of an invented bakery, and the first call.

# No project has this id; the page's script answers for it.
PROJECT_ID = "bakery"
SAMPLES = (
    (
        "Hannah Weir",
        "The seeded loaf is the first thing my children eat without being asked. Twice a week "
        "isn’t enough.",
        5,
    ),
    ("Lucía Ferrán", "Open at six, when my night shift ends. Still warm.", 5),
    ("Tom Okerele", "They remember your order and your dog’s name.", 5),
    (
        "Aiko Tane",
        "Good rye. Saturdays are a long wait, so I come on Fridays now and stay for a coffee.",
        4,
    ),
)
ROLE = "Invented bakery"
LOOK = {"cardStyle": "quote", "palette": "indigo", "showDates": False, "showCtaButton": False}
LAYOUTS = {"masonry": "Masonry", "list": "List", "carousel": "Carousel"}


def describe_front_page() -> dict[str, Any]:
    """Return the samples, the widget's data for them, and what there is to try."""
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
            "colours": {name: write_colours(derive_colours(BRANDS[name])) for name in PALETTES},
        },
        "palettes": PALETTES,
        "layouts": LAYOUTS,
    }


def _describe_feed() -> dict[str, Any]:
    """Return the widget's data, as `describe_feed` does for a project."""
    return {
        "project": {"id": PROJECT_ID, "name": ROLE, "active": True},
        "config": WIDGET_CONFIG | LOOK,
        "design": read_look({}),
        "lang": ENGLISH.code,
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


# The service's own pages: the front page, health, and the documents for people and agents.


METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@site.get("/")
def show_home() -> ResponseReturnValue:
    """Show what this service is and where its documents are."""
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
    """Answer that this process is alive; `/readyz` checks what it depends on.

    The rest is for `testimonials doctor`, which requests this at the public address: whether this
    very instance answers, and what the proxies in front add to a request.
    """
    forwarded = request.headers.get("X-Forwarded-For", "")
    body = {"status": "ok", "version": __version__, "instance": instance_mark()}
    seen = {"proxies": len([each for each in forwarded.split(",") if each.strip()])}
    return jsonify(body | seen | {"scheme": request.scheme})


@site.get("/readyz")
def check_ready() -> ResponseReturnValue:
    """Answer 200 if this host can serve pages or else 503, with warnings for the operator."""
    found = check_host()
    checks = {name: {"ok": found[name].is_ok, "detail": found[name].detail} for name in NEEDED}
    others = {name: each for name, each in found.items() if name not in NEEDED}
    warnings = {name: each.detail for name, each in others.items() if not each.is_ok}
    is_ready = all(check["ok"] for check in checks.values())
    body = {"status": "ready" if is_ready else "not ready", "checks": checks, "warnings": warnings}
    return jsonify(body), 200 if is_ready else 503, {"Cache-Control": "no-store"}


@site.get("/metrics")
def show_metrics() -> ResponseReturnValue:
    """Serve the metrics to callers with the token; without the setting this page is not found."""
    if not current_settings().metrics_token:
        abort(404)
    if not is_allowed():
        return Response(status=401, headers={"WWW-Authenticate": "Bearer"})
    return Response(write_metrics(), content_type=METRICS_TYPE)


@site.get("/v1/openapi.json")
def get_openapi() -> Response:
    """Serve the API's description, made from the schemas that check the requests."""
    response = jsonify(_document())
    response.add_etag()
    response.make_conditional(request)
    return response


@site.get("/docs")
def show_docs() -> ResponseReturnValue:
    return render_template("docs/reference.html", **describe_reference(_document(), base_url()))


@site.get("/llms.txt")
def get_guide_for_agents() -> Response:
    return Response(render_agent_guide(), mimetype="text/plain")


@site.get("/llms-full.txt")
def get_full_guide_for_agents() -> Response:
    return Response(render_full_guide(), mimetype="text/plain")


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


def render_agent_guide() -> str:
    """Return the guide for agents with this service's own addresses and limits."""
    claim_days = f"{current_settings().claim_days:g}"
    return render_template(
        "docs/llms.txt", base_url=base_url(), app_url=app_url(), claim_days=claim_days
    )


def render_full_guide() -> str:
    """Return the guide for agents, every step by itself, and the reference of every call."""
    return render_template(
        "docs/llms-full.txt",
        guide=render_agent_guide(),
        reference=render_reference(_document(), base_url()),
        base_url=base_url(),
        app_url=app_url(),
    )


def render_reference(document: Document, base_url: str) -> str:
    """Return the API reference as Markdown: for agents, and for `scripts/docs`."""
    return render_template("docs/reference.txt", **describe_reference(document, base_url))


def _document() -> dict[str, Any]:
    return describe_api(current_app._get_current_object())  # type: ignore[attr-defined]
