"""The settings of the application that runs: how every view and service reads them."""

from flask import Flask, current_app

from testimonials.settings.table import Settings

EXTENSION = "testimonials_settings"


def current_settings(app: Flask | None = None) -> Settings:
    """Return the settings of `app`, by default of the application whose context this runs in."""
    settings: Settings = (app or current_app).extensions[EXTENSION]
    return settings
