"""Plans: what an account may have, by name; operators list them in the settings."""

from typing import NamedTuple


class Plan(NamedTuple):
    """One plan: how many projects it allows, and the provider's prices that stand for it."""

    name: str
    projects: int
    prices: tuple[str, ...]

    def __str__(self) -> str:
        prices = f":{'|'.join(self.prices)}" if self.prices else ""
        return f"{self.name}={self.projects}{prices}"
