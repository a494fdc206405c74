"""The team page of a project, and who is in it."""

from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.models import Account
from testimonials.core.extensions import db
from testimonials.projects.models import Member, TeamInvitation
from tests.auth.browsers import open_browser
from tests.conftest import Caller

NOOR = "noor@example.com"


@dataclass
class Team:
    """One project's team page, used by somebody signed in."""

    app: Flask
    browser: FlaskClient
    project: str

    @property
    def base(self) -> str:
        return f"/dashboard/projects/{self.project}/people"

    def page(self) -> str:
        answer = self.browser.get(self.base)
        assert answer.status_code == 200
        return answer.text

    def post(self, path: str, **data: Any) -> TestResponse:
        return self.browser.post(f"{self.base}/{path}".rstrip("/"), data=data)

    def invite(self, email: str = NOOR, role: str = "moderator") -> TestResponse:
        return self.post("", email=email, role=role)

    def seen_by(self, caller: Caller) -> "Team":
        """Return the same page as somebody else sees it."""
        return Team(self.app, open_browser(self.app, caller), self.project)


def members(app: Flask) -> dict[str, str]:
    with app.app_context():
        query = select(Account.email, Member.role).join(Member, Member.account_id == Account.id)
        query = query.where(Member.project_id.is_not(None))
        return {row.email: row.role for row in db.session.execute(query)}


def invited(app: Flask) -> dict[str, str]:
    with app.app_context():
        query = select(TeamInvitation.email, TeamInvitation.role)
        return {row.email: row.role for row in db.session.execute(query)}
