"""Modules that are imported only when they are first needed.

Importing the whole product would take up most of a start. So a view's module is imported with the
first request for one of its addresses, as listed in `routes.txt` (which
`tests/contracts/test_routes.py` writes and checks). What modules declare (jobs, changes, event
types, tables, signal receivers, API errors) is complete only after `load_all`.
"""

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import blinker
from flask import Flask
from sqlalchemy.orm.mapper import _CONFIGURE_MUTEX

PACKAGE = __name__.partition(".")[0]
FILE = Path(__file__).parents[1] / "routes.txt"
# These declare background work and have no views.
BACKGROUND = ("integrations.webhooks.delivery", "operations.expiry")

T = TypeVar("T")


class Route(NamedTuple):
    module: str
    method: str
    endpoint: str
    rule: str


@cache
def read_routes() -> tuple[Route, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Route(*line.split(maxsplit=3)) for line in lines)


def _load(module: str) -> ModuleType:
    """Import a module of the package while other threads answer requests.

    Until then no thread may configure the models, since some that they refer to may be missing.
    """
    with _CONFIGURE_MUTEX:
        return importlib.import_module(f"{PACKAGE}.{module}")


class Views(dict[str, Any]):
    """The views of an application by endpoint, each imported on its first use."""

    def __init__(self, app: Flask) -> None:
        super().__init__(app.view_functions)
        self._app = app
        self._modules = {route.endpoint: route.module for route in read_routes()}

    def __missing__(self, endpoint: str) -> Any:
        _load(self._modules[endpoint])
        blueprint, _, name = endpoint.rpartition(".")
        view = self[endpoint] = vars(self._app.blueprints[blueprint])["views"][name]
        return view


def add_routes(app: Flask) -> None:
    """Add the rules of `routes.txt` to an application whose blueprints are registered."""
    for route in read_routes():
        app.add_url_rule(route.rule, route.endpoint, methods=[route.method])
    for rule in app.url_map.iter_rules():
        # Only needed while a rule is added; all together take a megabyte.
        rule._parts = []
    app.view_functions = Views(app)


@cache
def load_all() -> None:
    """Import every module that declares something."""
    for module in (*dict.fromkeys(route.module for route in read_routes()), *BACKGROUND):
        _load(module)


class Declared(dict[str, T]):
    """A registry of what modules declare, which imports them all if a name is missing."""

    def __missing__(self, name: str) -> T:
        value = self.whole().get(name)
        if value is None:
            raise KeyError(name)
        return value

    def whole(self) -> "Declared[T]":
        """Return the registry after importing every module that could add to it."""
        load_all()
        return self


def late(name: str) -> Callable[..., Any]:
    """Return a function that imports `module:function` when it is called, and calls it."""

    def call(*arguments: Any, **named: Any) -> Any:
        return find_late(name)(*arguments, **named)

    return call


@cache
def find_late(name: str) -> Callable[..., Any]:
    """Import and return `module:function`, a path within the package."""
    module, _, name = name.partition(":")
    function: Callable[..., Any] = getattr(_load(module), name)
    return function


class Signal(blinker.Signal):
    """A signal that imports all its receivers before it is sent."""

    def send(self, *arguments: Any, **named: Any) -> list[tuple[Callable[..., Any], Any]]:
        load_all()
        return super().send(*arguments, **named)
