"""`testimonials projects`: what an operator does with projects (decisions, "Projects")."""

from tests.auth.browsers import open_browser
from tests.support.commands import run, run_json
from tests.support.rows import add_member
from tests.support.shapes import data_of


def test_list_gives_every_project_newest_first(app, agent, outsider):
    assert run_json(app, "projects", "list") == []
    assert "no projects" in run(app, "projects", "list").output
    first, second = agent.create_project(slug="one"), outsider.create_project(slug="two")
    outsider.create_testimonial(second["_id"])
    rows = run_json(app, "projects", "list")
    assert [(row["_id"], row["slug"], row["testimonials"]) for row in rows] == [
        (second["_id"], "two", 1),
        (first["_id"], "one", 0),
    ]
    assert "one" in run(app, "projects", "list").output


def test_show_gives_the_project_by_id_or_slug(app, agent):
    project = data_of(agent.post("/v1/projects", {"slug": "fern"}))
    for reference in ("fern", project["_id"]):
        assert run_json(app, "projects", "show", reference) == project | {
            "testimonials": {"demo": 6}
        }
    result = run_json(app, "projects", "delete", "fern", "--yes")
    assert result == {"_id": project["_id"], "deleted": True, "testimonials": 6}
    assert agent.get(f"/v1/projects/{project['_id']}").status_code == 404
    assert agent.client.get("/fern").status_code == 404


def test_an_id_as_a_slug_confuses_nobody(app, agent, outsider):
    victim = agent.create_project(slug="victim")
    squatter = outsider.create_project(slug=victim["_id"])
    assert run_json(app, "projects", "show", victim["_id"])["_id"] == victim["_id"]
    assert run_json(app, "projects", "delete", victim["_id"], "--yes")["_id"] == victim["_id"]
    assert outsider.get(f"/v1/projects/{squatter['_id']}").status_code == 200


def test_members_lists_the_owner_the_colleagues_and_who_is_invited(
    app, owner, outsider, moved_clock
):
    project = owner.create_project(slug="fern")["_id"]
    moved_clock.move(minutes=1)
    add_member(app, project, outsider, "admin")
    form = {"email": "new@example.com", "role": "moderator"}
    answer = open_browser(app, owner).post(f"/dashboard/projects/{project}/people", data=form)
    assert answer.status_code == 303
    rows = [
        (row["email"], row["role"], row["state"])
        for row in run_json(app, "projects", "members", "fern")
    ]
    assert rows == [
        ("owner@example.com", "owner", "member"),
        ("outsider@example.org", "admin", "member"),
        ("new@example.com", "moderator", "invited"),
    ]
    moved_clock.move(days=7)
    assert run_json(app, "projects", "members", project)[-1]["state"] == "expired"
    assert "outsider@example.org" in run(app, "projects", "members", "fern").output
    assert run(app, "projects", "members", "nothing").exit_code != 0
