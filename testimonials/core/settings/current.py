"""Access to the settings of the running application."""

from math import ceil

from flask import Flask, current_app

from testimonials.core.settings.table import Settings

EXTENSION = "testimonials_settings"


def current_settings(app: Flask | None = None) -> Settings:
    """Return the settings of `app`, by default of the current application."""
    settings: Settings = (app or current_app).extensions[EXTENSION]
    return settings


def count_days(kind: str) -> int:
    """Return how many whole days a kind of data is kept, or 0 if it is kept forever."""
    days: float = getattr(current_settings(), f"{kind}_days")
    return ceil(days)
