"""A project that the tests of the widget show, and the widget's data."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.conftest import Caller


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln & Clay", slug="kiln")["_id"])


def read_feed(client: FlaskClient, project: str, query: str = "") -> dict[str, Any]:
    """Ask twice: what is answered from memory must be what was answered from the database."""
    answers = [client.get(f"/widget/{project}/feed?{query}") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].data == answers[1].data
    return dict(answers[0].json)  # type: ignore[arg-type]
