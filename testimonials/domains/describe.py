"""What people and programs are told of an own host name."""

from typing import Any

STATES = ("waiting", "verified", "serving")


def describe_state(domain: Any) -> str:
    """Return one of `STATES`."""
    if not domain.is_held:
        return STATES[0]
    return STATES[2] if domain.serving_since else STATES[1]
