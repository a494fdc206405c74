"""Testimonials: collect them, and show them on any website."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from testimonials.core.settings.table import Settings

__version__ = "0.1.0"


def create_app(settings: Settings | None = None) -> Flask:
    """Make the application from `settings`, or from the environment, without using a database.

    Unlike `serve`, this creates no instance. Raises `SettingError`.
    """
    from testimonials.application import build_app

    return build_app(settings)
