"""A project that the tests of testimonials fill."""

import pytest

from tests.conftest import Caller


@pytest.fixture
def project_id(owner: Caller) -> str:
    return str(owner.create_project()["_id"])
