"""The settings of the application that runs: how every view and service reads them."""

from math import ceil

from flask import Flask, current_app

from testimonials.core.settings.table import Settings

EXTENSION = "testimonials_settings"


def current_settings(app: Flask | None = None) -> Settings:
    """Return the settings of `app`, by default of the application whose context this runs in."""
    settings: Settings = (app or current_app).extensions[EXTENSION]
    return settings


def count_days(kind: str) -> int:
    """Return for how many days a kind of data is kept, in whole ones; 0 if it is kept for good."""
    days: float = getattr(current_settings(), f"{kind}_days")
    return ceil(days)
