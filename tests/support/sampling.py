"""Samples of what is too large for every run; `--deep` has all of it."""

import random
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

# Set by tests/conftest.py before the tests are read.
IS_DEEP = False


def sample(items: Iterable[T], count: int, seed: int = 0) -> list[T]:
    """Return `count` of the items in their order, the same ones each time; all of them with
    `--deep`."""
    found = list(items)
    if IS_DEEP or len(found) <= count:
        return found
    chosen = sorted(random.Random(seed).sample(range(len(found)), count))
    return [found[index] for index in chosen]


def rounds(count: int, deep: int) -> int:
    """Return how often to do something at random: `count` times, `deep` times with `--deep`."""
    return deep if IS_DEEP else count


def mostly_thorough(items: Iterable[Any], *usual: Any) -> list[Any]:
    """Return the parameters of a test, of which a plain run has the usual ones alone."""
    found = list(items)
    assert set(usual) <= set(found)
    thorough = pytest.mark.thorough
    return [
        each
        if each in usual
        else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=thorough)
        for each in found
    ]
