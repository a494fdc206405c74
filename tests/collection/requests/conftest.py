import pytest
from flask import Flask

from tests.conftest import Caller
from tests.support.applications import change_settings


@pytest.fixture
def project(owner: Caller) -> str:
    body = {"businessName": "Kiln & Clay", "slug": "kiln", "website": "kiln.example"}
    return str(owner.create_project(**body)["_id"])


@pytest.fixture
def smtp_url(app: Flask) -> str:
    """Let there be a mail server, which nothing asks before the mail thread runs."""
    url = "smtp://127.0.0.1:9"
    change_settings(app, smtp_url=url)
    return url
