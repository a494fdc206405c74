"""What the tests of most pages take."""

import pytest
from flask import Flask

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="fern", businessName="Fern & Fable")["_id"])


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="fern", businessName="Fern & Fable")
