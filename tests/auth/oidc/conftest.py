"""Providers for these tests."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.auth.oidc.providers import CertifiedProvider, InventiveProvider, settings_for
from tests.conftest import MakeApp


@pytest.fixture
def provider() -> Iterator[InventiveProvider]:
    made = InventiveProvider()
    yield made
    made.stop()


@pytest.fixture
def certified() -> Iterator[CertifiedProvider]:
    made = CertifiedProvider()
    yield made
    made.stop()


@pytest.fixture
def app(make_app: MakeApp, provider: InventiveProvider) -> Flask:
    return make_app(**settings_for(provider.issuer))
