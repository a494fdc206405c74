"""The author's photo on the collection page: taken, refused, kept, and never at the text's cost."""

import dataclasses
import html
import io
import re

import pytest
from flask.testing import FlaskClient
from PIL import Image as Pictures
from werkzeug.test import TestResponse

from testimonials.collection import submission
from testimonials.core.images.uploads import MEGABYTE, Image
from testimonials.operations.expiry import sweep
from testimonials.testimonials import models
from tests.conftest import Caller
from tests.support import pictures
from tests.support.pictures import photo, to_bytes
from tests.support.rows import change_project, count_rows, read_testimonials

FILLED = {"text": "They listened.", "name": "Noor Haddad", "rating": "4", "consent": "yes"}
PNG = to_bytes(photo(300, 200), "PNG")


def phone_photo() -> bytes:
    """Return a photo as a phone held upright writes it: lying,
    with a note of that and of a place."""
    exif = Pictures.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    exif.get_ifd(0x8825)[2] = (48.0, 51.0, 29.0)
    exif[0x010F] = "SecretCameraMaker"
    content = to_bytes(photo(400, 300), "JPEG", exif=exif)
    assert b"SecretCameraMaker" in content
    return content


@pytest.fixture(autouse=True)
def project(owner: Caller) -> str:
    return str(owner.create_project(businessName="Kiln & Clay", slug="kiln")["_id"])


def token_of(page: str, name: str = "token") -> str:
    return html.unescape(re.search(rf'name="{name}" value="([^"]+)"', page)[1])


def send(
    client: FlaskClient, data: bytes | None = None, slug: str = "kiln", **values: str
) -> TestResponse:
    """Send the form as a browser does, with a file field that is empty without `data`."""
    page = client.get(f"/{slug}").text
    file = (io.BytesIO(data or b""), "me.jpg" if data is not None else "")
    form = FILLED | {"token": token_of(page)} | values | {"photo": file}
    answer = client.post(f"/{slug}", data=form, content_type="multipart/form-data")
    # The client keeps a large form in a file, which nobody reads when it is refused.
    answer.request.environ["wsgi.input"].close()
    return answer


def test_a_photo_is_taken_where_asked_for(app, client, project):
    page = client.get("/kiln").text
    assert re.search('<form[^>]* enctype="multipart/form-data"', page)
    assert "may show my words, name and photo on its website" in page
    change_project(app, project, page_config={"collectFields": {"avatar": False}})
    page = client.get("/kiln").text
    assert 'type="file"' not in page
    assert "enctype" not in page
    assert "may show my words and name on its website" in page
    assert send(client, PNG).status_code == 303
    assert send(client, PNG + bytes(MEGABYTE)).status_code == 413
    assert count_rows(app, Image) == 0


def draw_refused() -> dict[str, tuple[bytes, str]]:
    """Return what is refused, with the reason; the largest takes a second."""
    return {
        "svg": (pictures.SVG, "can’t be read as a picture"),
        "cut": (phone_photo()[:900], "damaged"),
        "empty": (b"", "can’t be read as a picture"),
        "10 MB": (PNG + bytes(10 * MEGABYTE), "the limit is 10 MB"),
        "15 MB": (PNG + bytes(15 * MEGABYTE), "it has 15.0 MB, and the limit is 10 MB"),
    }


def test_a_refused_photo_never_costs_the_text(app, client):
    refused = draw_refused()
    for number, (kind, (data, words)) in enumerate(refused.items()):
        text = f"They listened to a {kind}."
        answer = send(client, data, text=text)
        assert answer.status_code == 422
        page = html.unescape(answer.text)
        assert words in page
        assert f"{text}</textarea>" in page
        assert re.search('name="name"[^>]* value="Noor Haddad"', page)
        assert re.search('name="rating" value="4" checked', page)
        assert re.search('name="consent"[^>]* checked', page)
        assert count_rows(app, models.Testimonial) == number
        # Enter in a field presses the first button of a form, which is not the one that drops it.
        buttons = re.findall(r'<button[^>]*type="submit"[^>]*>', page)
        assert ["without_photo" in button for button in buttons] == [False, True]
        sent = send(client, data, text=text, token=token_of(page), without_photo="1")
        assert sent.status_code == 303
    assert (count_rows(app, models.Testimonial), count_rows(app, Image)) == (len(refused), 0)


def test_a_form_past_all_limits_is_answered_with_one(app, client):
    answer = send(client, PNG + bytes(17 * MEGABYTE))
    assert answer.status_code == 422
    assert "Go back to find what you typed" in html.unescape(answer.text)
    # What is written beside a photo stays as small as everywhere.
    assert send(client, PNG, text="a" * 300_000).status_code == 413
    assert count_rows(app, models.Testimonial) == 0


def test_an_accepted_photo_is_kept(app, client, project):
    refused = send(client, PNG, text="")
    assert refused.status_code == 422
    kept = token_of(refused.text, "kept_photo")
    shown = re.search(r'src="[^"]*(/media/\w+\.webp)"', refused.text)
    assert pictures.read(client.get(shown[1]).data).size == (200, 200)
    kept = token_of(send(client, None, text="", kept_photo=kept).text, "kept_photo")
    assert send(client, None, kept_photo=kept).status_code == 303
    (row,) = read_testimonials(app, project)
    assert (shown[1], count_rows(app, Image)) == (f"/media/{row.avatar_id}.webp", 1)


def test_a_kept_photo_can_be_dropped(app, client, project):
    kept = token_of(send(client, PNG, text="").text, "kept_photo")
    dropped = send(client, None, kept_photo=kept, drop_photo="1", name="")
    assert 'name="kept_photo"' not in dropped.text
    assert send(client, None, kept_photo=kept, drop_photo="1").status_code == 303
    without = send(client, None, kept_photo=kept, without_photo="1", text="Without.")
    assert without.status_code == 303
    assert send(client, phone_photo(), kept_photo=kept, text="Others.").status_code == 303
    first, second, third = read_testimonials(app, project)
    assert (first.avatar_id, second.avatar_id) == (None, None)
    assert third.avatar_id
    assert count_rows(app, Image) == 2


def test_only_a_photo_that_was_kept_for_this_page_is_taken(app, client, owner, moved_clock):
    other = owner.create_project()["publicPageConfig"]["slug"]
    foreign = token_of(send(client, PNG, other, text="").text, "kept_photo")
    own = token_of(send(client, PNG, text="").text, "kept_photo")
    for kept in (foreign, own[:-1], "x", token_of(client.get("/kiln").text)):
        page = send(client, None, kept_photo=kept)
        assert page.status_code == 422
        assert "The photo is no longer stored." in html.unescape(page.text)
        assert "They listened.</textarea>" in page.text
    moved_clock.move(hours=41)
    assert send(client, None, kept_photo=own).status_code == 422
    moved_clock.move(hours=8)
    with app.app_context():
        sweep()
    assert count_rows(app, Image) == 0
    assert send(client, None, kept_photo=own).status_code == 422
    assert count_rows(app, models.Testimonial) == 0


def test_too_many_cost_only_the_photo(client, monkeypatch):
    few = dataclasses.replace(submission.PHOTOS_PER_ADDRESS, per_hour=1)
    monkeypatch.setattr(submission, "PHOTOS_PER_ADDRESS", few)
    assert "can’t be read as a picture" in send(client, pictures.GIF, text="").text
    answer = send(client, PNG)
    assert answer.status_code == 422
    assert "Too many photos came from your network." in answer.text
    assert "They listened.</textarea>" in answer.text
    assert send(client, PNG, without_photo="1").status_code == 303
