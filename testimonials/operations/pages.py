"""The service's own pages: the front page, health, and the documents for people and agents."""

from functools import cache
from typing import Any

from flask import Blueprint, Response, abort, current_app, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from testimonials import __version__
from testimonials.core.urls import app_url, base_url
from testimonials.core.web.openapi import build_openapi
from testimonials.operations.database.shared_secret import instance_mark
from testimonials.operations.health import NEEDED, check_host
from testimonials.operations.metrics import is_allowed, write_metrics
from testimonials.operations.reference import describe_operations, describe_schemas
from testimonials.settings.current import current_settings

site: Blueprint = Blueprint("site", __name__)

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@site.get("/")
def show_home() -> ResponseReturnValue:
    """Show what this service is and where its documents are."""
    settings = current_settings()
    return render_template(
        "home.html",
        base_url=base_url(),
        app_url=app_url(),
        signup_open=settings.signup != "closed",
    )


@site.get("/healthz")
def check_health() -> Response:
    """Tell that this process lives; what it depends on is asked at ``/readyz``.

    The rest is for `testimonials doctor`, which asks by the public address: whether it is this
    instance that answers, and what the proxies in front tell of a request.
    """
    forwarded = request.headers.get("X-Forwarded-For", "")
    body = {"status": "ok", "version": __version__, "instance": instance_mark()}
    seen = {"proxies": len([each for each in forwarded.split(",") if each.strip()])}
    return jsonify(body | seen | {"scheme": request.scheme})


@site.get("/readyz")
def check_ready() -> ResponseReturnValue:
    """Tell whether this host can serve pages, by 200 or 503, and what else is not well there."""
    found = check_host()
    checks = {name: found[name] for name in NEEDED}
    is_ready = all(check.is_ok for check in checks.values())
    body = {
        "status": "ready" if is_ready else "not ready",
        "checks": {
            name: {"ok": each.is_ok, "detail": each.detail} for name, each in checks.items()
        },
        "warnings": {
            name: each.detail
            for name, each in found.items()
            if name not in NEEDED and not each.is_ok
        },
    }
    return jsonify(body), 200 if is_ready else 503, {"Cache-Control": "no-store"}


@site.get("/metrics")
def show_metrics() -> ResponseReturnValue:
    """Serve the metrics to whoever knows the token; without the setting there is no such page."""
    if not current_settings().metrics_token:
        abort(404)
    if not is_allowed():
        return Response(status=401, headers={"WWW-Authenticate": "Bearer"})
    return Response(write_metrics(), content_type=METRICS_TYPE)


@site.get("/v1/openapi.json")
def get_openapi() -> Response:
    """Serve the API's description, made from what checks the requests."""
    return jsonify(_document())


@site.get("/docs")
def show_docs() -> ResponseReturnValue:
    """Show the API's description for a reader."""
    return render_template(
        "docs/reference.html",
        api=_document(),
        operations=describe_operations(_document(), base_url()),
        schemas=describe_schemas(_document()),
        base_url=base_url(),
    )


@site.get("/llms.txt")
def get_guide_for_agents() -> Response:
    """Serve the whole journey of an agent on one page of plain text."""
    return Response(render_agent_guide(), mimetype="text/plain")


@site.get("/robots.txt")
def get_robots() -> Response:
    """Keep crawlers from links that are secrets."""
    closed = ("/v1/", "/claim", "/yours/")
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in closed)]
    return Response("\n".join(lines) + "\n", mimetype="text/plain")


@site.get("/favicon.ico")
def get_favicon() -> Response:
    """Serve the mark."""
    return current_app.send_static_file("img/mark.svg")


def render_agent_guide() -> str:
    """Write the guide for agents with this service's own addresses and limits."""
    settings = current_settings()
    return render_template(
        "docs/llms.txt",
        base_url=base_url(),
        app_url=app_url(),
        claim_days=f"{settings.claim_days:g}",
    )


def _document() -> dict[str, Any]:
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return _build(app)


@cache
def _build(app: Any) -> dict[str, Any]:
    return build_openapi(app, __version__)
