"""What agents propose in tests, and tokens for them."""

from typing import Any

from flask import Flask

from testimonials.auth.tokens import Scope, make_token
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.images.uploads import Image
from tests.conftest import Caller
from tests.support.pictures import photo, to_bytes


def propose(caller: Caller, project: str, kind: str, values: Any, **more: Any) -> dict[str, Any]:
    """Propose a change that can be made; return the proposal."""
    body = {"kind": kind, "values": values, **more}
    answer = caller.post(f"/v1/projects/{project}/proposals", body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json["data"])  # type: ignore[index]


def read_proposal(caller: Caller, project: str, proposal: str) -> dict[str, Any]:
    answer = caller.get(f"/v1/projects/{project}/proposals/{proposal}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json["data"])  # type: ignore[index]


def make_agent(owner: Caller, *scopes: Scope, project: str | None = None) -> Caller:
    """Return a caller with an access token of the owner's."""
    with owner.client.application.app_context(), write():
        _, plain = make_token(
            owner.account_id, project, "Shop assistant", scopes, 90, owner.account_id
        )
    return Caller(owner.client, owner.account_id, owner.email, plain)


def hold_picture(app: Flask) -> str:
    """Store a picture that is only proposed; return its id."""
    with app.app_context():
        lock_for_writing()
        image = Image(width=8, height=8, content=to_bytes(photo(8, 8), "WEBP"), is_held=True)
        db.session.add(image)
        db.session.commit()
        return image.id
