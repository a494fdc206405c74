"""`testimonials accounts export`: everything of one account."""

from pathlib import Path

import click

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.services import get_account
from testimonials.core.commands import database_command, json_option
from testimonials.extensions import begin_write, db
from testimonials.transfer.archives.accounts import write_account_archive
from testimonials.transfer.archives.files import force_option, tell_of_file, writing_file
from testimonials.transfer.archives.snapshot import reading_one_moment


@click.command("export")
@click.argument("account", metavar="ID_OR_EMAIL")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@force_option
@json_option
@database_command
def export_account(account: str, file: Path, force: bool, as_json: bool) -> None:
    """Write everything of an account into FILE, a zip, without its secrets.

    What is kept of the person, when they were signed in, their memberships, and each of their
    projects as an archive that `projects import` takes.
    """
    with writing_file(file, is_forced=force) as out, reading_one_moment():
        found = get_account(account)
        write_account_archive(found, out)
    begin_write()
    record_event(EventType.ACCOUNT_EXPORTED, found.id)
    db.session.commit()
    tell_of_file(account, file, as_json=as_json)
