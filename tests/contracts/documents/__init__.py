"""The documents that are made from the program; `scripts/docs` writes them."""

import ast
import dataclasses
import inspect
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import click
from flask import Flask

from testimonials import create_app
from testimonials.core.http.openapi import build_openapi
from testimonials.core.settings.table import PREFIX, Settings, load_settings
from testimonials.integrations.mcp.stdio import mcp
from testimonials.operations.reference import (
    render_agent_guide,
    render_full_guide,
    render_reference,
)
from testimonials.operations.server.serve import serve
from tests.support.commands import COMMANDS, GROUPS

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE_URL = "https://testimonials.example.com"
PROGRAM = "testimonials"
# Between paragraphs.
BREAK = "\n\n"


def write_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )


def read_meanings() -> dict[str, str]:
    """Return what stands below each setting."""
    (settings,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(settings, ast.ClassDef)
    return {
        ast.unparse(field.target): " ".join(ast.literal_eval(below.value).split())
        for field, below in pairwise(settings.body)
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr)
    }


def render_settings() -> str:
    """Return the table of every setting: variable, default, meaning."""
    rows, meanings = [], read_meanings()
    for field in dataclasses.fields(Settings):
        default = field.default
        if isinstance(default, float):
            default = f"{default:g}"
        shown = f"`{default}`" if default not in ("", ()) else "empty"
        rows.append([f"`{PREFIX}{field.name.upper()}`", shown, meanings[field.name]])
    return write_table(["Setting", "Default", "Meaning"], rows)


def render_commands() -> str:
    parts = [_render_command(found, PROGRAM) for found in (serve, mcp, *COMMANDS)]
    for group in GROUPS:
        parts.append(f"## {PROGRAM} {group.name}\n\n{_help(group).partition(BREAK)[0]}")
        parts += [_render_command(found, path) for path, found in _walk(group, PROGRAM)]
    return "\n\n".join(parts)


def render_api() -> str:
    with _app().test_request_context():
        return render_reference(build_openapi(_app(), ""), EXAMPLE_URL)


def render_agent_quickstart() -> str:
    """Return `/llms.txt` as a service at an example address serves it."""
    with _app().test_request_context():
        return render_agent_guide()


def render_everything() -> str:
    """Return `/llms-full.txt` as a service at an example address serves it."""
    with _app().test_request_context():
        return render_full_guide()


HEADINGS = {
    "settings.md": "# Settings\n\nEvery setting comes from an environment variable or, in lower "
    "case and without the prefix, from `testimonials.toml` in the instance folder.",
    "commands.md": "# Commands\n\nThe `testimonials` command runs the service and looks after its "
    "data; `testimonials --help` lists the same commands. All but `serve` and `mcp` print JSON "
    "with `--json`.",
    "api.md": "# API\n\nThis is the reference of every call; a service shows it at `/docs`.",
}
RENDERED: dict[str, Callable[[], str]] = {
    "settings.md": render_settings, "commands.md": render_commands, "api.md": render_api,
    "agents.md": render_agent_quickstart,
}  # fmt: skip


def write_documents(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, render in RENDERED.items():
        parts = [HEADINGS.get(name, ""), render()]
        text = "\n\n".join(part.rstrip("\n") for part in parts if part)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")


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
        parts.append(write_table(["Option", "Meaning"], rows))
    return "\n\n".join(parts)


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return BREAK.join(" ".join(paragraph.split()) for paragraph in paragraphs)
