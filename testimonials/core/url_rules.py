"""How paths are read: the base path in front of all, and rules that are cheap to make."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask, request
from werkzeug.routing import Rule

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Set in a request's environment by who answers it at the root, whatever the base path is.
AT_ROOT = "testimonials.at_root"


class BasePath:
    """Wraps the application that is served below a path, such as `/testimonials`.

    Views see paths without it, and `url_for` writes it. A proxy may leave it in the path or take it
    away; probes of this machine need not know it.
    """

    def __init__(self, application: "WSGIApplication", path: str) -> None:
        self.application = application
        self._path = path

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        if AT_ROOT not in environ:
            environ["SCRIPT_NAME"] = self._path
            environ["PATH_INFO"] = remove_base_path(environ["PATH_INFO"], self._path)
        return self.application(environ, start_response)


def serve_below(app: Flask, path: str) -> None:
    """Let every page be below a path; "" for the root."""
    if path:
        app.wsgi_app = BasePath(app.wsgi_app, path)  # type: ignore[method-assign]


def remove_base_path(path: str, base: str) -> str:
    """Return the path within the service; one without the base path stays as it is."""
    return path[len(base) :] or "/" if f"{path}/".startswith(f"{base}/") else path


def current_path(*, has_query: bool = False) -> str:
    """Return the path of this request as a link to it is written: with the base path."""
    path = request.full_path.rstrip("?") if has_query else request.path
    at_root = request.environ.get(AT_ROOT)
    return at_root.to_outer(path) if at_root else request.root_path + path


class LateRule(Rule):
    """A rule that compiles how its URLs are built when the first one is built.

    Werkzeug compiles two functions for each rule, which for all of them took a tenth of a start;
    most processes build URLs by few.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled: Callable[..., tuple[str, str]] | None = None

        # The first name has a dot in Werkzeug's own, so that no value can have it.
        def build(rule: Rule, /, **values: Any) -> tuple[str, str]:
            nonlocal compiled
            if compiled is None:
                # Two threads may both do it, and get the same.
                compiled = super(LateRule, self)._compile_builder(append_unknown)
            return compiled(rule, **values)

        return build
