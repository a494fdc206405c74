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
    body = {"businessName": "Kiln & Clay", "slug": "kiln", "website": "kiln.example"}
    return str(owner.create_project(**body)["_id"])
