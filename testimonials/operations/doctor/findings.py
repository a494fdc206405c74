"""The findings of `testimonials doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One problem and what to do about it; neither holds a secret.

    A note isn't a problem; it says what was not checked, or what is as it has to be.
    """

    problem: str
    advice: str
    is_note: bool = False


NO_SCHEMA = Finding(
    "Not checked, because the database is not ready.",
    "Follow the advice above, then run this again.",
)
