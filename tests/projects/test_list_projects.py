"""GET /v1/projects and GET /v1/projects/:id (spec, same names)."""

from tests.conftest import Caller, MakeApp, MakeCaller
from tests.support.shapes import data_of, error_of


def test_a_new_account_has_no_projects(agent: Caller, outsider: Caller) -> None:
    outsider.create_project()
    assert data_of(agent.get("/v1/projects")) == []


def test_full_projects_come_most_recent_first(agent: Caller) -> None:
    created = [agent.create_project(businessName=f"Number {number}") for number in range(3)]
    assert data_of(agent.get("/v1/projects")) == created[::-1]


def test_at_most_50_are_listed(make_app: MakeApp, make_caller: MakeCaller) -> None:
    caller = make_caller("many@example.com", on=make_app(project_limit=60))
    created = [caller.create_project()["_id"] for _ in range(52)]
    answer = caller.get("/v1/projects")
    assert [project["_id"] for project in data_of(answer)] == created[:1:-1]
    # The ones that the list leaves out come after it.
    url = answer.headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    answer = caller.get(url)
    assert [project["_id"] for project in data_of(answer)] == created[1::-1]
    assert "Link" not in answer.headers


def test_one_project_reads_as_it_was_created(agent: Caller) -> None:
    created = agent.create_project(businessName="Fern", website="fern.example")
    assert data_of(agent.get(f"/v1/projects/{created['_id']}")) == created


def test_a_slug_is_no_id(agent: Caller) -> None:
    agent.create_project(slug="fern")
    error_of(agent.get("/v1/projects/fern"), 404, "NOT_FOUND")


def test_answers_are_kept_by_no_shared_cache(agent: Caller) -> None:
    assert "private" in agent.get("/v1/projects").headers["Cache-Control"]
