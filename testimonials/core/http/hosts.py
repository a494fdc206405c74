"""Customers' own host names: mapping their paths to those of the service, and links back.

On a project's host its pages are at the root: `/wall` there is `/<slug>/wall` at the service's own
address. Beside them only what these pages need is served (`SHARED`), never the dashboard or the
API. The names are cached for `SECONDS`. Unknown names are answered like the service's own.
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
# The first segments of paths that are the same on every host.
SHARED = frozenset(
    {
        "widget", "media", "static", "yours", "requests", "oembed", "robots.txt", "favicon.ico",
        "healthz", "domains",
    }
)  # fmt: skip

# Returns the slug of the project by host name.
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
        """Return the link on a page of this host to a path of the service."""
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
        """Return the customer's host of a Host header, or None if it isn't a customer's."""
        name = host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host
        name = name.lower().rstrip(".")
        # IP addresses, and names that no customer could have.
        if "." not in name or len(name) > LONGEST or name[-1:].isdigit():
            return None
        if time.monotonic() - self._read_at >= SECONDS:
            self._read()
        slug = self._known.get(name)
        return OwnHost(name, slug) if slug is not None else None

    def forget(self) -> None:
        """Read the names again for the next request; other processes do within `SECONDS`."""
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
        # No view is a coroutine; Flask would check each of them in every request.
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
