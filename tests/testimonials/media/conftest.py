"""A page that takes recordings."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Caller
from tests.support.rows import read_testimonials
from tests.testimonials.media.recorded import make_page, send, upload


@pytest.fixture
def page(app: Flask, owner: Caller) -> str:
    return str(make_page(app, owner)["_id"])


@pytest.fixture
def sent(app: Flask, client: FlaskClient, page: str) -> str:
    """The id of a testimonial that waits: a video without words."""
    assert send(client, text="", recording=upload(client)).status_code == 303
    return str(row_of(app, page).id)


def row_of(app: Flask, page: str) -> Any:
    (row,) = read_testimonials(app, page)
    return row
