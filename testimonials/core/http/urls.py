"""URLs used outside of the service, its base path, and customers' own host names."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from flask import Flask, current_app, has_request_context, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.routing import Rule

from testimonials.core.settings.table import current_settings

# These URLs are for emails, snippets, the API, exports and the widget's feed; pages link to each
# other with `url_for`. Some are needed outside of requests, others for each row of a feed.


def base_url() -> str:
    """Return the URL of the API, the widget and pictures, without a trailing slash."""
    return current_settings().base_url


def app_url() -> str:
    """Return the URL of the dashboard and the public pages, without a trailing slash."""
    return current_settings().app_url


def base_path() -> str:
    """Return the path of both, such as `/testimonials`, or "" at the root of the host."""
    return current_settings().base_path


def own_origins() -> tuple[str, str]:
    return origin_of(base_url()), origin_of(app_url())


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def own_host_url(host: str) -> str:
    ours = urlsplit(app_url())
    return f"{ours.scheme}://{host}{f':{ours.port}' if ours.port else ''}"


def host_mark_url(host: str) -> str:
    """Return the URL at a customer's host that shows whether this service answers there."""
    return f"{own_host_url(host)}/domains/mark"


def target_host() -> str:
    """Return the host name that customers point theirs to."""
    return urlsplit(app_url()).hostname or ""


def own_names() -> set[str]:
    """Return the service's own host names, which customers can't use."""
    return {urlsplit(each).hostname or "" for each in (app_url(), base_url())}


def collection_page_url(slug: str, host: str | None = None) -> str:
    """Return the URL of a project's collection page, below which its other public pages are."""
    return own_host_url(host) if host else f"{app_url()}/{slug}"


def form_url(slug: str, name: str | None, host: str | None = None) -> str:
    """Return the URL of a form, or without a name that of the collection page."""
    page = collection_page_url(slug, host)
    return f"{page}/f/{name}" if name else page


def wall_url(slug: str, host: str | None = None) -> str:
    return f"{collection_page_url(slug, host)}/wall"


def testimonial_url(slug: str, testimonial_id: str, host: str | None) -> str:
    return f"{collection_page_url(slug, host)}/{testimonial_id}"


def policy_url(slug: str, host: str | None = None) -> str:
    return f"{collection_page_url(slug, host)}/how-we-collect"


def record_url(slug: str, testimonial_id: str, host: str | None) -> str:
    """Return the URL of a testimonial's public record, which is JSON with `.json` appended."""
    return f"{testimonial_url(slug, testimonial_id, host)}/record"


def log_url(project_id: str) -> str:
    return f"{base_url()}/record/{project_id}/log"


def share_picture_url(slug: str, host: str | None = None) -> str:
    return f"{collection_page_url(slug, host)}/share.png"


def testimonial_picture_url(slug: str, testimonial_id: str, host: str | None) -> str:
    return f"{collection_page_url(slug, host)}/{testimonial_id}/picture.png"


def widget_page_url(project_id: str, name: str = "") -> str:
    return f"{base_url()}/widget/{project_id}{'?widget=' if name else ''}{name}"


def fragment_url(project_id: str) -> str:
    return f"{widget_page_url(project_id)}/fragment"


def newsletter_url(project_id: str) -> str:
    return f"{widget_page_url(project_id)}/newsletter"


def json_feed_url(project_id: str) -> str:
    return f"{widget_page_url(project_id)}/feed.json"


def oembed_url(page_url: str) -> str:
    return f"{base_url()}/oembed?url={quote(page_url, safe='')}"


def script_url(digest: str = "", query: Mapping[str, str] | None = None) -> str:
    """Return the URL of the widget's script: the current version, or the one with this digest.

    The query names the widget for which it must include all pieces.
    """
    url = f"{base_url()}/widget/v1{'-' if digest else ''}{digest}.js"
    return f"{url}?{urlencode(query)}" if query else url


def image_url(image_id: str | None) -> str | None:
    return f"{base_url()}/media/{image_id}.webp" if image_id else None


def face_url(name: str) -> str:
    return f"{base_url()}/static/img/faces/{name}.svg"


def recording_url(recording_id: str, key: str = "") -> str:
    """Return the URL of a recording, with a `key` if it isn't public."""
    return f"{base_url()}/media/recordings/{recording_id}{'?key=' if key else ''}{key}"


def captions_url(recording_id: str, key: str = "") -> str:
    return recording_url(f"{recording_id}.vtt", key)


def call_url(path: str, query: Mapping[str, str]) -> str:
    return f"{base_url()}{quote(path)}?{urlencode(query)}"


def project_url(project_id: str, page: str) -> str:
    return f"{app_url()}/dashboard/projects/{project_id}/{page}"


def login_url() -> str:
    return f"{app_url()}/login"


def company_return_url() -> str:
    """Return the redirect URI for OpenID Connect."""
    return f"{app_url()}/login/company/done"


def forgot_url() -> str:
    return f"{app_url()}/forgot"


def account_url() -> str:
    return f"{app_url()}/dashboard/account"


def link_url(page: str, token: str) -> str:
    """Return the URL of a page for a token in an email, such as the page `claim`."""
    return f"{app_url()}/{page}/{token}"


def proof_url(token: str) -> str:
    return f"{app_url()}/dashboard/account/company/mailed?proof={token}"


def request_url(token: str, answer: str, host: str | None = None) -> str:
    """Return the URL for the answer `decline` or `unsubscribe` to a request."""
    return f"{own_host_url(host) if host else app_url()}/requests/{token}/{answer}"


def author_url(token: str, page: str = "", host: str | None = None) -> str:
    """Return the URL of the author's own page, or of a page below it such as `correct`."""
    root = own_host_url(host) if host else app_url()
    return f"{root}/yours/{token}{'/' if page else ''}{page}"


def error_url(code: str) -> str:
    return f"{base_url()}/docs#{code}"


def agent_guide_url() -> str:
    return f"{base_url()}/llms.txt"


def mcp_url() -> str:
    """Return the URL of MCP, which in OAuth is also the resource that tokens are for."""
    return f"{base_url()}/mcp"


def resource_metadata_url() -> str:
    return f"{base_url()}/.well-known/oauth-protected-resource/mcp"


def consent_url() -> str:
    return f"{app_url()}/oauth/authorize"


def oauth_url(action: str) -> str:
    return f"{base_url()}/oauth/{action}"


# Set in the WSGI environment for requests to a customer's host, where there is no base path.
AT_ROOT = "testimonials.at_root"


def serve_below(app: Flask, base: str) -> None:
    """Serve everything below the path `base`, such as `/testimonials`, or "" for the root.

    Views see paths without it, and `url_for` adds it. Requests without it work too, since a proxy
    may remove it and local probes may not know it.
    """
    inner = app.wsgi_app

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if AT_ROOT not in environ:
            environ["SCRIPT_NAME"] = base
            environ["PATH_INFO"] = remove_base_path(environ["PATH_INFO"], base)
        return inner(environ, start_response)

    if base:
        app.wsgi_app = answer  # type: ignore[method-assign]


def remove_base_path(path: str, base: str) -> str:
    """Return the path without the base path, if it begins with it."""
    return path[len(base) :] or "/" if f"{path}/".startswith(f"{base}/") else path


def current_path(*, has_query: bool = False) -> str:
    """Return the path that a link to this request's page needs, including the base path."""
    path = request.full_path.rstrip("?") if has_query else request.path
    at_root = request.environ.get(AT_ROOT)
    return at_root.to_outer(path) if at_root else request.root_path + path


class LateRule(Rule):
    """A rule that compiles its URL builder on first use.

    Werkzeug compiles two functions for each rule, which took a tenth of a start's time, although
    most processes build URLs for few rules.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled: Callable[..., tuple[str, str]] | None = None

        # The rule is positional, so that values can have any name.
        def build(rule: Rule, /, **values: Any) -> tuple[str, str]:
            nonlocal compiled
            if compiled is None:
                compiled = super(LateRule, self)._compile_builder(append_unknown)
            return compiled(rule, **values)

        return build


# On a project's own host its pages are at the root: `/wall` there is `/<slug>/wall` of the service.
# Besides, only what these pages need is served (`SHARED`), never the dashboard or the API. The
# names are cached for `SECONDS`. Unknown names are treated like the service's own.

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_own_hosts"
SECONDS = 2.0
MAX_HOST_LENGTH = 253
# The first segments of paths that are the same on every host.
SHARED = frozenset(
    {
        "widget", "media", "static", "yours", "requests", "oembed", "robots.txt", "favicon.ico",
        "healthz", "domains",
    }
)  # fmt: skip

# Returns the slugs of projects by host name.
Load = Callable[[], Mapping[str, str]]


@dataclass(frozen=True)
class OwnHost:
    """A customer's host name, and the slug of its project."""

    name: str
    slug: str

    @property
    def prefix(self) -> str:
        return f"/{self.slug}"

    def to_inner(self, path: str) -> str:
        """Map a path on this host to one of the service."""
        if SHARED.intersection(path.split("/", 2)[1:2]):
            return path
        return self.prefix + ("" if path in ("", "/") else path)

    def to_outer(self, path: str) -> str:
        """Map a path of the service to a link on this host's pages."""
        if path == "/" or not path.startswith("/"):
            return path
        if path.startswith(self.prefix) and path[len(self.prefix) :][:1] in ("", "/", "?", "#"):
            rest = path[len(self.prefix) :]
            return rest if rest.startswith("/") else f"/{rest}"
        is_shared = path.split("/", 2)[1].partition("?")[0] in SHARED
        return path if is_shared else app_url() + path


class OwnHosts:
    """A cache of the host names that are served."""

    def __init__(self, app: Flask, load: Load) -> None:
        self._app, self._load = app, load
        self._known: Mapping[str, str] = {}
        self._read_at = -SECONDS
        self._lock = threading.Lock()

    def find(self, host: str) -> OwnHost | None:
        """Return the customer's host named by a Host header, or None if it isn't one."""
        name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
        name = name.lower().rstrip(".")
        # IP addresses, and names that no customer could have.
        if "." not in name or len(name) > MAX_HOST_LENGTH or name[-1:].isdigit():
            return None
        if time.monotonic() - self._read_at >= SECONDS:
            self._read()
        slug = self._known.get(name)
        return OwnHost(name, slug) if slug is not None else None

    def forget(self) -> None:
        """Read the names again for the next request; other processes do so within `SECONDS`."""
        self._read_at = -SECONDS

    def _read(self) -> None:
        with self._lock:
            if time.monotonic() - self._read_at < SECONDS:
                return
            # Set first, so that a change during the read isn't missed.
            self._read_at = time.monotonic()
            try:
                with self._app.app_context():
                    self._known = self._load()
            except SQLAlchemyError as error:
                logger.warning("own host names can't be read: %s", type(error).__name__)


class HostedFlask(Flask):
    """A Flask whose `url_for` builds URLs for the host of the request."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        # No view is a coroutine; Flask would check that in every request.
        return func

    def url_for(self, endpoint: str, **values: Any) -> str:
        url = super().url_for(endpoint, **values)
        own = find_own_host()
        return own.to_outer(url) if own is not None else url


def init_own_hosts(app: Flask, load: Load) -> None:
    """Serve the host names that `load` returns, by rewriting the paths of their requests.

    This must be the outermost layer, so that all others see the rewritten paths.
    """
    settings, inner = current_settings(app), app.wsgi_app
    app.extensions[EXTENSION] = hosts = OwnHosts(app, load)
    ours = {urlsplit(each).netloc for each in (settings.base_url, settings.app_url)}

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        # The name that the browser used, as `ProxyFix` will read it.
        forwarded = environ.get("HTTP_X_FORWARDED_HOST", "") if settings.trusted_proxies else ""
        host = forwarded.rpartition(",")[2].strip() or environ.get("HTTP_HOST", "")
        if host not in ours and (own := hosts.find(host)) is not None:
            environ[AT_ROOT] = own
            environ["PATH_INFO"] = own.to_inner(environ["PATH_INFO"])
        return inner(environ, start_response)

    app.wsgi_app = answer  # type: ignore[method-assign]


def own_hosts() -> OwnHosts:
    hosts: OwnHosts = current_app.extensions[EXTENSION]
    return hosts


def find_own_host() -> OwnHost | None:
    """Return the customer's host of this request, or None if it is the service's own."""
    return request.environ.get(AT_ROOT) if has_request_context() else None
