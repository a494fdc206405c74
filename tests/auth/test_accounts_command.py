"""`testimonials accounts`: what an operator does with accounts (decisions, "Accounts")."""

import pytest

from testimonials.core.extensions import db
from tests.auth.links import ORIGIN, init, mailed_links, redeem
from tests.support.commands import run, run_json
from tests.support.plans import count_statements
from tests.support.rows import add_recording, add_testimonial


def headers_of(record: dict[str, str]) -> dict[str, str]:
    return {"x-service-account-id": record["accountId"], "x-api-key": record["apiKey"]}


@pytest.mark.postgres
def test_list_gives_the_accounts_newest_first_or_whose_recordings_take_most(
    app, agent, owner, make_caller
):
    newest, oldest = run_json(app, "accounts", "list")
    assert (newest["email"], newest["claimed"]) == (owner.email, True)
    assert (oldest["email"], oldest["claimed"]) == (agent.email, False)
    assert (oldest["keyLastFour"], newest["claimExpiresAt"]) == (agent.api_key[-4:], None)
    assert agent.api_key not in run(app, "accounts", "list").output
    project = agent.create_project()
    add_recording(app, add_testimonial(app, project["_id"]))
    assert run_json(app, "accounts", "list")[0]["email"] == owner.email
    largest, other = run_json(app, "accounts", "list", "--largest")
    assert (largest["email"], other["recordingBytes"]) == (agent.email, 0)
    assert largest["recordingBytes"] > 0
    with app.app_context():
        engine = db.engine
    statements = count_statements(engine, lambda: run(app, "accounts", "list"))
    make_caller("third@example.com")
    assert count_statements(engine, lambda: run(app, "accounts", "list")) == statements > 0


def test_create_gives_key_and_link_though_sign_up_is_closed(make_app):
    app = make_app(signup="closed")
    record = run_json(app, "accounts", "create", "Someone@Example.com")
    assert record["email"] == "someone@example.com"
    client = app.test_client()
    assert client.get("/v1/me", headers=headers_of(record)).status_code == 200
    assert [ORIGIN + link for link in mailed_links(app)] == [record["claimLink"]]
    path = record["claimLink"].removeprefix(ORIGIN)
    assert redeem(client, path).status_code == 303


def test_create_takes_what_nobody_has_claimed(app, agent, owner):
    assert run_json(app, "accounts", "create", agent.email)["accountId"] == agent.account_id
    assert agent.get("/v1/me").status_code == 401
    result = run(app, "accounts", "create", "a@mailinator.com")
    assert (result.exit_code, "Error: email: " in result.stderr) == (1, True)
    assert run(app, "accounts", "create", owner.email).exit_code == 1
    assert owner.get("/v1/me").status_code == 200


def test_show_finds_by_id_and_by_address_in_any_case(app, agent):
    for reference in (agent.account_id, agent.email, agent.email.upper()):
        assert run_json(app, "accounts", "show", reference)["accountId"] == agent.account_id
    assert agent.email in run(app, "accounts", "show", agent.account_id).output
    assert run_json(app, "accounts", "show", agent.email)["projectLimit"] == 10
    assert run_json(app, "accounts", "set-limit", agent.email, "0")["projectLimit"] == 0
    assert agent.post("/v1/projects").status_code == 402
    assert run_json(app, "accounts", "set-limit", agent.email, "default")["projectLimit"] == 10
    for limit in ("-1", "", "1000001", "9" * 30):
        result = run(app, "accounts", "set-limit", agent.email, "--", limit)
        assert (result.exit_code, "whole number" in result.stderr) == (1, True), limit


def test_rotate_key_stops_the_old_key_now(app, owner):
    record = run_json(app, "accounts", "rotate-key", owner.email)
    assert owner.get("/v1/me").status_code == 401
    assert owner.client.get("/v1/me", headers=headers_of(record)).status_code == 200


def test_delete_removes_the_account_and_all(app, agent, outsider):
    project = agent.create_project(slug="gone")
    agent.create_testimonial(project["_id"])
    outsider.create_project(slug="stays")
    asked = run(app, "accounts", "delete", agent.email, typed="n\n").output
    assert f"Delete {agent.email} and 1 project(s)" in asked
    record = run_json(app, "accounts", "delete", agent.email, "--yes")
    assert record == {"accountId": agent.account_id, "deleted": True, "projects": 1}
    assert agent.get("/v1/me").status_code == 401
    assert agent.client.get("/gone").status_code == 404
    assert agent.client.get("/stays").status_code == 200
    assert init(agent.client, agent.email).status_code == 200


def test_set_plan_gives_its_projects_and_takes_them_back(make_app, owner):
    app = make_app(plans="starter=2, pro=50", project_limit=1)
    assert run_json(app, "accounts", "show", owner.email)["plan"] is None
    record = run_json(app, "accounts", "set-plan", owner.email, "PRO")
    assert (record["plan"], record["projectLimit"]) == ("pro", 50)
    record = run_json(app, "accounts", "set-plan", owner.email, "none")
    assert (record["plan"], record["projectLimit"]) == (None, 1)
    result = run(app, "accounts", "set-plan", owner.email, "gold")
    assert result.exit_code == 1
    assert "There is no plan gold in TESTIMONIALS_PLANS. Its plans: starter, pro." in result.output
    assert run(app, "accounts", "set-plan", "nobody@example.com", "pro").exit_code == 1
    assert run_json(app, "accounts", "show", owner.email)["plan"] is None
