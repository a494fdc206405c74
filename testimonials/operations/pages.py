"""The service's own pages: the front page, health, and the documents for people and agents."""

from typing import Any

from flask import Blueprint, Response, abort, current_app, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from testimonials import __version__
from testimonials.core.urls import app_url, base_path, base_url
from testimonials.core.web.api.openapi import describe_api
from testimonials.operations.database.shared_secret import instance_mark
from testimonials.operations.front_page import describe_front_page
from testimonials.operations.health import NEEDED, check_host
from testimonials.operations.metrics import is_allowed, write_metrics
from testimonials.operations.reference import (
    describe_operations,
    describe_schemas,
    describe_shared,
    find_common_answers,
)
from testimonials.operations.reference_text import write_reference
from testimonials.settings.current import current_settings

site: Blueprint = Blueprint("site", __name__)

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
    operations = describe_operations(_document(), base_url())
    return render_template(
        "docs/reference.html",
        api=_document(),
        operations=operations,
        common=find_common_answers(operations),
        shared=describe_shared(_document()),
        schemas=describe_schemas(_document()),
        base_url=base_url(),
    )


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
        reference=write_reference(_document(), base_url()),
        base_url=base_url(),
        app_url=app_url(),
    )


def _document() -> dict[str, Any]:
    return describe_api(current_app._get_current_object())  # type: ignore[attr-defined]
