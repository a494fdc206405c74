"""What the tests of most pages take."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    return open_browser(app, owner)


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="fern", businessName="Fern & Fable")["_id"])
