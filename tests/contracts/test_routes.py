"""`routes.txt`: the addresses that a process knows before it has loaded any view.

`WRITE_ROUTES=1 pytest tests/contracts/test_routes.py` writes it anew from the views.
"""

import importlib
import inspect
import os
from pathlib import Path

import testimonials
from testimonials.core.http import blueprints
from testimonials.core.http.resource import Blueprint
from testimonials.core.late import FILE, PACKAGE, Route, read_routes

ROOT = Path(testimonials.__file__).parent


def read_views() -> list[Route]:
    """Return the routes that the decorators of all views declare."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        if "migrations" not in parts and parts[-1] not in ("__init__", "__main__"):
            importlib.import_module(".".join(parts))
    found = [each for name, each in vars(blueprints).items() if name[0] != "_"]
    inner = [each for each, _ in blueprints.dashboard._blueprints]
    return [
        Route(
            inspect.unwrap(blueprint.views[name]).__module__.removeprefix(f"{PACKAGE}."),
            method,
            f"{'dashboard.' if blueprint in inner else ''}{blueprint.name}.{name}",
            rule,
        )
        for blueprint in found
        if isinstance(blueprint, Blueprint)
        for method, name, rule in blueprint.rules
    ]


def test_every_view_has_its_address():
    views = read_views()
    # In the order of the features, which that of the API's document follows.
    known = list(dict.fromkeys(route.module for route in read_routes()))
    modules = [*known, *sorted({view.module for view in views} - {*known})]
    views.sort(key=lambda view: modules.index(view.module))
    if os.environ.get("WRITE_ROUTES"):
        FILE.write_text("".join(f"{' '.join(view)}\n" for view in views), encoding="utf-8")
        read_routes.cache_clear()
    assert list(read_routes()) == views, "WRITE_ROUTES=1 writes routes.txt anew"
