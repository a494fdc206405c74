"""The order of the house: which module may import which, who commits, how long things are."""

import ast
import graphlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Flask

import testimonials

ROOT = Path(testimonials.__file__).parent
PACKAGE = "testimonials"
FEATURES = (
    "settings", "core", "activity", "auth", "access", "projects", "testimonials", "media", "widget",
    "collection", "insights", "proposals", "webhooks", "domains", "transfer", "privacy", "agents",
    "dashboard", "operations", "operator", "serving",
)  # fmt: skip
DOORS = ("api", "pages", "feed", "fast_feed", "cli")
VERBS = ("get", "post", "put", "patch", "delete", "route")

# Who hangs the doors in; and the one door that stands before another.
DOOR_USERS = {
    "routes": "It attaches every blueprint.",
    "commands": "It attaches every group of commands.",
    "widget.fast_feed": "It answers as `feed` does, sooner, and hands the rest on to it.",
}
# What else a module that is no door may import, and why.
MORE_IMPORTS = {
    "serving.server": {"application": "`serve` builds the application that it answers with."},
    "operations.database.upgrading": {
        "migrations.runner": "It makes the backup that comes before."
    },
    "core.commands": {
        "migrations.runner": "An admin command refuses to touch a database of another schema."
    },
    "operations.health": {"migrations.runner": "Whether the schema fits is part of being ready."},
    "operations.backup.verifying": {
        "migrations.runner": "It upgrades what it restored, as the next start would.",
        "migrations.checks": "It does what `db check` does.",
        "migrations.words_check": "It does what `db check` does.",
    },
    "operations.doctor.data": {"migrations.runner": "It says what to do about another schema."},
    "operations.doctor.settings": {"settings.table": "It says which variables are no settings."},
    "operations.backup.restoring": {
        "migrations.runner": "It refuses a schema that this program doesn't know.",
        "settings.secret": "A secret that no start would take is no secret.",
        "settings.table": "The settings in the backup say where its database goes.",
    },
    "operations.database.move": {
        "migrations.runner": "It makes the schema in the transaction in which it fills it."
    },
}
# Who commits although it is no door, and why.
COMMITTERS = {
    "domains.checking": "It is a job of the background thread; there is no request.",
    "auth.sign_in.sessions": "A page that only reads notes now and then that its session was seen.",
    "core.web.writes": "It ends the API's views, which answer with what was committed.",
    "core.mail.delivery": "The background thread has no request; it is its own door.",
    "core.data.leases": "A lease counts only once others can see it.",
    "core.data.rate_limit_counters": "A hit counts also when the request that made it fails.",
    "webhooks.dispatch": "The background thread has no request; it is its own door.",
    "transfer.imports.running": "The background thread has no request; it is its own door.",
    "dashboard.guards": "Parts of a long change let others write between them.",
    "dashboard.proof": "A proof that was given counts even if what it was for fails.",
    "auth.proofs.second_step": "A wrong code is recorded though it leads nowhere.",
    "operations.jobs.expiry": "The sweep is a job of the background thread; there is no request.",
    "operations.jobs.link_mail": "It is a job of the background thread; there is no request.",
    "operations.jobs.registry": "These are jobs of the background thread; there is no request.",
    "widget.script.versions": "The script is kept by `serve` before there are requests.",
    "operations.backup.scheduled": "It is a job of the background thread; there is no request.",
    "operations.backup.offsite": "It is a job of a background thread; there is no request.",
    "operations.database.shared_secret": "`serve` compares the key before there are requests.",
    "operations.sample": "The sample is made by `serve` before there are requests.",
}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 40
MAX_VIEW_LINES = 15
LONG_STATIC_FILES: dict[str, str] = {}
LONG_FILES = {"settings.table": "The settings are one table, which is best read whole."}
LONG_FUNCTIONS: dict[str, str] = {}
LONG_VIEWS = {}


@dataclass(frozen=True)
class Module:
    """One module of the package; `name` is without the package's own."""

    name: str
    tree: ast.Module
    source: str

    @property
    def lines(self) -> int:
        return len(self.source.splitlines())

    @property
    def feature(self) -> str | None:
        """The feature whose folder it is in, if it is in one."""
        first = self.name.partition(".")[0]
        return first if first in FEATURES and (ROOT / first).is_dir() else None

    @property
    def is_door(self) -> bool:
        """Whether requests or commands come in here."""
        last = self.name.rpartition(".")[2]
        is_named_so = last in DOORS or last.endswith(("_cli", "_pages"))
        return self.feature not in (None, "core") and is_named_so


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
    for node in ast.walk(module.tree):
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


def test_rules_know_every_folder() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders - set(FEATURES) == {"migrations"}


def test_scripts_and_style_sheets_can_be_read_at_one_sitting() -> None:
    files = [path for kind in ("*.js", "*.css") for path in (ROOT / "static").rglob(kind)]
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    long = {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES}
    assert long.keys() == LONG_STATIC_FILES.keys()


def test_exceptions_are_still_needed() -> None:
    named = DOOR_USERS.keys() | MORE_IMPORTS.keys() | COMMITTERS.keys() | LONG_FILES.keys()
    assert named <= modules().keys()
    lengths = {
        name: _length(function)
        for module in modules().values()
        for name, function in functions_of(module.tree, module.name)
    }
    assert [name for name in LONG_FUNCTIONS if lengths.get(name, 0) <= MAX_FUNCTION_LINES] == []
    assert [name for name in LONG_FILES if modules()[name].lines <= MAX_FILE_LINES] == []


def test_features_import_only_downwards() -> None:
    wrong = set()
    for name, module in modules().items():
        if not module.feature or module.is_door:
            continue
        allowed = {*FEATURES[: FEATURES.index(module.feature) + 1], "extensions"}
        wrong |= {
            (name, imported)
            for imported in imports_of(module) - MORE_IMPORTS.get(name, {}).keys()
            if imported.partition(".")[0] not in allowed
        }
    assert wrong == set()


def test_doors_are_imported_only_where_they_are_hung() -> None:
    doors = {module.name for module in modules().values() if module.is_door}
    assert {
        (name, door)
        for name, module in modules().items()
        if name not in DOOR_USERS
        for door in imports_of(module) & doors
    } == set()


def test_no_module_level_circle() -> None:
    graph = {name: imports_of(module) for name, module in modules().items()}
    # Raises CycleError, which names the modules.
    graphlib.TopologicalSorter(graph).prepare()


# Libraries that most processes never need, loaded where they are used. Of our own modules only what
# the package and its command consist of: to import the package must load nothing yet.
DRAWING = (
    "collection.picture.drawing", "collection.picture.looks", "collection.picture.shapes",
    "collection.picture.testimonial_drawing", "collection.picture.typesetting.blocks",
    "collection.picture.typesetting.fonts", "core.pictures.decoding", "core.pictures.stored_images",
)  # fmt: skip
LAZY = {
    "": {"testimonials.application"},
    **{name: {"PIL"} for name in DRAWING},
    "__main__": {"testimonials.cli"},
    "admin_group": {"testimonials.commands"},
    "agents.mcp.stdio": {"urllib.request"},
    "auth.addresses": {"disposable_email_domains", "email_validator"},
    "core.data.database": {"sqlalchemy.dialects.postgresql"},
    "core.logs.error_reports": {"sentry_sdk", "sentry_sdk.integrations.logging"},
    "migrations.checks": {"alembic.autogenerate", "alembic.migration"},
    "migrations.runner": {"alembic", "alembic.config"},
    "core.passwords": {"zxcvbn"},
    "dashboard.share.qr_codes": {"segno"},
    "operations.metrics": {
        "prometheus_client",
        "prometheus_client.metrics_core",
        "prometheus_client.process_collector",
    },
    "operations.shared_metrics": {"prometheus_client.parser"},
    "projects.slugs": {"anyascii"},
    # Imports the driver of PostgreSQL.
    "extensions": {"testimonials.core.data.postgres_watch"},
    "serving.server": {"testimonials.core.data.postgres_watch"},
    "widget.memory.told": {"psycopg", "testimonials.core.data.postgres_watch"},
}


def test_no_import_inside_a_function() -> None:
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
    "unicodedata.normalize(": {"core.text_rules"},
    '.encode("idna")': {"domains.names"},
    "anyascii(": {"projects.slugs"},
    "SequenceMatcher": set(),
}


def test_what_takes_long_for_long_texts_is_used_where_it_is_bounded() -> None:
    used = {
        words: {name for name, module in modules().items() if words in module.source}
        for words in STEEP
    }
    assert used == STEEP


def test_files_and_functions_are_short() -> None:
    lengths = {name: module.lines for name, module in modules().items() if name not in LONG_FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}
    assert {
        function: length
        for name, module in modules().items()
        for function, tree in functions_of(module.tree, name)
        if (length := _length(tree)) > MAX_FUNCTION_LINES and function not in LONG_FUNCTIONS
    } == {}


def test_only_doors_commit() -> None:
    assert [
        f"{name}:{node.lineno}"
        for name, module in modules().items()
        if not module.is_door and name not in COMMITTERS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "commit"
    ] == []


def test_modules_say_what_is_inside() -> None:
    assert [
        name
        for name, module in modules().items()
        if module.tree.body and not ast.get_docstring(module.tree)
    ] == []


def test_templates_trust_nothing_but_what_is_written_in_them() -> None:
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


def test_each_purpose_of_tokens_has_a_name_of_its_own() -> None:
    """Tokens of one name could be used for each other: the name is the salt."""
    names = [
        node.args[0].value
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "TokenPurpose"
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(names) > 10
    assert len(names) == len(set(names)), sorted(names)


def test_whole_path_stands_in_the_decorator(described_app: Flask) -> None:
    written = {
        (decorator.func.attr, argument.value)
        for module in modules().values()
        for _, function in functions_of(module.tree, module.name)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in VERBS
        for argument in decorator.args[:1]
        if isinstance(argument, ast.Constant)
    }
    served = {
        (method.lower(), rule.rule)
        for rule in described_app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint != "static"
    }
    assert served == written


def test_views_are_short() -> None:
    long = {
        name: lines
        for module in modules().values()
        for name, function in functions_of(module.tree, module.name)
        if _is_view(function) and (lines := _body_lines(module, function)) > MAX_VIEW_LINES
    }
    assert {name: lines for name, lines in long.items() if name not in LONG_VIEWS} == {}
    assert LONG_VIEWS.keys() <= long.keys()


def _is_view(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in VERBS
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
