"""The application: its settings, extensions and routes, and what happens around each request."""

import contextlib
from pathlib import Path
from typing import Any

from flask import Flask, current_app, has_request_context, request
from jinja2 import FileSystemBytecodeCache, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from werkzeug.middleware.proxy_fix import ProxyFix

from testimonials import __version__
from testimonials.cli.groups import LateGroup
from testimonials.core import clock
from testimonials.core.db.sqlite import choose_temporary_folder
from testimonials.core.extensions import init_extensions
from testimonials.core.http import blueprints
from testimonials.core.http.errors import register_error_handlers
from testimonials.core.http.i18n import register_languages, use_visitors_language
from testimonials.core.http.resource import PROVIDED
from testimonials.core.http.security import refuse_cross_site_requests, register_web
from testimonials.core.http.static import register_static_files
from testimonials.core.http.urls import HostedFlask, LateRule, init_own_hosts, serve_below
from testimonials.core.late import add_routes, find_late, late
from testimonials.core.logs import init_error_reports, register_access_log
from testimonials.core.settings.instance import SettingError, hold_folder
from testimonials.core.settings.table import EXTENSION as SETTINGS
from testimonials.core.settings.table import Settings, current_settings, load_settings
from testimonials.widget.cache import init_feed


@pass_context
def label(_context: Context, name: str) -> str:
    """Return the label of a field of the API, as `name_field` does.

    Without the context, Jinja would call it once, in the language of the first reader, when it
    compiles a template in which the name is a constant.
    """
    return str(find_late("dashboard.formatting:name_field")(name))


# Template filters, most of which only the dashboard uses.
FILTERS = {
    "iso": clock.iso,
    "full": late("dashboard.formatting:describe_time"),
    "age": late("dashboard.formatting:describe_age"),
    "breakable": late("dashboard.formatting:make_breakable"),
    "start_small": late("dashboard.formatting:start_small"),
    "label": label,
    "browser": late("core.event_lists:translate_browser"),
}
PROVIDED.update(
    caller="auth.api_auth:admit",
    account="projects.api:lock_callers_account",
    project="projects.access:find_project",
    outcome="projects.api:carry_out",
)
for _blueprint in (blueprints.auth, blueprints.projects):
    _blueprint.before_request(late("auth.cookies:use_persons_language"))
for _blueprint in (blueprints.collection, blueprints.authors, blueprints.media, blueprints.wall):
    _blueprint.before_request(use_visitors_language)

# How many are kept in memory; a page needs up to twenty. Loading another takes a millisecond.
MOST_TEMPLATES = 60


class CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates in the instance folder, if it can be written to.

    Compiling those of the first page takes as long as answering it a hundred times.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        # The single binary unpacks its templates into another folder at each start.
        return super().get_cache_key(name)

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def register_routes(app: Flask) -> None:
    """Attach all blueprints and the routes of their views to `app`."""
    init_feed(app)
    if current_settings(app).metrics_token:
        late("operations.metrics:init_metrics")(app)
    for blueprint in blueprints.ALL:
        app.register_blueprint(blueprint)
    add_routes(app)
    app.context_processor(_describe_company)
    app.jinja_env.filters.update(FILTERS)


def _describe_company() -> dict[str, Any]:
    """Give every template the available ways to sign in."""
    settings = current_settings()
    return {"company_name": settings.company_name, "has_passwords": settings.has_passwords}


@blueprints.dashboard.url_defaults
def _stay_in_project(endpoint: str, values: dict[str, Any]) -> None:
    """Let the pages of a project link to each other without naming the project."""
    here = (request.view_args or {}).get("project_id") if has_request_context() else None
    if here and current_app.url_map.is_endpoint_expecting(endpoint, "project_id"):
        values.setdefault("project_id", here)


# Building the application from its features.

# The limit for the forms of pages; /v1 has its own, smaller one.
MAX_FORM_BYTES = 256 * 1024


def build_app(settings: Settings | None = None) -> Flask:
    """Make the application; see `testimonials.create_app`."""
    settings = settings or _find_instance()
    choose_temporary_folder(settings.instance_path)
    app = HostedFlask("testimonials")
    app.url_rule_class = LateRule
    app.cli = LateGroup("testimonials")
    # Paths are literal: slashes are not merged. OPTIONS is not answered automatically.
    app.url_map.merge_slashes = False
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    app.extensions[SETTINGS] = settings
    compiled = CompiledTemplates(str(settings.instance_path / "templates"))
    app.jinja_options = {"cache_size": MOST_TEMPLATES, "bytecode_cache": compiled}
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = _engine_options(settings)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    if settings.trusted_proxies:
        # Each proxy appends the address that it saw; most replace the scheme and the host.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=settings.trusted_proxies, x_host=1)  # type: ignore[method-assign]
    init_extensions(app)
    register_web(app)
    register_access_log(app)
    init_error_reports(app, __version__)
    register_static_files(app)
    register_languages(app)
    app.before_request(refuse_cross_site_requests)
    register_error_handlers(app)
    register_routes(app)
    _read_addresses(app, settings.base_path)
    return app


def _engine_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {
        # One for each request thread, mail, a job, and the job's lease, so that none has to wait.
        "pool_size": settings.threads + 3,
        "pool_timeout": 4,
        # A cached query takes 30 kB, and most belong to pages that are seldom opened.
        "query_cache_size": 60,
        # The values of a failed statement are what people have written, which must not be logged.
        "hide_parameters": True,
    }
    if settings.is_sqlite:
        # Reusing the last connection keeps their number low: each takes 1 MB. A prepared statement
        # takes 10 kB, with the triggers that it fires.
        options["pool_use_lifo"] = True
        options["connect_args"] = {"cached_statements": 40}
    else:
        # Regardless of PGCLIENTENCODING and the database's own encoding.
        options["connect_args"] = {"client_encoding": "utf8"}
    return options


def _find_instance() -> Settings:
    # A mistyped folder, or showing the help, must not create an instance.
    settings = load_settings(makes_instance=False)
    if settings.has_instance:
        hold_folder(settings.instance_path)
    # Read again: a restore may have changed them before the folder was held.
    return load_settings(makes_instance=False)


def _read_addresses(app: Flask, base_path: str) -> None:
    """Serve everything below the base path, and projects at their own host names.

    Raises `SettingError` if the base path begins like one of the service's own paths, since URLs
    would be ambiguous.
    """
    first = base_path.split("/")[1] if base_path else ""
    if first and first in {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}:
        raise SettingError(
            f"TESTIMONIALS_BASE_URL can't have a path that begins with /{first}, which the service "
            "has itself."
        )
    serve_below(app, base_path)
    init_own_hosts(app, late("projects.domains:list_own_hosts"))
