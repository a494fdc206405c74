"""A project with a team."""

import pytest
from flask import Flask

from tests.auth.browsers import open_browser
from tests.conftest import Caller, MakeCaller
from tests.projects.team.team_page import Team
from tests.support.rows import add_member


@pytest.fixture
def team(app: Flask, owner: Caller) -> Team:
    project = owner.create_project(businessName="Fern & Fable", slug="fern")["_id"]
    return Team(app, open_browser(app, owner), project)


@pytest.fixture
def admin(team: Team, make_caller: MakeCaller) -> Caller:
    caller = make_caller("admin@example.com", is_claimed=True)
    add_member(team.app, team.project, caller, "admin")
    return caller
