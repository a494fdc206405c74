"""Providers for these tests."""

from collections.abc import Iterator

import pytest

from tests.auth.company.providers import CertifiedProvider, InventiveProvider


@pytest.fixture
def provider() -> Iterator[InventiveProvider]:
    """A provider that answers as the test tells it to."""
    made = InventiveProvider()
    yield made
    made.stop()


@pytest.fixture
def certified() -> Iterator[CertifiedProvider]:
    """A certified provider."""
    made = CertifiedProvider()
    yield made
    made.stop()
