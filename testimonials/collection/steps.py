"""The owner's next steps after sending, which are the same for everybody."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from testimonials.widget.dates import write_dates

Step = dict[str, Any]


def describe_steps(steps: Sequence[Step]) -> list[Step]:
    """Return open steps with the name of the website, and the last day as the language has it."""
    return [
        step
        | {
            "website": (urlsplit(step["url"]).hostname or "").removeprefix("www."),
            "last_day": write_dates([step["until"]], "absolute", is_long=True)[0]
            if step["until"]
            else "",
        }
        for step in steps
    ]


def find_gift(steps: Sequence[Step]) -> Step | None:
    """Return the code that everybody gets who writes now, whatever they say; steps are open."""
    return next((step for step in steps if step["kind"] == "code"), None)
