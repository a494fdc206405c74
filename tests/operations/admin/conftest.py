"""An application that has an operator, and a customer."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller, MakeApp, MakeCaller


@pytest.fixture
def server(make_app: MakeApp) -> Flask:
    return make_app(operators="boss@example.com")


@pytest.fixture
def boss(server: Flask, make_caller: MakeCaller) -> FlaskClient:
    """The operator's browser, a moment after signing in."""
    return open_browser(server, make_caller("boss@example.com", is_claimed=True, on=server))


@pytest.fixture
def customer(server: Flask, make_caller: MakeCaller) -> Caller:
    """Somebody with a project and a testimonial."""
    made = make_caller("team@larkspur.example", is_claimed=True, on=server)
    project = made.create_project(businessName="Larkspur", slug="larkspur")
    made.create_testimonial(project["_id"], text="Words that nobody here may read.")
    return made
