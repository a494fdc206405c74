"""Every operation of the API against every set of scopes, by the guard's rule and by real calls."""

import itertools
import re
from typing import Any

import pytest
from flask import Flask

from testimonials.access.callers import Caller as ApiCaller
from testimonials.access.guards import MissingScope, Rule, may_pass
from testimonials.access.scopes import Scope
from testimonials.core.web.api.openapi import method_of, operations
from tests.access.tokens import give_token
from tests.conftest import Caller
from tests.support.sampling import sample

# What the specification gives the account's key; everything else it may only propose.
OF_THE_KEY = {
    "get_me",
    "list_projects",
    "create_project",
    "get_project",
    "update_widget_config",
    "get_embed_snippet",
    "list_testimonials",
    "create_testimonial",
    "delete_demo_testimonials",
}
# What else it reaches, and why.
MORE_OF_THE_KEY = {
    "set_up_project": "What the key may not do there becomes a proposal.",
    "create_testimonials": "It is the call for one, many times.",
    "propose_change": "It proposes.",
    "list_proposals": "It reads what became of its own proposals.",
    "get_proposal": "It reads what became of its own proposals.",
    "withdraw_proposal": "It takes its own proposals back.",
    "list_widgets": "The names of saved widgets are on the pages that show them.",
    "get_page_config": "The project, as specified, holds it too.",
    "get_page_design": "The collection page shows it.",
    "list_forms": "Their pages show them.",
    "get_form": "Its page shows it.",
    "get_testimonial": "It shows what the list shows.",
    "get_testimonial_picture": "It shows what is public.",
}
# What no token does, by the words that a path or a view would have for it.
NEVER = re.compile(r"password|session|token(?!s? expire)|team|member|invit|billing|claim|export")

SETS = [
    scopes for count in range(len(Scope) + 1) for scopes in itertools.combinations(Scope, count)
]
# The key, each scope alone, and all; with --deep the others too.
CHOSEN = [*SETS[: len(Scope) + 1], *sample(SETS[len(Scope) + 1 : -1], 0), SETS[-1]]


def find_rules(app: Flask) -> dict[str, Rule]:
    """Return the rule of each operation by its name."""
    return {
        view.__name__: view.access
        for _, operation, view in operations(app)
        if not operation.is_public
    }


def test_every_operation_has_a_rule(app: Flask) -> None:
    rules = find_rules(app)
    assert rules.keys() >= OF_THE_KEY
    for name, rule in rules.items():
        assert isinstance(rule, Rule), name


@pytest.mark.parametrize("scopes", CHOSEN, ids="+".join)
def test_a_missing_scope_is_named_and_a_held_one_lets_pass(
    app: Flask, owner: Caller, scopes: tuple[Scope, ...]
) -> None:
    """Real calls with an unknown project: whoever passes the guard gets another answer than 403."""
    agent = give_token(app, owner, *scopes) if scopes else owner
    key = ApiCaller(owner.account_id, owner.email, "abcd")
    caller = ApiCaller(owner.account_id, owner.email, "T", "1" * 24, scopes) if scopes else key
    seen = set()
    for each, operation, view in operations(app):
        if operation.is_public:
            continue
        rule: Rule = view.access
        direct = rule.scope is None or rule.scope in scopes if scopes else rule.by_key
        drafts = rule.drafts and (not scopes or Scope.DRAFT in scopes)
        assert may_pass(caller, rule) == (direct or drafts)
        path = re.sub(r"<[^>]+>", "0" * 24, each.rule)
        answer = agent.client.open(path, method=method_of(each), headers=agent.headers)
        seen.add(answer.status_code)
        if direct or drafts:
            assert answer.status_code != 401, each
            assert answer.status_code != 403, each
            continue
        assert answer.status_code == 403, each
        error: Any = answer.json
        assert error["code"] == MissingScope.code
        assert f"scope {rule.scope}" in error["message"]
    assert 404 in seen


def test_the_key_reaches_no_more_than_it_should(app: Flask) -> None:
    rules = find_rules(app)
    reached = {name for name, rule in rules.items() if rule.by_key}
    assert reached == OF_THE_KEY | MORE_OF_THE_KEY.keys()


def test_no_token_comes_near_what_only_a_person_does(app: Flask) -> None:
    for rule, _, view in operations(app):
        assert not NEVER.search(rule.rule), rule
        assert not NEVER.search(view.__name__), rule
        deletes_project = rule.rule.endswith("<project_id>") and method_of(rule) == "DELETE"
        assert not deletes_project
