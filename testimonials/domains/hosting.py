"""Serving the host names that projects hold."""

from flask import Flask

from testimonials.core.hosts.own_hosts import init_own_hosts
from testimonials.domains.services import load_hosts


def serve_own_hosts(app: Flask) -> None:
    """Let the public pages of projects be at the root of their own host names."""

    def load() -> dict[str, str]:
        with app.app_context():
            return dict(load_hosts())

    init_own_hosts(app, load)
