"""Recordings that Chromium 156 and Firefox 153 made of fake cameras, and how they are sent."""

import io
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.testimonials.media import uploads
from tests.conftest import Caller
from tests.support import visitors
from tests.support.rows import change_project

FILES = Path(__file__).parent / "files"
VIDEO = (FILES / "chromium.webm").read_bytes()
MP4 = (FILES / "chromium.mp4").read_bytes()
VOICE = (FILES / "firefox-voice.ogg").read_bytes()
JSON = {"Accept": "application/json"}


def make_page(app: Flask, owner: Caller, slug: str = "bakery", **design: Any) -> dict[str, Any]:
    project = owner.create_project(slug=slug, businessName="Oat & Ember")
    change_project(app, project["_id"], page_design={"video": True, "voice": True} | design)
    return project


class Upload:
    """A visitor's upload to one page."""

    def __init__(
        self, client: FlaskClient, content: bytes = VIDEO, kind: str = "video", slug: str = "bakery"
    ) -> None:
        self.client, self.content = client, content
        self.path = f"/{slug}/recordings"
        self.begun = client.post(
            self.path, json={"kind": kind, "size": len(content), "mediaType": "video/webm"}
        )
        if self.begun.status_code == 201:
            assert self.begun.json is not None
            self.id = self.begun.json["id"]
            self.path += f"/{self.id}"

    def send(self, offset: int, piece: bytes) -> TestResponse:
        """Send one piece."""
        headers = JSON | {"Upload-Offset": str(offset)}
        return self.client.patch(self.path, data=piece, headers=headers)

    def finish(self, offset: int = 0) -> TestResponse:
        """Send the rest in pieces; return the last answer."""
        answer = None
        for begin in range(offset, len(self.content), uploads.PIECE_BYTES):
            answer = self.send(begin, self.content[begin : begin + uploads.PIECE_BYTES])
            if answer.status_code != 204:
                break
        assert answer is not None
        return answer

    @property
    def offset(self) -> int:
        answer = self.client.head(self.path)
        assert answer.status_code == 200, answer.status
        assert answer.headers["Upload-Length"] == str(len(self.content))
        return int(answer.headers["Upload-Offset"])


def upload(client: FlaskClient, content: bytes = VIDEO, kind: str = "video", **where: str) -> str:
    sent = Upload(client, content, kind, **where)
    answer = sent.finish()
    assert answer.status_code == 204, answer.text
    return str(sent.id)


def as_file(content: bytes, name: str) -> tuple[io.BytesIO, str]:
    return io.BytesIO(content), name


def form_token(client: FlaskClient, slug: str = "bakery") -> str:
    return visitors.form_token(client.get(f"/{slug}").text)


def send(client: FlaskClient, slug: str = "bakery", **values: Any) -> TestResponse:
    """Send the form of the page as a browser without a script does."""
    usual = {"text": "They listened.", "name": "Theo Brandt", "consent": "yes"}
    form = {"token": values.pop("token", None) or form_token(client, slug)} | usual | values
    answer = client.post(f"/{slug}", data=form, content_type="multipart/form-data")
    # The client keeps a large form in a file, which nobody reads when it is refused.
    answer.request.environ["wsgi.input"].close()
    return answer
