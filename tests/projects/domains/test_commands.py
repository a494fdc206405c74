"""`testimonials domains`: an operator sets, looks up and removes a project's own host name."""

import json

from tests.auth.browsers import open_browser
from tests.support.commands import run_well

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
