"""What publishes, and where to."""

from collections.abc import Iterator

import pytest

from tests.publishing.s3_server import S3Server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3-compatible store."""
    server = S3Server()
    yield server
    server.stop()
