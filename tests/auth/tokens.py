"""Access tokens as the owner makes them."""

import dataclasses

from flask import Flask

from testimonials.auth.tokens import Scope, make_token
from testimonials.core.db.transactions import write
from tests.conftest import Caller


class TokenCaller(Caller):
    """An agent that calls with an access token."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"}


def give_token(
    app: Flask,
    owner: Caller,
    *scopes: Scope,
    project_id: str | None = None,
    days: int | None = 90,
    by: Caller | None = None,
) -> TokenCaller:
    """Return an agent with a token of these scopes, or of all, for one project or all."""
    with app.app_context(), write():
        made_by = (by or owner).account_id
        names = scopes or Scope
        _, plain = make_token(owner.account_id, project_id, "Helper", names, days, made_by)
    values = {field.name: getattr(owner, field.name) for field in dataclasses.fields(owner)}
    return TokenCaller(**values | {"api_key": plain})
