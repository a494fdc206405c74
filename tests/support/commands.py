"""All commands, loaded."""

import click

from testimonials.cli.groups import ADMIN, load_command

_ALL = [load_command(name) for name in ADMIN]
GROUPS = [command for command in _ALL if isinstance(command, click.Group)]
COMMANDS = [command for command in _ALL if not isinstance(command, click.Group)]
