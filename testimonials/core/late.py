"""What a process loads only once something asks for it.

To import the whole product takes longer than everything else that a start does. So a view's module
is loaded with the first request for one of its addresses, which stand in `routes.txt` (written by
`tests/contracts/test_routes.py`, which holds it to the views). What modules
declare (jobs, changes, types of events, tables, receivers of signals, errors of the API) is whole
after `load_all`, which whoever reads all of it calls first.
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
# What declares work of the background that no view needs.
BACKGROUND = ("integrations.webhooks.delivery", "operations.expiry")


T = TypeVar("T")


class Route(NamedTuple):
    """An address, and the module that has its view."""

    module: str
    method: str
    endpoint: str
    rule: str


@cache
def read_routes() -> tuple[Route, ...]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(Route(*line.split(maxsplit=3)) for line in lines)


def _load(module: str) -> ModuleType:
    """Import a module of the package while other threads answer.

    None of them may set up the models meanwhile: of those that name each other, half may be there.
    """
    with _CONFIGURE_MUTEX:
        return importlib.import_module(f"{PACKAGE}.{module}")


class Views(dict[str, Any]):
    """The views of an application by endpoint; those that aren't loaded yet are when asked for."""

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
    """Let every address of the product lead to its view; the blueprints are registered."""
    for route in read_routes():
        app.add_url_rule(route.rule, route.endpoint, methods=[route.method])
    for rule in app.url_map.iter_rules():
        # Needed to add them alone; all of them take a megabyte.
        rule._parts = []
    app.view_functions = Views(app)


@cache
def load_all() -> None:
    """Load every module that declares something, so that what is declared is known."""
    for module in (*dict.fromkeys(route.module for route in read_routes()), *BACKGROUND):
        _load(module)


class Declared(dict[str, T]):
    """What modules declare, by name, with what those declare that aren't loaded yet."""

    def __missing__(self, name: str) -> T:
        found = self.whole().get(name)
        if found is None:
            raise KeyError(name)
        return found

    def whole(self) -> "Declared[T]":
        load_all()
        return self


def late(name: str) -> Callable[..., Any]:
    """Return a function that loads `module:function` when it is called, and does what that does."""

    def call(*arguments: Any, **named: Any) -> Any:
        return find_late(name)(*arguments, **named)

    return call


@cache
def find_late(name: str) -> Callable[..., Any]:
    """Return the function that is called `module:function` within the package."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(_load(module), function)
    return found


class Signal(blinker.Signal):
    """A signal whose receivers are loaded before it is sent."""

    def send(self, *arguments: Any, **named: Any) -> list[tuple[Callable[..., Any], Any]]:
        load_all()
        return super().send(*arguments, **named)
