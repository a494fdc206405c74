"""Slugs (spec, "POST /v1/projects"; decisions, "Projects" and "One process, two names")."""

import re

from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from testimonials.projects.slugs import RESERVED, make_slug, random_slug
from tests.conftest import Caller
from tests.support.shapes import error_of


def test_text_becomes_ascii_lower_case_with_dashes() -> None:
    for text, slug in (
        ("Fern & Fable Salon", "fern-fable-salon"),
        ("UPPER", "upper"),
        ("already-fine-1", "already-fine-1"),
        ("--a---b__c--", "a-b-c"),
        ("Crème Brûlée", "creme-brulee"),
        ("Cre\u0300me", "creme"),
        ("Straße", "strasse"),
        ("Москва", "moskva"),
        ("北京", "bei-jing"),
        ("ﬁne", "fine"),
        ("１２３", "123"),
        ("a\u200db\u00adc", "abc"),
        ("a\u00a0b", "a-b"),
        ("a/b?c#d", "a-b-c-d"),
        ("../../etc/passwd", "etc-passwd"),
        ("😀😀", ""),
        ("---", ""),
        ("", ""),
    ):
        assert make_slug(text) == slug


@given(st.text(max_size=200))
def test_a_slug_is_made_of_letters_digits_and_single_dashes(text: str) -> None:
    slug = make_slug(text)
    assert len(slug) <= 60
    assert slug == "" or re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
    assert make_slug(slug) == slug


@given(st.text(st.characters(max_codepoint=127, categories=["L", "N"]), min_size=1, max_size=60))
def test_ascii_letters_and_digits_are_kept(text: str) -> None:
    assert make_slug(text) == text.lower()


def test_a_random_slug_is_project_and_six_characters() -> None:
    slugs = {random_slug() for _ in range(200)}
    assert all(re.fullmatch(r"project-[a-z0-9]{6}", slug) for slug in slugs)
    assert len(slugs) > 190


def slug_of(agent: Caller, **body: object) -> str:
    slug: str = agent.create_project(**body)["publicPageConfig"]["slug"]
    return slug


def test_a_slug_is_the_one_that_was_sent_or_made_of_the_name_or_random(agent: Caller) -> None:
    for body, slug in (
        ({"slug": "  My Café! "}, "my-cafe"),
        ({"slug": "chosen", "businessName": "Fern & Fable"}, "chosen"),
        ({"businessName": "Fern & Fable"}, "fern-fable"),
        ({"businessName": "a" * 59 + " " + "b" * 60}, "a" * 59),
    ):
        assert slug_of(agent, **body) == slug
    for body in ({}, {"businessName": ""}, {"businessName": "😀 😀"}):
        assert re.fullmatch(r"project-[a-z0-9]{6}", slug_of(agent, **body))


def test_a_slug_of_60_characters_as_sent_is_taken(agent: Caller) -> None:
    assert slug_of(agent, slug="a" * 60) == "a" * 60
    # Outer white space does not count; what a character becomes does not either.
    assert slug_of(agent, slug=f"  {'ß' * 60}\n") == "s" * 60


def test_a_slug_that_is_too_long_as_sent_or_normalizes_to_nothing_is_400(agent: Caller) -> None:
    def refuse(slug: str) -> str:
        answer = agent.post("/v1/projects", {"slug": slug, "businessName": "Fern"})
        return str(error_of(answer, 400, "VALIDATION_FAILED", "slug")["message"])

    for slug in ("a" * 61, "-" * 30 + "a" + "-" * 30, "😀" * 61):
        assert "at most 60" in refuse(slug)
    for slug in ("", "   ", "---", "😀", "!?", "\u200b", "a\nb", "a\u0000"):
        assert refuse(slug)


TAKEN = "This slug is already taken. Please choose a different one."


def test_a_slug_that_another_project_owns_is_400_with_the_specified_message(
    agent: Caller, outsider: Caller
) -> None:
    outsider.create_project(slug="taken")
    agent.create_project(slug="mine")
    for body in (
        {"slug": "taken"},
        {"slug": "TAKEN!"},
        {"businessName": "Taken"},
        {"slug": "mine"},
    ):
        error = error_of(agent.post("/v1/projects", body), 400, "SLUG_TAKEN", "slug")
        assert error["message"] == TAKEN


DECIDED = [
    "v1", "widget", "dashboard", "login", "logout", "claim", "signup", "forgot", "reset", "static",
    "media", "docs", "healthz", "metrics", "llms.txt", "robots.txt", "favicon.ico",
]  # fmt: skip


def test_paths_of_the_service_are_reserved(agent: Caller) -> None:
    for slug in DECIDED:
        for body in ({"slug": slug}, {"slug": f" {slug.upper()} "}, {"businessName": slug}):
            error = error_of(agent.post("/v1/projects", body), 400, "SLUG_RESERVED", "slug")
            assert "reserved" in error["message"]


def test_every_first_segment_of_the_url_map_is_reserved(app: Flask, agent: Caller) -> None:
    segments = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()} - {"", "<slug>"}
    assert {"v1", "claim", "widget", "static"} <= segments
    with app.app_context():
        assert {make_slug(segment) for segment in segments} <= app.extensions[RESERVED]
