"""The application: its settings, extensions, doors and what happens around each request."""

from types import ModuleType
from typing import Any

import click
from click.exceptions import NoSuchCommand
from flask import Blueprint, Flask, current_app, has_request_context, request
from flask.cli import AppGroup
from werkzeug.middleware.proxy_fix import ProxyFix

from testimonials import __version__
from testimonials.analytics import counting, reports
from testimonials.auth import api as auth_api
from testimonials.auth import billing, email_change, login, two_factor_pages
from testimonials.auth.api_auth import admit
from testimonials.auth.oidc import pages as sso_pages
from testimonials.auth.tokens import init_uses
from testimonials.collection import abuse, author_pages, request_pages
from testimonials.collection import api as collection_api
from testimonials.collection import pages as collection_pages
from testimonials.core.db.sqlite import choose_temporary_folder
from testimonials.core.extensions import init_extensions
from testimonials.core.http import blueprints
from testimonials.core.http.errors import register_error_handlers
from testimonials.core.http.hosts import HostedFlask
from testimonials.core.http.i18n import register_languages
from testimonials.core.http.resource import PROVIDED
from testimonials.core.http.security import register_csrf, register_web
from testimonials.core.http.static import register_static_files
from testimonials.core.http.urls import LateRule, serve_below
from testimonials.core.logs import init_error_reports, register_access_log
from testimonials.core.settings.current import EXTENSION as SETTINGS
from testimonials.core.settings.instance import hold_folder
from testimonials.core.settings.table import Settings, load_settings
from testimonials.dashboard import (
    account,
    activity,
    add_to_site,
    asked,
    brand,
    claim,
    collect,
    consent,
    developers,
    exports,
    first_steps,
    home,
    imports,
    inbox,
    insights,
    invitation,
    moved,
    ownership,
    page_editor,
    people,
    review,
    security,
    settings,
    sharing,
    testimonial,
    testimonial_picture,
    tokens,
    translations,
    two_factor,
    webhooks,
    widget_editor,
    widget_gallery,
    widget_order,
)
from testimonials.integrations import oauth, setup
from testimonials.integrations.mcp import server as mcp
from testimonials.integrations.webhooks import api as webhook_api
from testimonials.integrations.webhooks.delivery import init_webhooks
from testimonials.operations import admin, expiry, help, site
from testimonials.operations.metrics import init_metrics
from testimonials.projects import api as project_api
from testimonials.projects import pages as project_pages
from testimonials.projects import proposals_api
from testimonials.projects.access import find_project
from testimonials.projects.domains import serve_own_hosts
from testimonials.projects.projects import keep_reserved_slugs
from testimonials.projects.proposals_api import carry_out, lock_callers_account
from testimonials.testimonials import api as testimonial_api
from testimonials.testimonials.media import playback, upload_pages
from testimonials.transfer import api as transfer_api
from testimonials.widget import api as widget_api
from testimonials.widget import feed, format_pages, render_pages, wall_pages
from testimonials.widget.cache import init_feed
from testimonials.widget.wall import init_wall

# In the order of the features: each blueprint, and the modules that put views on it.
VIEWS: dict[Blueprint, tuple[ModuleType, ...]] = {
    blueprints.auth: (
        auth_api,
        login,
        claim,
        sso_pages,
        two_factor_pages,
        email_change,
        billing,
    ),
    blueprints.projects: (project_api, proposals_api, project_pages, invitation, review),
    blueprints.testimonials: (testimonial_api,),
    blueprints.widget: (widget_api, feed, format_pages),
    blueprints.collection: (collection_api, collection_pages, request_pages, abuse),
    blueprints.authors: (author_pages,),
    blueprints.media: (project_pages, playback, upload_pages),
    blueprints.wall: (wall_pages, render_pages),
    blueprints.analytics: (counting, reports),
    blueprints.webhooks: (webhook_api,),
    blueprints.agents: (mcp, setup),
    blueprints.oauth: (oauth, consent),
    blueprints.transfer: (transfer_api,),
    blueprints.dashboard: (),
    blueprints.admin: (admin,),
    blueprints.site: (site, help, project_pages),
}
# The same for the blueprints inside the dashboard.
DASHBOARD: dict[Blueprint, tuple[ModuleType, ...]] = {
    blueprints.home: (home, first_steps, moved),
    blueprints.inbox: (inbox, review, testimonial, testimonial_picture),
    blueprints.widget_pages: (widget_editor, widget_gallery, widget_order, add_to_site),
    blueprints.collect: (collect, asked, sharing, page_editor, translations),
    blueprints.insights: (insights,),
    blueprints.settings: (settings, brand, developers, tokens, webhooks, imports, exports),
    blueprints.people: (people, ownership),
    blueprints.account: (account, activity, exports, security, two_factor),
}  # fmt: skip
# What is only done in the background, so that no other module needs it.
BACKGROUND = (expiry,)


def register_routes(app: Flask) -> None:
    """Attach every blueprint to `app`."""
    PROVIDED.update(
        caller=admit, account=lock_callers_account, project=find_project, outcome=carry_out
    )
    testimonial_api.init_pages(app)
    init_uses(app)
    init_webhooks(app)
    init_feed(app)
    init_wall(app)
    counting.init_insights(app)
    for blueprint in VIEWS:
        app.register_blueprint(blueprint)


@blueprints.dashboard.url_defaults
def _stay_in_project(endpoint: str, values: dict[str, Any]) -> None:
    """Let the pages of a project link to each other without naming the project each time."""
    here = (request.view_args or {}).get("project_id") if has_request_context() else None
    if here and current_app.url_map.is_endpoint_expecting(endpoint, "project_id"):
        values.setdefault("project_id", here)


class AdminGroup(AppGroup):
    """Loads the admin commands only when one of them or their list is needed, never for `serve`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            self._load()
        found = super().get_command(ctx, cmd_name)
        if found is None and not ctx.resilient_parsing:
            # Flask's own command would name the nearest of its own.
            raise NoSuchCommand(cmd_name, possibilities=self.commands, ctx=ctx)
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def _load(self) -> None:
        from testimonials.cli.groups import COMMANDS, GROUPS

        for command in (*GROUPS, *COMMANDS):
            self.add_command(command)


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
