"""The order of the house: which module may import which, who commits, how long things are."""

import ast
import graphlib
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

import testimonials
from testimonials.dashboard.framework import AccountPage
from testimonials.dashboard.moved import MOVED

ROOT = Path(testimonials.__file__).parent
PACKAGE = "testimonials"
# From the ground up.
PACKAGES = (
    "core", "auth", "projects", "testimonials", "widget", "collection", "analytics", "transfer",
    "integrations", "dashboard", "operations", "cli",
)  # fmt: skip
BLUEPRINTS = (
    "auth", "projects", "testimonials", "widget", "collection", "authors", "media", "wall",
    "analytics", "webhooks", "agents", "oauth", "transfer", "dashboard", "admin", "site",
)  # fmt: skip
IN_DASHBOARD = (
    "home", "inbox", "widget", "collect", "insights", "settings", "people",
    "account",
)  # fmt: skip
VERBS = ("get", "post", "put", "patch", "delete", "route", "save")

# What a module imports from above its own package, and why.
UPWARD = {"cli.main": {"": "`flask` and `testimonials` make the application in one way."}}
# Who commits although it is no door, and why.
COMMITTERS = {
    "core.db.transactions": "Doors, jobs and commands write through it.",
    "core.http.idempotency": "It ends the API's views, which answer with what was committed.",
    "core.http.rate_limits": "A hit counts also when the request that made it fails.",
}
# How often others read what a form sent without a schema. It only becomes less.
RAW_FORMS = {
    "collection.abuse": 1, "collection.author_pages": 3, "collection.pages": 2,
    "collection.submission": 4, "core.http.forms": 2,
    "core.http.i18n": 1,
}  # fmt: skip
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 40
MAX_VIEW_LINES = 15


@dataclass(frozen=True)
class Module:
    """One module of the package; `name` is without the package's own."""

    name: str
    tree: ast.Module
    source: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in it; to walk through the whole package takes a second."""
        return list(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        return len(self.source.splitlines())

    @property
    def package(self) -> str | None:
        """The package that it is in; None on top and for migrations."""
        first = self.name.partition(".")[0]
        return first if first in PACKAGES else None

    @property
    def is_door(self) -> bool:
        """Whether requests or commands come in here."""
        doors = (*VERBS, "command")
        return any(_is_view(each, doors) for _, each in functions_of(self.tree, self.name))


@cache
def modules() -> dict[str, Module]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        source = path.read_text(encoding="utf-8")
        found[name] = Module(name, ast.parse(source), source)
    return found


def imports_of(module: Module) -> set[str]:
    """Name the modules of the package that `module` imports itself, wherever in the file.

    `from testimonials import __version__` is none: the package sets it before all else.
    """
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [
                full if (full := f"{base}.{alias.name}").partition(".")[2] in modules() else base
                for alias in node.names
                if (base, alias.name) != (PACKAGE, "__version__")
            ]
        else:
            continue
        found |= {name.partition(".")[2] for name in names if name.split(".")[0] == PACKAGE}
    return found


def functions_of(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Return every function with its dotted name, methods and nested ones too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield f"{prefix}.{node.name}", node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from functions_of(node, f"{prefix}.{node.name}")


def test_packages_import_only_downwards_and_no_module_itself():
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders == {*PACKAGES, "migrations"}
    upward: dict[str, set[str]] = {}
    for name, module in modules().items():
        if not module.package:
            continue
        allowed = PACKAGES[: PACKAGES.index(module.package) + 1]
        above = {each for each in imports_of(module) if each.partition(".")[0] not in allowed}
        if above:
            upward[name] = above
    # Both ways: an exception that is no longer needed goes.
    assert upward == {name: set(reasons) for name, reasons in UPWARD.items()}
    graph = {name: imports_of(module) for name, module in modules().items()}
    # Raises CycleError, which names the modules.
    graphlib.TopologicalSorter(graph).prepare()


# Libraries that most processes never need, loaded where they are used. Of our own modules only what
# the package and its command consist of: to import the package must load nothing yet.
DRAWING = (
    "collection.images.cards", "collection.images.draw", "collection.images.typesetting",
    "core.images.decode", "core.images.uploads",
)  # fmt: skip
LAZY = {
    "": {"testimonials.application"},
    **{name: {"PIL"} for name in DRAWING},
    "__main__": {"testimonials.cli.main"},
    "cli.main": {
        "flask.cli", "testimonials.core.db.outages", "testimonials.core.settings.instance",
    },
    "integrations.mcp.stdio": {"urllib.request"},
    "auth.oidc.id_tokens": {
        "cryptography.hazmat.primitives.asymmetric.ec",
        "cryptography.hazmat.primitives.asymmetric.rsa", "jwt", "jwt.exceptions",
    },
    "auth.passkeys": {
        "webauthn", "webauthn.helpers", "webauthn.helpers.cose", "webauthn.helpers.exceptions",
    },
    "auth.two_factor": {
        "cryptography.hazmat.primitives.hashes",
        "cryptography.hazmat.primitives.twofactor.totp",
    },
    "collection.verified_purchases": {"jwt"},
    "core.chain": {
        "cryptography.exceptions",
        "cryptography.hazmat.primitives.asymmetric.ed25519",
    },
    "testimonials.record_heads": {
        "cryptography.exceptions",
        "cryptography.hazmat.primitives.asymmetric.ed25519",
        "cryptography.hazmat.primitives.ciphers.aead",
        "cryptography.hazmat.primitives.hashes",
        "cryptography.hazmat.primitives.kdf.hkdf",
    },
    "core.http_client": {"dns.exception", "dns.resolver"},
    "auth.email_addresses": {"disposable_email_domains", "email_validator"},
    "core.db.engine": {"sqlalchemy.dialects.postgresql"},
    "core.logs": {"sentry_sdk", "sentry_sdk.integrations.logging"},
    "core.db.migrate": {"alembic", "alembic.autogenerate", "alembic.config", "alembic.migration"},
    "auth.credentials": {"zxcvbn"},
    "core.images.colors": {"segno"},
    "operations.metrics": {
        "prometheus_client", "prometheus_client.metrics_core", "prometheus_client.parser",
        "prometheus_client.process_collector",
    },
    "projects.projects": {"anyascii"},
    # Imports the driver of PostgreSQL.
    "core.extensions": {"testimonials.core.db.postgres_watch"},
    "operations.server.serve": {"testimonials.core.db.postgres_watch"},
    "widget.versions": {"psycopg", "testimonials.core.db.postgres_watch"},
}  # fmt: skip


def test_no_import_inside_a_function():
    inside = [
        f"{function}: {ast.unparse(node)}"
        for name, module in modules().items()
        for function, tree in functions_of(module.tree, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.ImportFrom) and node.module in LAZY.get(name, ()))
    ]
    assert inside == []


# What takes far longer for a text twice as long, and where that is bounded.
STEEP = {
    "unicodedata.normalize(": {"core.text"},
    '.encode("idna")': {"projects.domains"},
    "anyascii(": {"projects.projects"},
    "SequenceMatcher": set(),
}


def test_what_takes_long_for_long_texts_is_used_where_it_is_bounded():
    used = {
        words: {name for name, module in modules().items() if words in module.source}
        for words in STEEP
    }
    assert used == STEEP


def test_a_service_loads_what_declares():
    """A job that only its command imports would never be done."""
    declares = re.compile(r"^@(?:every|every_process|job|change|\w+\.connect)\b", re.MULTILINE)
    declaring = {
        f"{PACKAGE}.{name}" for name, module in modules().items() if declares.search(module.source)
    }
    assert len(declaring) > 15
    code = "import sys; from testimonials.core import late; late.load_all(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert declaring <= {*loaded.stdout.split()}


@pytest.mark.thorough
def test_tools_import_what_there_is():
    # Nobody runs a benchmark each day, and mypy doesn't read them.
    for path in (ROOT.parent / "tools").glob("*.py"):
        importlib.import_module(f"tools.{path.stem}")


def test_files_functions_and_views_are_short():
    lengths = {name: module.lines for name, module in modules().items()}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}
    assert {
        function: length
        for name, module in modules().items()
        for function, tree in functions_of(module.tree, name)
        if (length := _length(tree)) > MAX_FUNCTION_LINES
    } == {}
    assert {
        name: lines
        for module in modules().values()
        for name, function in functions_of(module.tree, module.name)
        if _is_view(function) and (lines := _body_lines(module, function)) > MAX_VIEW_LINES
    } == {}
    files = [path for kind in ("*.js", "*.css") for path in (ROOT / "static").rglob(kind)]
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_only_doors_commit():
    assert COMMITTERS.keys() <= modules().keys()
    assert [
        f"{name}:{node.lineno}"
        for name, module in modules().items()
        if not module.is_door and name not in COMMITTERS
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr == "commit"
    ] == []


def is_form(node: ast.AST) -> bool:
    is_named = isinstance(node, ast.Attribute) and node.attr == "form"
    return is_named and ast.unparse(node.value).endswith("request")


def test_forms_are_read_by_schemas():
    found = {
        name: count
        for name, module in modules().items()
        if (count := sum(map(is_form, module.nodes)))
    }
    assert found == RAW_FORMS


def test_modules_say_what_is_inside():
    assert [
        name
        for name, module in modules().items()
        if module.tree.body and not ast.get_docstring(module.tree)
    ] == []


def test_templates_trust_nothing_but_what_is_written_in_them():
    """Behind `|safe` stands a text of the template's own, or what we drew ourselves."""
    texts = {
        str(path.relative_to(ROOT / "templates")): path.read_text(encoding="utf-8")
        for path in (ROOT / "templates").rglob("*.*")
    }
    trusted = {
        (name, value)
        for name, text in texts.items()
        for value in re.findall(r"([^\s{}(,=]+)\s*\|\s*safe\b", text)
        if not value.endswith("'")
    }
    # The key of an authenticator app as a picture.
    assert trusted == {("dashboard/account/new_app.html", "code")}
    assert not [name for name, text in texts.items() if "autoescape" in text]


def test_each_purpose_of_tokens_has_a_name_of_its_own():
    """Tokens of one name could be used for each other: the name is the salt."""
    names = [
        node.args[0].value
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "TokenPurpose"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(names) > 10
    assert len(names) == len(set(names)), sorted(names)


def paths_of_pages(module: Module) -> Iterator[tuple[str, str]]:
    """Yield what the pages of a module are reached by: `show` of each, and each `save`."""
    for _, function in functions_of(module.tree, module.name):
        for decorator in function.decorator_list:
            match decorator:
                case ast.Attribute(value=ast.Name(id=page), attr="show"):
                    yield "get", _find_page(module, page).path
                case ast.Call(func=ast.Attribute(value=ast.Name(id=page), attr="save")):
                    at = [each.value for each in decorator.keywords if each.arg == "at"]
                    ends = "".join(each.value for each in at if isinstance(each, ast.Constant))
                    yield "post", _find_page(module, page).path + ends


def _find_page(module: Module, name: str) -> AccountPage:
    found = getattr(importlib.import_module(f"{PACKAGE}.{module.name}"), name)
    assert isinstance(found, AccountPage)
    return found


def test_whole_path_stands_in_the_decorator(described_app):
    written = {
        _route(decorator.func.attr, argument.value)
        for module in modules().values()
        for _, function in functions_of(module.tree, module.name)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in (*VERBS, "resource")
        for argument in decorator.args[:1]
        if isinstance(argument, ast.Constant)
    }
    written |= {path for module in modules().values() for path in paths_of_pages(module)}
    written |= {("get", rule) for rule in MOVED}
    served = {
        (method.lower(), rule.rule)
        for rule in described_app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint != "static"
    }
    assert served == written


def test_blueprints_are_those_of_the_plan(described_app):
    assert list(described_app.blueprints) == [
        *BLUEPRINTS[: BLUEPRINTS.index("dashboard") + 1],
        *(f"dashboard.{name}" for name in IN_DASHBOARD),
        *BLUEPRINTS[BLUEPRINTS.index("dashboard") + 1 :],
    ]


def _route(verb: str, argument: object) -> tuple[str, str]:
    """Return method and path: a resource of the API has both in one text."""
    text = str(argument) if verb == "resource" else f"{verb} {argument}"
    method, _, path = text.partition(" ")
    return method.lower(), path


def _is_view(function: ast.FunctionDef, verbs: tuple[str, ...] = (*VERBS, "resource")) -> bool:
    return any(
        (isinstance(decorator, ast.Attribute) and decorator.attr == "show")
        or (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Attribute)
            and decorator.func.attr in verbs
        )
        for decorator in function.decorator_list
    )


def _body_lines(module: Module, function: ast.FunctionDef) -> int:
    """Count the lines of code, without the docstring, comments and blank lines."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    lines = module.source.splitlines()[statements[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def _length(function: ast.FunctionDef) -> int:
    """Count the lines from `def` to the end, without the docstring."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function) is not None:
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring
