"""axe, which judges a page by the rules of accessibility."""

from collections.abc import Sequence
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# Only what it found comes back. The hundred rules that were kept, each with an example, would take
# longer on their way than the judging does.
JUDGE = """([rules, others]) => {
  const off = Object.fromEntries(others.map((id) => [id, { enabled: false }]));
  const only = rules.length ? { runOnly: rules } : { rules: off };
  return axe.run({ resultTypes: ['violations'], ...only }).then(results => results.violations);
}"""


def find_violations(
    page: Page, rules: Sequence[str] = (), others: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return what axe finds on the page as it is now: `id` of a rule, `nodes` that break it.

    All rules are asked, or only some, or all but `others`.
    """
    page.wait_for_load_state()
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate(JUDGE, [list(rules), list(others)])
    return found


def find_rules(page: Page) -> list[str]:
    return [violation["id"] for violation in find_violations(page)]
