import pytest
from flask import Flask

from tests.collection.authors.authors import Visitor
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, businessName="Kiln & Clay", slug="kiln")


@pytest.fixture
def visitor(inbox: Inbox, app: Flask) -> Visitor:
    return Visitor(app.test_client(), inbox.project, "kiln")
