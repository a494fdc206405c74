"""Access tokens as the owner makes them."""

import dataclasses

from flask import Flask

from testimonials.access.scopes import Scope
from testimonials.access.tokens import make_token
from testimonials.extensions import begin_write, db
from tests.conftest import Caller


class TokenCaller(Caller):
    """An agent that calls with an access token."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}


def give_token(
    app: Flask, owner: Caller, *scopes: Scope, project_id: str | None = None
) -> TokenCaller:
    """Return an agent with a token of these scopes, or of all, for one project or all."""
    with app.app_context():
        begin_write()
        made_by = owner.account_id
        _, plain = make_token(made_by, project_id, "Helper", scopes or Scope, 90, made_by)
        db.session.commit()
    values = {field.name: getattr(owner, field.name) for field in dataclasses.fields(owner)}
    return TokenCaller(**values | {"api_key": plain})
