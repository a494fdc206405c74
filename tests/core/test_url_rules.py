from unittest.mock import patch

import pytest
from werkzeug.routing import Map, Rule

from testimonials.core.http.security import safe_target
from testimonials.core.http.urls import LateRule, remove_base_path
from testimonials.core.settings.instance import SettingError
from tests.conftest import Caller

PATHS = ("/", "/a b/<name>", "/<name>/<int:number>", "/f/<path:rest>", "/<string:name>/-")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("more", [{}, {"q": "ä&b", "page": [1, 2]}])
def test_urls_are_the_same_as_those_of_werkzeug(path, more):
    values = {"name": "é/x", "number": 7, "rest": "a/b"} | more
    built = []
    for kind in (Rule, LateRule):
        rules = Map([kind(path, endpoint="here"), kind("/w", endpoint="w", defaults={"name": "n"})])
        for _ in range(2):
            built.append(rules.bind("example.com").build("here", values))
            assert rules.bind("example.com").build("w", {"name": "n"}) == "/w"
    assert len(set(built)) == 1


def test_nothing_is_compiled_until_a_url_is_built(app):
    with patch.object(Rule, "_compile_builder", side_effect=AssertionError):
        Map([LateRule(rule.rule, endpoint=rule.endpoint) for rule in app.url_map.iter_rules()])
    # Flask makes that of its static files before a class of rules can be chosen.
    others = {rule.endpoint for rule in app.url_map.iter_rules() if not isinstance(rule, LateRule)}
    assert others <= {"static"}


@pytest.mark.parametrize(
    ("path", "base", "within"),
    [
        ("/login", "", "/login"), ("/login", "/a/b", "/login"), ("/a/b/login", "/a/b", "/login"),
        ("/a/b/", "/a/b", "/"), ("/a/b", "/a/b", "/"), ("/a/bc", "/a/b", "/a/bc"),
        ("/a/b/a/b", "/a/b", "/a/b"),
    ],
)  # fmt: skip
def test_the_base_path_is_taken_away_once(path, base, within):
    assert remove_base_path(path, base) == within


def test_a_base_path_is_none_of_the_service(make_app, make_caller):
    with pytest.raises(SettingError, match="begins with /widget"):
        make_app(base_url="https://example.com/widget/a")
    with pytest.raises(SettingError, match="must have the path of BASE_URL, /reviews"):
        make_app(base_url="https://example.com/reviews", app_url="https://app.example.com")
    app = make_app(base_url="https://example.com/reviews")
    owner: Caller = make_caller("owner@example.com", is_claimed=True, on=app)
    answer = owner.post("/v1/projects", {"slug": "reviews"})
    assert (answer.status_code, answer.json["code"]) == (400, "SLUG_RESERVED")  # type: ignore[index]


def test_a_proxy_may_take_the_base_path_away(make_app):
    client = make_app(base_url="https://example.com/reviews").test_client()
    whole, rest = (client.get(f"{path}/login") for path in ("/reviews", ""))
    assert whole.text == rest.text
    assert 'href="/reviews/forgot"' in whole.text
    assert client.get("/reviews").text == client.get("/").text
    # Signing in leads nowhere beside it.
    with client.application.test_request_context("/", base_url="https://example.com/reviews"):
        for target in ("/reviews/dashboard?next=/..", "/reviews/"):
            assert safe_target(target) == target
        for target in (
            "/reviewsx/", "/dashboard", "/reviews/../shop", "/reviews/%2E./shop", "//reviews/"
        ):  # fmt: skip
            assert safe_target(target) == ""
