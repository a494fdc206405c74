import pytest
from flask import Flask

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import Inbox, open_inbox


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="salon")
