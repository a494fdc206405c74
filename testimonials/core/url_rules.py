"""Rules of the URL map that are cheap to make."""

from collections.abc import Callable
from typing import Any

from werkzeug.routing import Rule


class LateRule(Rule):
    """A rule that compiles how its URLs are built when the first one is built.

    Werkzeug compiles two functions for each rule, which for all of them took a tenth of a start;
    most processes build URLs by few.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled: Callable[..., tuple[str, str]] | None = None

        # The first name has a dot in Werkzeug's own, so that no value can have it.
        def build(rule: Rule, /, **values: Any) -> tuple[str, str]:
            nonlocal compiled
            if compiled is None:
                # Two threads may both do it, and get the same.
                compiled = super(LateRule, self)._compile_builder(append_unknown)
            return compiled(rule, **values)

        return build
