"""The way of a submission through the house: which modules it enters, and how often."""

import sys
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import testimonials
from tests.support.visitors import form_token

ROOT = Path(testimonials.__file__).parent
FILLED = {
    "text": "They listened.", "name": "Noor Haddad", "role": "Visitor", "company": "Haddad & Co",
    "email": "noor@example.com", "rating": "4", "consent": "yes",
}  # fmt: skip
PAGES = "collection.pages"
MOST_ENTERED = 12
# Entered again on the way: to look up, locked, what was looked up.
AGAIN = {"projects.projects"}


class Trace:
    """Which modules a view enters, in order, each time with the one that called into it.

    The ground and the tables are no step: everything stands on `core`, and rows tell of themselves.
    """

    def __init__(self, view: str) -> None:
        self.view = view
        # The module of each function under way, from the view on.
        self.stack: list[str] = []
        self.entered: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and (self.stack or frame.f_code.co_name == self.view):
            caller, name = (self.stack or [""])[-1], _name_module(frame)
            if caller.endswith("models") or not name or name.startswith("core."):
                name = caller
            elif name != caller and not name.endswith("models"):
                self.entered.append((caller, name))
            self.stack.append(name)
        elif event == "return" and self.stack:
            self.stack.pop()


def _name_module(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    if path.suffix != ".py" or ROOT not in path.parents:
        return ""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_a_submission_enters_few_modules_and_returns_to_none(client, owner):
    owner.create_project(businessName="Kiln & Clay", slug="kiln")
    form = FILLED | {"token": form_token(client.get("/kiln").text)}
    trace = Trace("submit_testimonial")
    sys.setprofile(trace)
    try:
        assert client.post("/kiln", data=form).status_code == 303
    finally:
        sys.setprofile(None)
    stays = [next(calls) for _, calls in groupby(trace.entered, key=lambda call: call[1])]
    entered = [name for _caller, name in stays]
    assert len(set(entered)) <= MOST_ENTERED, sorted(set(entered))
    # The page itself goes from step to step.
    below = [name for caller, name in stays if caller != PAGES]
    assert {name for name in below if below.count(name) > 1} <= AGAIN, entered
