"""What the contracts are read from: an application that never opens its database."""

from typing import Any

import pytest
from flask import Flask

from testimonials import __version__, create_app
from testimonials.core.http.openapi import build_openapi
from testimonials.core.settings.table import load_settings


@pytest.fixture(scope="session")
def described_app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """An application to look at: its routes, its settings, its schemas."""
    folder = str(tmp_path_factory.mktemp("described"))
    overrides = {"instance_path": folder, "base_url": "https://testimonials.example.com"}
    return create_app(load_settings({}, overrides))


@pytest.fixture(scope="session")
def document(described_app: Flask) -> dict[str, Any]:
    return build_openapi(described_app, __version__)
