"""`testimonials config`: the settings in force."""

import dataclasses
from typing import Any
from urllib.parse import urlsplit

import click
from flask.cli import with_appcontext

from testimonials.core.commands import json_option, print_record
from testimonials.settings.current import current_settings
from testimonials.settings.table import PREFIX, Settings

HIDDEN = "(hidden)"


@click.group()
def config() -> None:
    """Show the settings."""


@config.command("show")
@json_option
@with_appcontext
def show_command(as_json: bool) -> None:
    """Show every setting in force, with secrets hidden."""
    print_record(describe_settings(current_settings()), as_json=as_json)


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Return each setting's variable and value, with secrets hidden."""
    described = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.metadata["secret"] and value:
            value = _hide(str(value))
        elif isinstance(value, tuple):
            value = [str(each) for each in value]
        elif not isinstance(value, str | int | float):
            value = str(value)
        described[PREFIX + field.name.upper()] = value
    return described


def _hide(value: str) -> str:
    """Hide the password in a URL, or any other secret as a whole."""
    parts = urlsplit(value)
    if not parts.scheme or "://" not in value:
        return HIDDEN
    # In the URL of a web service, the user is its key.
    is_key = parts.scheme.startswith("http")
    secret = parts.password or (parts.username if is_key else None)
    return value.replace(f"{secret}@", f"{HIDDEN}@", 1) if secret else value
