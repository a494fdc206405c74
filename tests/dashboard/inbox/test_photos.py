"""The photo of an author: chosen by hand, replaced, taken off, undone, swept."""

import io
import threading

from werkzeug.test import TestResponse

from testimonials.core.images.uploads import MEGABYTE, Image
from testimonials.core.images.worker import decoder
from testimonials.operations.expiry import sweep
from testimonials.testimonials import models
from tests.auth.browsers import open_browser
from tests.dashboard.inbox.inbox import UNDO, Inbox
from tests.support import pictures
from tests.support.pictures import photo, to_bytes
from tests.support.rows import change_project, change_testimonial, count_rows, read_testimonials

PHOTO = to_bytes(photo(600, 400), "JPEG")
FORM = {"author_name": "Aiko", "text": "Said on the phone.", "submitted_on": "2025-03-12"}


def send(inbox: Inbox, path: str, data: bytes | None = PHOTO, **values: str) -> TestResponse:
    file = {} if data is None else {"avatar": (io.BytesIO(data), "me.jpg")}
    answer = inbox.client.post(f"{inbox.base}/testimonials/{path}", data=FORM | values | file)
    # The client keeps a large form in a file, which nobody reads when it is refused.
    answer.request.environ["wsgi.input"].close()
    return answer


def avatar(inbox: Inbox) -> str | None:
    """Return the path of the picture that the widget shows with the only testimonial."""
    (item,) = inbox.client.get(f"/widget/{inbox.project}/feed").json["items"]  # type: ignore[index]
    url = item.get("authorAvatar")
    return url and url.removeprefix("https://testimonials.example.com")


def undo(inbox: Inbox, answer: TestResponse) -> None:
    token = UNDO.search(inbox.client.get(answer.location).text)
    assert inbox.client.post(f"{inbox.base}/inbox/undo", data={"undo": token[1]}).status_code == 303


def test_a_chosen_photo_shows_everywhere_and_a_new_one_is_told_and_undone(inbox):
    assert send(inbox, "new").status_code == 303
    path = avatar(inbox)
    assert path is not None
    assert pictures.read(inbox.client.get(path).data).size == (256, 256)
    (item,) = inbox.owner.get(f"/v1/projects/{inbox.project}/testimonials").json["data"]["items"]  # type: ignore[index]
    assert item["authorAvatar"].endswith(path)
    assert path in inbox.get(f"testimonials/{item['_id']}").text
    changed = send(inbox, item["_id"], to_bytes(photo(100, 100), "PNG"))
    assert avatar(inbox) != path
    assert "Edited" in inbox.get(f"testimonials/{item['_id']}").text
    undo(inbox, changed)
    assert avatar(inbox) == path


def test_a_photo_too_many_leaves_the_words(inbox, monkeypatch):
    monkeypatch.setattr(decoder, "_places", threading.Semaphore(0))
    logo = inbox.client.post(
        f"{inbox.base}/settings/brand/logo", data={"logo": (io.BytesIO(PHOTO), "x")}
    )
    for answer in (send(inbox, "new"), logo):
        assert answer.status_code in (422, 503)
        assert "The server is busy with other pictures." in answer.text
    assert "Said on the phone.</textarea>" in send(inbox, "new").text
    assert count_rows(inbox.app, Image) == 0


def test_saving_without_choosing_keeps_the_photo_and_removing_takes_it_off(inbox):
    send(inbox, "new")
    first = avatar(inbox)
    (row,) = read_testimonials(inbox.app, inbox.project)
    # A browser sends a file field that is empty, too.
    for empty in ({}, {"avatar": (io.BytesIO(b""), "")}):
        data = FORM | {"text": "Other words."} | empty
        inbox.client.post(f"{inbox.base}/testimonials/{row.id}", data=data)
        assert avatar(inbox) == first
    removed = send(inbox, row.id, None, text="Other words.", remove_avatar="1")
    assert avatar(inbox) is None
    undo(inbox, removed)
    assert avatar(inbox) == first
    # So can one be that is elsewhere.
    change_testimonial(
        inbox.app, row.id, avatar_id=None, author_avatar="https://pics.example/a.png"
    )
    assert avatar(inbox) == "https://pics.example/a.png"
    send(inbox, row.id, None, remove_avatar="1")
    assert avatar(inbox) is None


REFUSED = (
    (pictures.SVG, "can’t be read as a picture"),
    (PHOTO[:500], "damaged"),
    (PHOTO + bytes(10 * MEGABYTE), "the limit is 10 MB"),
    # Over what a form may have.
    (PHOTO + bytes(12 * MEGABYTE), "the limit is 10 MB"),
)


def test_a_refused_photo_says_why_and_stores_nothing(inbox):
    existing = inbox.owner.create_testimonial(inbox.project)["_id"]
    for data, words in REFUSED:
        for path in ("new", existing):
            answer = send(inbox, path, data, text="Many words, typed by hand.", tags="one, two")
            assert answer.status_code == 422
            assert words in answer.text
            if len(data) < 11 * MEGABYTE:
                assert "Many words, typed by hand." in answer.text
                assert 'value="one, two"' in answer.text
    assert count_rows(inbox.app, Image) == 0
    long = {"ids": "x" * 300_000}
    assert inbox.client.post(f"{inbox.base}/inbox/bulk", data=long).status_code == 413


def test_pictures_that_nothing_names_are_swept(inbox, moved_clock):
    def swept() -> int:
        with inbox.app.app_context():
            sweep()
        return count_rows(inbox.app, Image)

    send(inbox, "new")
    (row,) = read_testimonials(inbox.app, inbox.project)
    moved_clock.move(days=25)
    assert swept() == 1
    assert send(inbox, row.id, to_bytes(photo(100, 100), "PNG")).status_code == 303
    # The first one is old and shown nowhere, and still a step back leads to it.
    moved_clock.move(days=1.5)
    assert swept() == 2
    moved_clock.move(days=1)
    assert swept() == 1
    inbox.client = open_browser(inbox.app, inbox.owner)
    (row,) = read_testimonials(inbox.app, inbox.project)
    change_project(inbox.app, inbox.project, logo_id=row.avatar_id)
    send(inbox, row.id, None, remove_avatar="1")
    moved_clock.move(days=10)
    assert swept() == 1
    change_project(inbox.app, inbox.project, logo_id=None)
    assert swept() == 0
    assert isinstance(row, models.Testimonial)
