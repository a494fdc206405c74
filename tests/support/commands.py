"""All commands, loaded."""

import click

from testimonials.cli.groups import LateGroup

_GROUP = LateGroup("all")
_CONTEXT = click.Context(_GROUP)
_ALL = [_GROUP.get_command(_CONTEXT, name) for name in _GROUP.list_commands(_CONTEXT)]
GROUPS = [command for command in _ALL if isinstance(command, click.Group)]
COMMANDS = [command for command in _ALL if command and command not in GROUPS]
