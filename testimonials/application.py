"""Building the application from its features."""

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from testimonials import __version__
from testimonials.admin_group import AdminGroup
from testimonials.core.data.temporary_files import choose_temporary_folder
from testimonials.core.hosts.own_hosts import HostedFlask
from testimonials.core.logs.error_reports import init_error_reports
from testimonials.core.logs.lines import register_access_log
from testimonials.core.url_rules import LateRule, serve_below
from testimonials.core.web.csrf import register_csrf
from testimonials.core.web.errors import register_error_handlers
from testimonials.core.web.languages import register_languages
from testimonials.core.web.response_headers import register_web
from testimonials.core.web.static_files import register_static_files
from testimonials.domains.hosting import serve_own_hosts
from testimonials.extensions import init_extensions
from testimonials.operations.metrics import init_metrics
from testimonials.projects.slugs import keep_reserved_slugs
from testimonials.routes import register_routes
from testimonials.settings.current import EXTENSION as SETTINGS
from testimonials.settings.instance_folder import hold_folder
from testimonials.settings.table import Settings, load_settings

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
