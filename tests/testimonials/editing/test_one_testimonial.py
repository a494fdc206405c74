"""One testimonial in the API: reading, editing, its photo, the trash."""

import dataclasses
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.http import resource
from tests.auth.tokens import TokenCaller, give_token
from tests.conftest import Caller
from tests.support.pictures import photo, to_bytes
from tests.support.rows import add_testimonial, everything, read_testimonials

PNG = to_bytes(photo(40, 30), "PNG")


@pytest.fixture
def helper(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.READ, Scope.PUBLISH)


def upload(caller: Caller, path: str, content: bytes = PNG, kind: str = "image/png") -> Any:
    return caller.client.put(path, headers=caller.headers, data=content, content_type=kind)


def test_any_state_is_read(app, owner, helper, project_id):
    path = f"/v1/projects/{project_id}/testimonials"
    shown = add_testimonial(app, project_id, tags=["press"], original_text="It is god.")
    seen = owner.get(f"{path}/{shown}").json["data"]
    assert seen["tags"] == ["press"]
    assert not seen.keys() & {"originalText", "history"}
    seen = helper.get(f"{path}/{shown}").json["data"]
    assert (seen["originalText"], seen["history"]) == ("It is god.", [])
    for hidden in ({"status": "pending"}, {"status": "spam"}, {"deleted_at": clock.now()}):
        row = add_testimonial(app, project_id, **hidden)
        assert owner.get(f"{path}/{row}").status_code == 404
        assert helper.get(f"{path}/{row}").status_code == 200
    other = add_testimonial(app, str(owner.create_project()["_id"]))
    for unknown in (other, "0" * 24, "x"):
        assert helper.get(f"{path}/{unknown}").status_code == 404


def test_an_edit_changes_what_is_sent(app, helper, project_id):
    row = add_testimonial(app, project_id, rating=4, author_company="Kiln", reply="Thanks")
    path = f"/v1/projects/{project_id}/testimonials/{row}"
    first = helper.get(path).headers["ETag"]

    def patch(body: object) -> TestResponse:
        headers = helper.headers | {"If-Match": first}
        return helper.client.patch(path, headers=headers, json=body)

    body = {"text": "Very good.", "tags": ["b", "a"], "pinned": True, "reply": "Thank you!"}
    answer = patch(body | {"highlights": [[0, 4]]})
    assert answer.status_code == 200, answer.text
    read = helper.get(path)
    assert answer.json["data"] == read.json["data"]
    assert answer.headers["ETag"] == read.headers["ETag"] != first
    data = read.json["data"]
    assert (data["text"], data["tags"], data["pinned"]) == ("Very good.", ["a", "b"], True)
    assert (data["originalText"], data["rating"]) == ("Seen on the page.", 4)
    (change,) = data["history"]
    assert (change["action"], change["by"]) == ("edit", "Helper (access token)")
    before = everything(app)
    assert patch({"text": "Late."}).status_code == 412
    assert everything(app) == before
    gone = {"authorCompany": "", "reply": "", "tags": [], "highlights": []}
    data = helper.patch(path, gone).json["data"]
    assert not data.keys() & {"authorCompany", "reply", "highlights"}
    assert data["tags"] == []
    # A visitor's stars are theirs.
    for rating in (None, 5):
        refused = helper.patch(path, {"rating": rating})
        assert (refused.status_code, refused.json["code"]) == (409, "ACTION_REFUSED")
    assert helper.patch(path, {"rating": 4, "reply": ""}).status_code == 200
    for wrong in ({"text": None}, {"text": "x" * 2001}, {"tags": ["a, b"]}, {"status": "approved"}):
        assert helper.patch(path, wrong).status_code == 400, wrong
    # Samples and withdrawn ones are not edited.
    for status in ("demo", "withdrawn"):
        row = add_testimonial(app, project_id, status=status)
        answer = helper.patch(f"/v1/projects/{project_id}/testimonials/{row}", {"text": "Mine"})
        assert (answer.status_code, answer.json["code"]) == (409, "ACTION_REFUSED")


def test_a_translation_is_named_by_who_makes_it(app, owner, helper, project_id):
    path = f"/v1/projects/{project_id}/testimonials"
    body = {"authorName": "Ola", "text": "Warm buns.", "translatedFrom": "pl"}
    made = owner.post(path, body).json["data"]
    assert made["translatedFrom"] == "pl"
    one = f"{path}/{made['_id']}"
    for sent, kept in (("pt-BR", "pt-BR"), ("", None), ("de", "de"), (None, None)):
        answer = helper.patch(one, {"translatedFrom": sent})
        assert answer.json["data"].get("translatedFrom") == kept
    for wrong in ("Polish", 7, "p", "pl_PL"):
        assert "translatedFrom" in helper.patch(one, {"translatedFrom": wrong}).json["errors"]


def test_the_key_proposes_edits_that_none_see(app, owner, project_id):
    row = owner.create_testimonial(project_id, text="It works.")["_id"]
    path = f"/v1/projects/{project_id}/testimonials/{row}"
    answer = owner.patch(path, {"text": "It works well."})
    assert (answer.status_code, answer.json["data"]["targetId"]) == (202, row)
    assert owner.get(path).json["data"]["text"] == "It works."
    assert owner.delete(path).status_code == 202
    answer = upload(owner, f"{path}/avatar")
    assert answer.status_code == 202
    picture = answer.json["data"]["values"]["avatarId"]
    assert app.test_client().get(f"/media/{picture}.webp").status_code == 404
    assert "authorAvatar" not in owner.get(path).json["data"]


def test_a_photo_is_uploaded_and_removed(app, helper, project_id):
    row = add_testimonial(app, project_id, author_avatar="https://example.com/maya.png")
    path = f"/v1/projects/{project_id}/testimonials/{row}"
    url = upload(helper, f"{path}/avatar").json["data"]["authorAvatar"]
    picture = app.test_client().get(url.removeprefix("https://testimonials.example.com"))
    assert picture.mimetype == "image/webp"
    before = everything(app)
    for content, kind, status in (
        (b"no picture", "image/png", 422), (b"", "image/png", 400), (PNG, "text/plain", 400),
        (b"\0" * (10 * 1024 * 1024 + 1), "image/png", 413),
    ):  # fmt: skip
        answer = upload(helper, f"{path}/avatar", content, kind)
        assert answer.status_code == status
        assert answer.json["message"]
    assert everything(app) == before
    elsewhere = {"authorAvatar": "https://example.com/other.png"}
    assert helper.patch(path, elsewhere).json["data"]["authorAvatar"] == elsewhere["authorAvatar"]
    assert "authorAvatar" not in helper.delete(f"{path}/avatar").json["data"]


def test_the_trash_gives_back_all(app, helper, project_id):
    row = add_testimonial(app, project_id)
    path = f"/v1/projects/{project_id}/testimonials/{row}"
    for result in ("done", "unchanged"):
        (answer,) = helper.delete(path).json["data"]["results"]
        assert answer == {"_id": row, "result": result, "status": "trash"}
    assert "deletedAt" in helper.get(path).json["data"]
    (answer,) = helper.post(f"{path}/restore").json["data"]["results"]
    assert answer["status"] == "approved"
    assert [each.deleted_at for each in read_testimonials(app, project_id)] == [None]


def test_an_account_uploads_so_many_pictures_an_hour(app, owner, helper, project_id, monkeypatch):
    few = dataclasses.replace(resource.UPLOADS_PER_ACCOUNT, per_hour=2)
    monkeypatch.setattr(resource, "UPLOADS_PER_ACCOUNT", few)
    path = f"/v1/projects/{project_id}"
    row = add_testimonial(app, project_id)
    photo_path = f"{path}/testimonials/{row}/avatar"
    assert upload(helper, photo_path).status_code == 200
    assert upload(owner, f"{path}/logo").status_code == 202
    assert upload(owner, f"{path}/logo").status_code == 429
    assert upload(helper, photo_path).status_code == 429
