"""`testimonials projects`: what an operator does with projects (decisions, "Projects")."""

from tests.support.commands import run, run_json
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
