"""`testimonials domains`: an operator sets, looks up and removes a project's own host name."""

import json

import pytest

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.domains import Finding, set_domain, store_finding
from testimonials.projects.models import CustomDomain
from testimonials.projects.projects import lock_project
from tests.auth.browsers import open_browser
from tests.support.commands import run_well
from tests.support.racing import at_once

HOST = "words.kiln.example"


def test_a_name_is_looked_up_and_removed_and_the_owner_reads_it(app, owner):
    owner.create_project(slug="kiln")
    run_well(app, "domains", "set", "kiln", HOST)
    assert HOST in run_well(app, "domains", "list")
    checked = json.loads(run_well(app, "domains", "check", "kiln", "--json"))
    assert (checked["host"], checked["checkedAt"] is not None) == (HOST, True)
    assert run_well(app, "domains", "remove", "kiln").split() == ["removed", HOST]
    assert run_well(app, "domains", "list") == "No project has its own host name.\n"
    for command in ("check", "remove"):
        refused = app.test_cli_runner().invoke(args=["domains", command, "kiln"])
        assert (refused.exit_code, "no host name" in refused.output) == (1, True)
    activity = open_browser(app, owner).get("/dashboard/account/activity").text
    assert "The operator (domains remove)" in activity


@pytest.mark.postgres
def test_one_of_many_gets_a_name_that_all_have_proved(app, owner):
    ids = [owner.create_project(slug=f"kiln{number}")["_id"] for number in range(4)]

    def prove(number: int) -> None:
        with app.app_context(), write(lambda: lock_project(ids[number])) as project:
            store_finding(project, HOST, Finding(tokens))

    for _ in range(5):
        with app.app_context(), write():
            db.session.query(CustomDomain).delete()
            tokens = [set_domain(lock_project(each), HOST).token for each in ids]
        at_once(len(ids), prove)
        with app.app_context():
            assert db.session.query(CustomDomain).filter_by(is_held=True).count() == 1
