"""All commands, loaded; and how tests run one in their own process."""

import json
from typing import Any

import click
from click.testing import Result
from flask import Flask

from testimonials.cli.groups import LateGroup

_GROUP = LateGroup("all")
_CONTEXT = click.Context(_GROUP)
_ALL = [_GROUP.get_command(_CONTEXT, name) for name in _GROUP.list_commands(_CONTEXT)]
GROUPS = [command for command in _ALL if isinstance(command, click.Group)]
COMMANDS = [command for command in _ALL if command and command not in GROUPS]


def run(app: Flask, *arguments: str, typed: str | None = None) -> Result:
    return app.test_cli_runner().invoke(args=list(arguments), input=typed)


def run_well(app: Flask, *arguments: str) -> str:
    """Return what a command prints that does its work."""
    result = run(app, *arguments)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def run_json(app: Flask, *arguments: str) -> Any:
    return json.loads(run_well(app, *arguments, "--json"))
