"""/v1/projects, their slugs and what is below (spec, same names; decisions, "Projects")."""

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from testimonials.auth.tokens import Scope
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.text import is_web_url
from testimonials.projects.projects import complete_website, make_slug, random_slug, reserved_slugs
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.racing import at_once
from tests.support.rows import add_testimonial
from tests.support.shapes import data_of, error_of

PATH = "/v1/projects"
TEXTS = {"businessName": 120, "website": 500, "headline": 160, "description": 500}
ONE_LINE = ["businessName", "slug", "website", "headline"]


def demos_of(caller: Caller, project: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = data_of(
        caller.get(f"/v1/projects/{project['_id']}/testimonials")
    )["items"]
    return items


def test_the_whole_project_comes_back(agent):
    project = data_of(
        agent.post(
            PATH,
            {
                "businessName": "Fern & Fable", "slug": "fern", "website": "https://fern.example",
                "headline": "How was it?", "description": "Two lines\nare plenty.",
                "skipDemoTestimonials": True,
            },
        )
    )  # fmt: skip
    page, widget = project.pop("publicPageConfig"), project.pop("widgetConfig")
    assert set(project) == {
        "_id", "userId", "status", "widgetDesign", "brand", "createdAt", "updatedAt",
    }  # fmt: skip
    assert re.fullmatch(r"[0-9a-f]{24}", project["_id"])
    assert (project["userId"], project["status"]) == (agent.account_id, "active")
    for name in ("createdAt", "updatedAt"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", project[name])
        datetime.fromisoformat(project[name])
    assert page.pop("collectFields").keys() == {
        "name", "email", "role", "company", "avatar", "rating",
    }  # fmt: skip
    assert {name: page.pop(name) for name in ("slug", "website", "headline", "description")} == {
        "slug": "fern", "website": "https://fern.example", "headline": "How was it?",
        "description": "Two lines\nare plenty.",
    }  # fmt: skip
    assert page.pop("logo") is None
    assert page.pop("showConfetti") in (True, False)
    for name in ("buttonColor", "buttonTextColor"):
        assert re.fullmatch(r"#[0-9A-F]{6}", page.pop(name))
    assert page.keys() == {"thankYouMessage", "theme"}
    assert 3 <= widget.pop("initialCount") <= 50
    assert widget.keys() == {
        "theme", "layout", "animation", "palette", "cardStyle",
        "showStars", "showDates", "showSource", "showCtaButton",
    }  # fmt: skip


def test_every_field_may_be_empty_or_left_out(agent):
    body = {"businessName": "", "website": "", "headline": "", "description": " "}
    page = data_of(agent.post(PATH, body))["publicPageConfig"]
    assert (page["website"], page["headline"], page["description"]) == ("", "", "")
    project = data_of(agent.post(PATH, {}))
    assert project["publicPageConfig"]["website"] == ""
    assert project["publicPageConfig"]["headline"]
    assert data_of(agent.get(f"{PATH}/{project['_id']}")) == project


def filled(name: str, length: int) -> str:
    return "example.com/" + "a" * (length - 12) if name == "website" else "😀" * length


@pytest.mark.parametrize(("name", "length"), TEXTS.items())
def test_a_text_past_its_limit_is_400_and_not_before(agent, name, length):
    """Counted in code points."""
    data_of(agent.post(PATH, {name: f" \n{filled(name, length)}\t "}))
    body = {name: filled(name, length + 1)}
    error = error_of(agent.post(PATH, body), 400, "VALIDATION_FAILED", name)
    assert f"at most {length}" in error["message"]


WEBSITES = [
    ("example.com", "https://example.com"),
    ("  example.com/a?b=c#d ", "https://example.com/a?b=c#d"),
    ("http://example.com", "http://example.com"), ("HTTPS://Example.com", "HTTPS://Example.com"),
    ("example.com:8080", "https://example.com:8080"), ("localhost:3000", "https://localhost:3000"),
    ("bücher.example", "https://bücher.example"), ("192.0.2.1", "https://192.0.2.1"),
    ("example.com/@user", "https://example.com/@user"),
]  # fmt: skip


def test_https_is_put_before_a_website_without_scheme(make_caller):
    for number, (sent, kept) in enumerate(WEBSITES):
        caller = make_caller(f"a{number}@example.com")
        page = data_of(caller.post(PATH, {"website": sent}))["publicPageConfig"]
        assert page["website"] == kept


NO_WEBSITES = [
    "ftp://example.com", "javascript:alert(1)", "javascript://example.com/%0aalert(1)",
    "data:text/html,x", "mailto:a@example.com", "//example.com", "https://", "http:///path",
    "https:example.com", "https://a b.example", "a b", "https://user:pw@example.com",
    "https://example.com:99999", "https://example.com:x", "https://-a.example", "https://a..b",
    'https://example.com/"onload=', "https://example.com/<script>", "https://[::zz]",
    "https://[:::::]", "https://[1.2.3]", "https://[]", ".", "https://.",
]  # fmt: skip


def test_a_website_that_is_no_http_address_is_400(agent):
    for website in NO_WEBSITES:
        body = {"website": website}
        error = error_of(agent.post(PATH, body), 400, "VALIDATION_FAILED", "website")
        assert "http" in error["message"]


@given(st.text(alphabet="ab.:/[]@?#%-0é\u200b ／℀：٣", max_size=30))
def test_whatever_website_is_kept_is_one_that_a_parser_takes(text):
    try:
        url = complete_website(text)
    except ValidationFailed:
        return
    assert url == "" or (is_web_url(url) and urlsplit(url).hostname)


def test_demos_speak_of_the_business_or_of_your_product(agent, outsider):
    project = data_of(agent.post(PATH, {"businessName": "{name} {0} %s"}))
    assert all("{name} {0} %s" in demo["text"] for demo in demos_of(agent, project))
    for demo in demos_of(outsider, data_of(outsider.post(PATH, {"slug": "x"}))):
        assert "your product" in demo["text"].lower()
        assert "{" not in demo["text"]


@pytest.mark.parametrize("skip", [{}, {"skipDemoTestimonials": False}])
def test_later_projects_start_empty(app, agent, skip):
    assert demos_of(agent, data_of(agent.post(PATH, {"skipDemoTestimonials": True}))) == []
    assert demos_of(agent, data_of(agent.post(PATH, skip))) == []
    agent.create_project(slug="last")
    app.test_cli_runner().invoke(args=["projects", "delete", "last", "--yes"])
    assert demos_of(agent, data_of(agent.post(PATH, skip))) == []


def test_a_failed_creation_uses_nothing_up(agent, outsider):
    outsider.create_project(slug="taken")
    for body in ({"slug": "taken"}, {"slug": "login"}, {"slug": "-"}, {"website": "ftp://x"}):
        assert agent.post(PATH, body).status_code == 400
    assert data_of(agent.get(PATH)) == []
    assert len(demos_of(agent, data_of(agent.post(PATH, {})))) == 6


def test_past_the_limit_it_is_402_with_its_code(make_app, make_caller):
    caller = make_caller("a@example.com", on=make_app(project_limit=2))
    for _ in range(2):
        caller.create_project()
    error = error_of(caller.post(PATH, {"slug": "third"}), 402, "PROJECT_LIMIT_REACHED")
    assert "2 projects" in error["message"]
    assert len(data_of(caller.get(PATH))) == 2
    assert caller.client.get("/third").status_code == 404
    caller.client = make_app(project_limit=0).test_client()
    error_of(caller.post(PATH, {}), 402, "PROJECT_LIMIT_REACHED")
    error_of(caller.post(PATH, {"slug": 5}), 400, "VALIDATION_FAILED", "slug")


def test_the_limit_is_each_accounts_own(app, agent, outsider):
    runner = app.test_cli_runner()
    runner.invoke(args=["accounts", "set-limit", agent.email, "1"])
    agent.create_project()
    error_of(agent.post(PATH, {}), 402, "PROJECT_LIMIT_REACHED")
    for _ in range(2):
        outsider.create_project()
    runner.invoke(args=["accounts", "set-limit", agent.email, "default"])
    agent.create_project()


def create_at_once(app: Flask, callers: list[Caller], bodies: list[dict[str, Any]]) -> list[Any]:
    """Create a project for each body at the same moment, every caller with its own client."""

    def create(place: int) -> Any:
        headers = callers[place].headers
        return app.test_client().post(PATH, json=bodies[place], headers=headers)

    return at_once(len(bodies), create)


@pytest.mark.postgres
def test_one_slug_wanted_by_many_has_one_winner(app, make_caller):
    callers = [make_caller(f"a{number}@example.com") for number in range(6)]
    bodies = [{"slug": "wanted"}] * 3 + [{"businessName": "Wanted"}] * 3
    answers = create_at_once(app, callers, bodies)
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 5
    for answer in answers:
        if answer.status_code == 400:
            error_of(answer, 400, "SLUG_TAKEN", "slug")


@pytest.mark.postgres
def test_many_at_once_get_the_last_places_and_the_demos_once(app, agent):
    app.test_cli_runner().invoke(args=["accounts", "set-limit", agent.email, "2"])
    answers = create_at_once(app, [agent] * 6, [{}] * 6)
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [402] * 4
    projects = data_of(agent.get(PATH))
    assert sorted(len(demos_of(agent, project)) for project in projects) == [0, 6]


def test_at_most_50_are_listed(make_app, make_caller):
    caller = make_caller("many@example.com", on=make_app(project_limit=60))
    created = [caller.create_project()["_id"] for _ in range(52)]
    answer = caller.get("/v1/projects")
    assert [project["_id"] for project in data_of(answer)] == created[:1:-1]
    # The ones that the list leaves out come after it.
    url = answer.headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    answer = caller.get(url)
    assert [project["_id"] for project in data_of(answer)] == created[1::-1]
    assert "Link" not in answer.headers


def test_says_what_an_agent_tells_its_owner(app, owner):
    project = str(owner.create_project()["_id"])
    reader = give_token(app, owner, Scope.READ)
    empty = reader.get(f"/v1/projects/{project}/summary").json["data"]
    assert (empty["averageRating"], empty["ratingCount"], empty["websites"]) == (None, 0, [])
    for rating in (5, 4):
        add_testimonial(app, project, rating=rating)
    waiting = add_testimonial(app, project, status="pending")
    body = {"decision": "approve", "ids": [waiting]}
    assert owner.post(f"/v1/projects/{project}/submissions/decisions", body).status_code == 202
    site = {"Origin": "https://kiln.example"}
    app.test_client().get(f"/widget/{project}/feed", headers=site)
    summary = reader.get(f"/v1/projects/{project}/summary").json["data"]
    assert summary["testimonials"] == {
        "pending": 1, "approved": 2, "rejected": 0, "spam": 0, "trash": 0, "samples": 0
    }  # fmt: skip
    assert (summary["averageRating"], summary["ratingCount"]) == (4.5, 2)
    assert (summary["proposalsWaiting"], summary["requests"]["waiting"]) == (1, 0)
    assert [each["origin"] for each in summary["websites"]] == ["https://kiln.example"]
    assert owner.get(f"/v1/projects/{project}/summary").status_code == 403


def test_text_becomes_ascii_lower_case_with_dashes():
    for text, slug in (
        ("Fern & Fable Salon", "fern-fable-salon"), ("UPPER", "upper"),
        ("already-fine-1", "already-fine-1"), ("--a---b__c--", "a-b-c"),
        ("Crème Brûlée", "creme-brulee"), ("Cre\u0300me", "creme"), ("Straße", "strasse"),
        ("Москва", "moskva"), ("北京", "beijing"), ("ﬁne", "fine"), ("１２３", "123"),
        ("a\u200db\u00adc", "abc"), ("a\u00a0b", "a-b"), ("a/b?c#d", "a-b-c-d"),
        ("../../etc/passwd", "etc-passwd"), ("😀😀", ""), ("---", ""), ("", ""),
    ):  # fmt: skip
        assert make_slug(text) == slug
    slugs = {random_slug() for _ in range(200)}
    assert all(re.fullmatch(r"project-[a-z0-9]{6}", slug) for slug in slugs)
    assert len(slugs) > 190


@given(st.text(max_size=200))
def test_a_slug_is_made_of_letters_digits_and_single_dashes(text):
    slug = make_slug(text)
    assert len(slug) <= 60
    assert slug == "" or re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
    assert make_slug(slug) == slug


def slug_of(agent: Caller, **body: object) -> str:
    slug: str = agent.create_project(**body)["publicPageConfig"]["slug"]
    return slug


def test_a_slug_is_the_one_that_was_sent_or_made_of_the_name_or_random(agent):
    for body, slug in (
        ({"slug": "  My Café! "}, "my-cafe"),
        ({"slug": "chosen", "businessName": "Fern & Fable"}, "chosen"),
        ({"businessName": "Fern & Fable"}, "fern-fable"),
        ({"businessName": "a" * 59 + " " + "b" * 60}, "a" * 59),
    ):
        assert slug_of(agent, **body) == slug
    # 60 characters as sent: outer white space does not count, nor what a character becomes.
    assert slug_of(agent, slug=f"  {'ß' * 60}\n") == "s" * 60
    for body in ({}, {"businessName": ""}, {"businessName": "😀 😀"}):
        assert re.fullmatch(r"project-[a-z0-9]{6}", slug_of(agent, **body))


def test_a_slug_that_is_too_long_as_sent_or_normalizes_to_nothing_is_400(agent):
    def refuse(slug: str) -> str:
        answer = agent.post("/v1/projects", {"slug": slug, "businessName": "Fern"})
        return str(error_of(answer, 400, "VALIDATION_FAILED", "slug")["message"])

    for slug in ("a" * 61, "-" * 30 + "a" + "-" * 30, "😀" * 61):
        assert "at most 60" in refuse(slug)
    for slug in ("", "   ", "---", "😀", "!?", "\u200b", "a\nb", "a\u0000"):
        assert refuse(slug)


TAKEN = "This slug is already taken. Please choose a different one."


def test_a_slug_of_another_is_400_as_specified(agent, outsider):
    outsider.create_project(slug="taken")
    agent.create_project(slug="mine")
    for body in (
        {"slug": "taken"}, {"slug": "TAKEN!"}, {"businessName": "Taken"}, {"slug": "mine"},
    ):  # fmt: skip
        error = error_of(agent.post("/v1/projects", body), 400, "SLUG_TAKEN", "slug")
        assert error["message"] == TAKEN


DECIDED = [
    "v1", "widget", "dashboard", "login", "logout", "claim", "signup", "forgot", "reset", "static",
    "media", "docs", "healthz", "metrics", "llms.txt", "robots.txt", "favicon.ico",
]  # fmt: skip


def test_paths_of_the_service_are_reserved(agent):
    for slug in DECIDED:
        for body in ({"slug": slug}, {"slug": f" {slug.upper()} "}, {"businessName": slug}):
            error = error_of(agent.post("/v1/projects", body), 400, "SLUG_RESERVED", "slug")
            assert "reserved" in error["message"]


def test_every_first_segment_of_the_url_map_is_reserved(app, agent):
    segments = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()} - {"", "<slug>"}
    assert {"v1", "claim", "widget", "static"} <= segments
    with app.app_context():
        assert {make_slug(segment) for segment in segments} <= reserved_slugs()
