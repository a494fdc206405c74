"""The application: its settings, extensions, doors and what happens around each request."""

from typing import Any

from flask import Blueprint, Flask, current_app, has_request_context, request
from werkzeug.middleware.proxy_fix import ProxyFix

from testimonials import __version__
from testimonials.analytics.counting import beacons, init_insights
from testimonials.analytics.reports import counted
from testimonials.auth.api import auth
from testimonials.auth.billing import billing
from testimonials.auth.email_change import address
from testimonials.auth.login import session
from testimonials.auth.oidc.pages import company
from testimonials.auth.tokens import init_uses
from testimonials.auth.two_factor_pages import proofs
from testimonials.cli.groups import AdminGroup
from testimonials.collection.abuse import reporting
from testimonials.collection.api import asked, forms, pictures, purchases
from testimonials.collection.author_pages import author
from testimonials.collection.pages import collection
from testimonials.collection.request_pages import requests
from testimonials.core.db.sqlite import choose_temporary_folder
from testimonials.core.extensions import init_extensions
from testimonials.core.http.errors import register_error_handlers
from testimonials.core.http.hosts import HostedFlask
from testimonials.core.http.i18n import register_languages
from testimonials.core.http.security import register_csrf, register_web
from testimonials.core.http.static import register_static_files
from testimonials.core.http.urls import LateRule, serve_below
from testimonials.core.logs import init_error_reports, register_access_log
from testimonials.core.settings.current import EXTENSION as SETTINGS
from testimonials.core.settings.instance import hold_folder
from testimonials.core.settings.table import Settings, load_settings
from testimonials.dashboard.account import account, account_company
from testimonials.dashboard.claim import claim
from testimonials.dashboard.exports import archives, exporting
from testimonials.dashboard.forms import page_forms
from testimonials.dashboard.home import dashboard
from testimonials.dashboard.imports import importing
from testimonials.dashboard.inbox import inbox
from testimonials.dashboard.insights import insights_page
from testimonials.dashboard.onboarding import checklist
from testimonials.dashboard.page_editor import page_editor, page_pictures
from testimonials.dashboard.project_settings import domain_pages, notifications, ownership, settings
from testimonials.dashboard.proposals import decisions
from testimonials.dashboard.requests import asking, purchase_links
from testimonials.dashboard.review import deciding, decision_link
from testimonials.dashboard.security import security
from testimonials.dashboard.share import share
from testimonials.dashboard.sso_claim import company_claim
from testimonials.dashboard.team import team
from testimonials.dashboard.testimonial import editor, picture, recording
from testimonials.dashboard.tokens import integrations, tokens
from testimonials.dashboard.translations import page_words
from testimonials.dashboard.two_factor import proof_settings
from testimonials.dashboard.webhooks import deliveries, endpoints
from testimonials.dashboard.widget_editor import widget_editor
from testimonials.dashboard.widgets import order, saved_widgets
from testimonials.dashboard.workspace_team import workspace
from testimonials.integrations.mcp.server import mcp
from testimonials.integrations.oauth import consent, oauth
from testimonials.integrations.setup import setup
from testimonials.integrations.webhooks.api import webhooks
from testimonials.operations.admin import operator
from testimonials.operations.metrics import init_metrics
from testimonials.operations.site import site
from testimonials.projects.api import configuration, domain, projects
from testimonials.projects.domains import serve_own_hosts
from testimonials.projects.pages import hosts, invitation, media, unsubscribe
from testimonials.projects.projects import keep_reserved_slugs
from testimonials.projects.proposals_api import proposals
from testimonials.testimonials.api import editing, init_pages, moderation, testimonials
from testimonials.testimonials.media.playback import playing
from testimonials.testimonials.media.upload_pages import recordings
from testimonials.transfer.api import imports
from testimonials.widget.api import widget
from testimonials.widget.cache import init_feed
from testimonials.widget.feed import feed
from testimonials.widget.format_pages import formats
from testimonials.widget.render_pages import rendered
from testimonials.widget.wall import init_wall
from testimonials.widget.wall_pages import wall

# Every blueprint, in the order of the features.

BLUEPRINTS: tuple[Blueprint, ...] = (
    auth,
    setup,
    projects,
    domain,
    hosts,
    configuration,
    forms,
    widget,
    testimonials,
    editing,
    moderation,
    imports,
    asked,
    purchases,
    counted,
    proposals,
    pictures,
    webhooks,
    claim,
    session,
    company,
    company_claim,
    proofs,
    address,
    billing,
    invitation,
    feed,
    beacons,
    rendered,
    wall,
    formats,
    media,
    recordings,
    playing,
    unsubscribe,
    mcp,
    oauth,
    consent,
    dashboard,
    inbox,
    page_editor,
    page_pictures,
    page_forms,
    page_words,
    checklist,
    deciding,
    decision_link,
    share,
    insights_page,
    integrations,
    tokens,
    endpoints,
    deliveries,
    asking,
    purchase_links,
    decisions,
    importing,
    archives,
    exporting,
    editor,
    recording,
    picture,
    settings,
    widget_editor,
    saved_widgets,
    order,
    domain_pages,
    notifications,
    team,
    ownership,
    workspace,
    account,
    account_company,
    security,
    proof_settings,
    site,
    operator,
    reporting,
    author,
    requests,
    collection,
)


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    init_pages(app)
    init_uses(app)
    init_feed(app)
    init_wall(app)
    init_insights(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.url_defaults(_stay_in_project)


def _stay_in_project(endpoint: str, values: dict[str, Any]) -> None:
    """Let the pages of a project link to each other without naming the project each time."""
    here = (request.view_args or {}).get("project_id") if has_request_context() else None
    if here and current_app.url_map.is_endpoint_expecting(endpoint, "project_id"):
        values.setdefault("project_id", here)


# Building the application from its features.

# The limit of the pages' forms; /v1 has its own, smaller one.
MAX_FORM_BYTES = 256 * 1024


def build_app(settings: Settings | None = None) -> Flask:
    """Make the application; see `testimonials.create_app`."""
    settings = settings or _find_instance()
    choose_temporary_folder(settings.instance_path)
    app = HostedFlask("testimonials")
    app.url_rule_class = LateRule
    app.cli = AdminGroup("testimonials")
    # Paths are literal: no redirects for slashes, no automatic answers to OPTIONS.
    app.url_map.merge_slashes = False
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    app.extensions[SETTINGS] = settings
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {
        # One for each request thread, mail, a job, and the job's lease, so that none waits.
        "pool_size": settings.threads + 3,
        "pool_timeout": 4,
        # The values of a failed statement are what people wrote, which must not be logged.
        "hide_parameters": True,
    }
    if not settings.is_sqlite:
        # Regardless of PGCLIENTENCODING and the database's own encoding.
        encoding = {"client_encoding": "utf8"}
        app.config["SQLALCHEMY_ENGINE_OPTIONS"]["connect_args"] = encoding
    app.json.sort_keys = False  # type: ignore[attr-defined]
    if settings.trusted_proxies:
        # Each proxy appends the address that it saw; how the browser asked, most of them replace.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=settings.trusted_proxies, x_host=1)  # type: ignore[method-assign]
    init_extensions(app)
    register_web(app)
    register_access_log(app)
    init_metrics(app)
    init_error_reports(app, __version__)
    register_static_files(app)
    register_languages(app)
    register_csrf(app)
    register_error_handlers(app)
    register_routes(app)
    keep_reserved_slugs(app)
    _read_addresses(app, settings.base_path)
    return app


def _find_instance() -> Settings:
    # A mistyped folder, or a look at the help, must not make an instance.
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        hold_folder(settings.instance_path)
    # Read again: a restore may have changed them before the folder was held.
    return load_settings(makes_instance=False)


def _read_addresses(app: Flask, base_path: str) -> None:
    """Let what is asked for be below a path, or at a project's own host name."""
    serve_below(app, base_path)
    serve_own_hosts(app)
