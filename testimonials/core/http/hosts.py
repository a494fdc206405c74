"""Customers' own host names: which page a request for one is for, and links within it.

On the host of a project its pages are at the root: `/wall` is what `/<slug>/wall` is at the
service's own address. Nothing else is there but what these pages need (`SHARED`); the dashboard and
the API never are. Which names there are is known from memory, and read again after `SECONDS` at
most. An unknown name is answered like the service's own, as ever.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, current_app, has_request_context, request
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.http.urls import AT_ROOT, app_url
from testimonials.core.settings.current import current_settings

logger = logging.getLogger("testimonials")

EXTENSION = "testimonials_own_hosts"
SECONDS = 2.0
LONGEST = 253
# First segments of paths that are the same on every host.
SHARED = frozenset(
    {
        "widget", "media", "static", "yours", "requests", "oembed", "robots.txt", "favicon.ico",
        "healthz", "domains",
    }
)  # fmt: skip

# Returns each host name with the slug of its project.
Load = Callable[[], Mapping[str, str]]


@dataclass(frozen=True)
class OwnHost:
    """The customer's host name that a request came to, and the slug of its project."""

    name: str
    slug: str

    @property
    def prefix(self) -> str:
        return f"/{self.slug}"

    def to_inner(self, path: str) -> str:
        """Return the path of the service that `path` on this host stands for."""
        if path.split("/", 2)[1:2] and path.split("/", 2)[1] in SHARED:
            return path
        return self.prefix + ("" if path in ("", "/") else path)

    def to_outer(self, path: str) -> str:
        """Return how a page on this host links to a path of the service."""
        if path == "/" or not path.startswith("/"):
            return path
        if path.startswith(self.prefix) and path[len(self.prefix) :][:1] in ("", "/", "?", "#"):
            rest = path[len(self.prefix) :]
            return rest if rest.startswith("/") else f"/{rest}"
        is_shared = path.split("/", 2)[1].partition("?")[0] in SHARED
        return path if is_shared else app_url() + path


class OwnHosts:
    """The host names that are served, in memory."""

    def __init__(self, app: Flask, load: Load) -> None:
        self._app, self._load = app, load
        self._known: Mapping[str, str] = {}
        self._read_at = -SECONDS
        self._lock = threading.Lock()

    def find(self, host: str) -> OwnHost | None:
        """Return what is served at a host name, None if it isn't a customer's."""
        name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
        name = name.lower().rstrip(".")
        # Neither addresses nor what no customer could have.
        if "." not in name or len(name) > LONGEST or name[-1:].isdigit():
            return None
        if time.monotonic() - self._read_at >= SECONDS:
            self._read()
        slug = self._known.get(name)
        return OwnHost(name, slug) if slug is not None else None

    def forget(self) -> None:
        """Read the names again before the next answer; other processes do within `SECONDS`."""
        self._read_at = -SECONDS

    def _read(self) -> None:
        with self._lock:
            if time.monotonic() - self._read_at < SECONDS:
                return
            # First, so that a change from now on is not passed over.
            self._read_at = time.monotonic()
            try:
                with self._app.app_context():
                    self._known = self._load()
            except SQLAlchemyError as error:
                logger.warning("own host names can't be read: %s", type(error).__name__)


class HostedFlask(Flask):
    """Makes `url_for` right for the host that a page is shown on."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        # No function here is a coroutine, and Flask would ask that of each for each request.
        return func

    def url_for(self, endpoint: str, **values: Any) -> str:
        url = super().url_for(endpoint, **values)
        here = find_own_host()
        return here.to_outer(url) if here is not None else url


def init_own_hosts(app: Flask, load: Load) -> None:
    """Serve the host names that `load` returns: give requests for them the path of what they are.

    The outermost layer: all others see its paths.
    """
    settings, inner = current_settings(app), app.wsgi_app
    app.extensions[EXTENSION] = hosts = OwnHosts(app, load)
    ours = {urlsplit(each).netloc for each in (settings.base_url, settings.app_url)}

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        # The name that the browser asked for, as `ProxyFix` will read it.
        sent = environ.get("HTTP_X_FORWARDED_HOST", "") if settings.trusted_proxies else ""
        host = sent.rpartition(",")[2].strip() or environ.get("HTTP_HOST", "")
        if host not in ours and (found := hosts.find(host)) is not None:
            environ[AT_ROOT] = found
            environ["PATH_INFO"] = found.to_inner(environ["PATH_INFO"])
        return inner(environ, start_response)

    # Flask is wrapped by replacing this method, which mypy takes for a mistake.
    app.wsgi_app = answer  # type: ignore[method-assign]


def own_hosts() -> OwnHosts:
    found: OwnHosts = current_app.extensions[EXTENSION]
    return found


def find_own_host() -> OwnHost | None:
    """Return the customer's host that this request came to, None for the service's own."""
    return request.environ.get(AT_ROOT) if has_request_context() else None
