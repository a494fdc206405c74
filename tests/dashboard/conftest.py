"""What the tests of most pages take."""

import pytest

from tests.conftest import Caller


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="fern", businessName="Fern & Fable")["_id"])
