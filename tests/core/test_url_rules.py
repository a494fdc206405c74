from unittest.mock import patch

import pytest
from flask import Flask
from werkzeug.routing import Map, Rule

from testimonials.core.url_rules import LateRule

PATHS = ("/", "/a b/<name>", "/<name>/<int:number>", "/f/<path:rest>", "/<string:name>/-")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("more", [{}, {"q": "ä&b", "page": [1, 2]}])
def test_urls_are_the_same_as_those_of_werkzeug(path: str, more: dict[str, object]) -> None:
    values = {"name": "é/x", "number": 7, "rest": "a/b"} | more
    built = []
    for kind in (Rule, LateRule):
        rules = Map([kind(path, endpoint="here"), kind("/w", endpoint="w", defaults={"name": "n"})])
        for _ in range(2):
            built.append(rules.bind("example.com").build("here", values))
            assert rules.bind("example.com").build("w", {"name": "n"}) == "/w"
    assert len(set(built)) == 1


def test_nothing_is_compiled_until_a_url_is_built(app: Flask) -> None:
    with patch.object(Rule, "_compile_builder", side_effect=AssertionError):
        Map([LateRule(rule.rule, endpoint=rule.endpoint) for rule in app.url_map.iter_rules()])
    # Flask makes that of its static files before a class of rules can be chosen.
    others = {rule.endpoint for rule in app.url_map.iter_rules() if not isinstance(rule, LateRule)}
    assert others <= {"static"}
