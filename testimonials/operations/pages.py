"""The service's own pages: the front page, health, and the documents for people and agents."""

from functools import cache
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from testimonials import __version__
from testimonials.auth.models import Account
from testimonials.core.openapi import build_openapi
from testimonials.extensions import db
from testimonials.operations.reference import describe_operations, describe_schemas

site: Blueprint = Blueprint("site", __name__)


@site.get("/")
def show_home() -> ResponseReturnValue:
    """Show what this service is and where its documents are."""
    settings = current_app.config
    return render_template(
        "home.html",
        base_url=settings["BASE_URL"],
        app_url=settings["APP_URL"],
        signup_open=settings["SIGNUP"] != "closed",
    )


@site.get("/healthz")
def check_health() -> Response:
    """Tell whether the service and its database answer; runs a query."""
    db.session.execute(select(Account.id).limit(1))
    return jsonify({"status": "ok", "version": __version__})


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
        operations=describe_operations(_document(), current_app.config["BASE_URL"]),
        schemas=describe_schemas(_document()),
        base_url=current_app.config["BASE_URL"],
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
    settings = current_app.config
    return render_template(
        "docs/llms.txt",
        base_url=settings["BASE_URL"],
        app_url=settings["APP_URL"],
        claim_days=f"{settings['CLAIM_DAYS']:g}",
    )


def _document() -> dict[str, Any]:
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return _build(app)


@cache
def _build(app: Any) -> dict[str, Any]:
    return build_openapi(app, __version__)
