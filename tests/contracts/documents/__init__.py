"""The parts of `docs/` that are made from the program; a test keeps the files as rendered.

`python -m tests.contracts.documents` writes them.
"""

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from flask import Flask

from testimonials import create_app
from testimonials.commands import COMMANDS, GROUPS
from testimonials.core.web.api.openapi import build_openapi
from testimonials.operations.pages import render_agent_guide
from testimonials.operations.reference import (
    describe_operations,
    describe_rules,
    describe_schemas,
    describe_shared,
)
from testimonials.serving.server import serve
from testimonials.settings.table import PREFIX, Settings, load_settings

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE_URL = "https://testimonials.example.com"
PROGRAM = "testimonials"


def render_settings() -> str:
    """Return the table of every setting: variable, default, meaning."""
    rows = []
    for field in dataclasses.fields(Settings):
        default = field.default
        if isinstance(default, float):
            default = f"{default:g}"
        shown = f"`{default}`" if default not in ("", ()) else "empty"
        rows.append([f"`{PREFIX}{field.name.upper()}`", shown, field.metadata["doc"]])
    return _table(["Setting", "Default", "Meaning"], rows)


def render_commands() -> str:
    """Return every command: how it is called, what it does, its options."""
    parts = [_render_command(found, PROGRAM) for found in (serve, *COMMANDS)]
    for group in GROUPS:
        parts.append(f"## {PROGRAM} {group.name}\n\n{_first_sentence(group)}")
        parts += [_render_command(found, path) for path, found in _walk(group, PROGRAM)]
    return "\n\n".join(parts)


def render_api() -> str:
    """Return the reference of the API, made from its OpenAPI document."""
    document = build_openapi(_app(), "")
    parts = [document["info"]["description"], f"All paths start at `{EXAMPLE_URL}`."]
    operations = describe_operations(document, EXAMPLE_URL)
    answers = Counter(_answer(each) for one in operations for each in one["responses"])
    common = sorted(each for each, count in answers.items() if count > 2)
    parts += ["## Statuses", _table(["Status", "Meaning"], [list(each) for each in common])]
    for operation in operations:
        parts += list(_render_operation(operation, common))
    parts += [
        "## Headers and parameters",
        _table(["Name", "Sent", "Meaning"], _list_shared(document)),
    ]
    parts += [
        "## Error codes",
        _table(["Code", "Status", "Meaning", "What to do"], _list_codes(document)),
    ]
    parts.append("## Shapes of answers")
    for schema in describe_schemas(document):
        is_body = document["components"]["schemas"][schema["name"]].get("additionalProperties")
        if is_body is not False:
            parts += [f"### {schema['name']}", _fields(schema["fields"])]
    return "\n\n".join(part for part in parts if part)


def render_agent_quickstart() -> str:
    """Return `/llms.txt` as a service at an example address serves it."""
    with _app().test_request_context():
        return render_agent_guide()


def _list_shared(document: dict[str, Any]) -> list[list[str]]:
    found = describe_shared(document)
    return [[f"`{each['name']}`", each["sent"], each["description"]] for each in found]


def _list_codes(document: dict[str, Any]) -> list[list[str]]:
    codes = document["x-error-codes"].items()
    return [
        [f"`{code}`", str(each["status"]), each["meaning"], each["remedy"]] for code, each in codes
    ]


# By file: the heading and sentence it is begun with, the marker, and what stands between.
GENERATED: dict[str, tuple[str, str, Callable[[], str]]] = {
    "settings.md": (
        "# Settings\n\nEvery setting comes from an environment variable or, in lower case and "
        "without the prefix, from `testimonials.toml` in the instance folder.",
        "settings",
        render_settings,
    ),
    "commands.md": (
        "# Commands\n\nThe `testimonials` command runs the service and looks after its data; "
        "`testimonials --help` lists the same commands. All but `serve` print JSON with `--json`.",
        "commands",
        render_commands,
    ),
    "api.md": (
        "# API\n\nThis is the reference of every call; a running service shows it at `/docs`.",
        "api",
        render_api,
    ),
}
QUICKSTART = "quickstart-agents.md"


def read_between(text: str, marker: str) -> str:
    """Return what stands between the two comments of `marker`; raises ValueError without them."""
    start, end = _comments(marker)
    return text[text.index(start) + len(start) : text.index(end)].strip()


def write_between(text: str, marker: str, content: str) -> str:
    """Put `content` between the two comments of `marker`."""
    start, end = _comments(marker)
    before, after = text[: text.index(start)], text[text.index(end) + len(end) :]
    return f"{before}{start}\n\n{content}\n\n{end}{after}"


def write_documents(folder: Path) -> None:
    """Write every generated part into `folder`, and begin the files that are not there yet."""
    folder.mkdir(exist_ok=True)
    for name, (beginning, marker, render) in GENERATED.items():
        path = folder / name
        start, end = _comments(marker)
        text = path.read_text() if path.exists() else f"{beginning}\n\n{start}\n{end}\n"
        path.write_text(write_between(text, marker, render()))
    (folder / QUICKSTART).write_text(render_agent_quickstart())


def _comments(marker: str) -> tuple[str, str]:
    return f"<!-- {marker} -->", f"<!-- /{marker} -->"


def _app() -> Flask:
    with tempfile.TemporaryDirectory() as folder:
        return create_app(load_settings({}, {"instance_path": folder, "base_url": EXAMPLE_URL}))


def _walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    path = f"{path} {group.name}"
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _walk(command, path)
        else:
            yield path, command


def _render_command(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=f"{path} {command.name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [
        found
        for parameter in command.params
        # Arguments are in the usage line; where they need words, the help has them.
        if isinstance(parameter, click.Option)
        and parameter.name != "as_json"
        and (found := parameter.get_help_record(context)) is not None
    ]
    level = "##" if path == PROGRAM else "###"
    parts = [f"{level} {path} {command.name}", f"    {usage}", _help(command)]
    if options:
        rows = [[f"`{names}`", text.replace("  [", " [")] for names, text in options]
        parts.append(_table(["Option", "Meaning"], rows))
    return "\n\n".join(parts)


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _first_sentence(command: click.Command) -> str:
    return _help(command).partition("\n\n")[0]


def _answer(response: dict[str, Any]) -> tuple[str, str]:
    return str(response["status"]), response["description"]


def _render_operation(operation: dict[str, Any], common: list[tuple[str, str]]) -> Iterator[str]:
    yield f"## {operation['summary']}"
    yield f"`{operation['method']} {operation['path']}`"
    yield operation["description"]
    if operation["parameters"]:
        rows = [
            [
                f"`{item['name']}`",
                item["in"],
                item["schema"]["type"],
                _rules(describe_rules(item["schema"]), item["required"]),
                item.get("description", ""),
            ]
            for item in operation["parameters"]
        ]
        yield _table(["Parameter", "In", "Type", "Rules", "Meaning"], rows)
    if operation["body"]:
        yield _fields(operation["body"]["fields"])
    answers = [_answer(each) for each in operation["responses"]]
    usual = ", ".join(status for status, meaning in answers if (status, meaning) in common)
    own = [f"{status}: {meaning}" for status, meaning in answers if (status, meaning) not in common]
    yield " ".join([f"Answers {usual}.", *own])
    yield f"```sh\n{operation['curl']}\n```"


def _fields(fields: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"`{field['name']}`",
            field["type"],
            _rules(field["rules"], field["required"]),
            field["description"],
        ]
        for field in fields
    ]
    return _table(["Field", "Type", "Rules", "Meaning"], rows)


def _rules(rules: str, is_required: bool) -> str:
    return "; ".join(part for part in ("required" if is_required else "", rules) if part)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )
