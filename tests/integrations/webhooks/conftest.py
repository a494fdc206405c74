"""A receiver, and an endpoint that leads to it."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.conftest import Caller
from tests.integrations.webhooks.receiver import Hook, Receiver, add_hook, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def hook(app: Flask, owner: Caller, receiver: Receiver) -> Hook:
    """An endpoint that is told of everything."""
    return add_hook(app, owner, receiver.url)
