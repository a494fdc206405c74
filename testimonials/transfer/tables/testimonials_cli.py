"""`testimonials testimonials import`: testimonials from a CSV or JSON file."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import IO

import click

from testimonials.core.commands import database_command, json_option, print_json
from testimonials.core.terminal_text import make_printable
from testimonials.extensions import db
from testimonials.projects.services import get_project, lock_project
from testimonials.transfer.tables.dates import ORDERS
from testimonials.transfer.tables.headings import (
    ColumnMapping,
    change_mapping,
    guess_mapping,
    require_mapping,
)
from testimonials.transfer.tables.importing import (
    NEW,
    REFUSED,
    THERE,
    Plan,
    plan_import,
    write_import,
)
from testimonials.transfer.tables.photos import Problems, copy_photos
from testimonials.transfer.tables.rows import STATUSES, NewTestimonial, ReadingOptions
from testimonials.transfer.tables.table_files import ENCODINGS, read_table

ACTOR = "The operator"
MAX_BYTES = 256 * 1024 * 1024
LABELS = {NEW: "new", THERE: "already there", REFUSED: "refused"}


@click.command("import")
@click.argument("project", metavar="PROJECT_ID_OR_SLUG")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--map", "choices", multiple=True, metavar="FIELD=COLUMN", help="Which column a field is in."
)
@click.option(
    "--dates", type=click.Choice(ORDERS), help="Whether 03/04 has the day or the month first."
)
@click.option("--encoding", type=click.Choice(tuple(ENCODINGS)), default="utf-8", show_default=True)
@click.option("--status", type=click.Choice(STATUSES), default="approved", show_default=True)
@click.option(
    "--fetch-avatars", is_flag=True, help="Store copies of the photos that the file links to."
)
@click.option(
    "--dry-run", is_flag=True, help="Print what would happen to each line; write nothing."
)
@json_option
@database_command
def import_testimonials(
    project: str,
    file: IO[bytes],
    choices: tuple[str, ...],
    dates: str | None,
    encoding: str,
    status: str,
    fetch_avatars: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import testimonials from a CSV or JSON FILE into a project, each once.

    Columns are recognised by their headings. --map FIELD=COLUMN names another, and --map FIELD=
    leaves a field out. The exit code is 1 if any line was refused.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise click.ClickException("The file is larger than 256 MB. Split it.")
    table = read_table(content, encoding)
    mapping = change_mapping(guess_mapping(table.headings), table.headings, _read_choices(choices))
    require_mapping(mapping, table.headings)
    found = get_project(project)
    plan = plan_import(found.id, table, ReadingOptions(mapping, dates, status))
    if plan.asks_for_order:
        raise click.ClickException(
            "Dates such as 03/04/2026 are ambiguous. Add --dates dmy if the day comes first, or "
            "--dates mdy if the month does. Nothing was imported."
        )
    done = None if dry_run else _write(found.id, plan, fetches=fetch_avatars)
    _print_outcome(plan, mapping, done, as_json=as_json)
    if plan.count()[REFUSED]:
        raise click.exceptions.Exit(1)


def _read_choices(choices: tuple[str, ...]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = defaultdict(list)
    for each in choices:
        field, sign, column = each.partition("=")
        if not sign:
            raise click.ClickException(f"Write --map FIELD=COLUMN instead of {each}.")
        columns[field.strip()] += [column.strip()] if column.strip() else []
    return columns


def _write(project_id: str, plan: Plan, *, fetches: bool) -> tuple[int, Problems]:
    """Return how many were added, and the photos that could not be copied.

    Fewer than planned are added if another import added some in the meantime.
    """
    problems: Problems = []

    def copy(batch: Sequence[NewTestimonial]) -> Sequence[NewTestimonial]:
        copied, failed = copy_photos(batch)
        problems.extend(failed)
        return copied

    lock, written = partial(lock_project, project_id), 0
    for count in write_import(plan.new, lock, ACTOR, copy if fetches else None):
        db.session.commit()
        written += count
    db.session.commit()
    return written, problems


def _print_outcome(
    plan: Plan,
    mapping: ColumnMapping,
    done: tuple[int, Problems] | None,
    *,
    as_json: bool,
) -> None:
    counts, is_dry = plan.count(), done is None
    written, problems = done or (counts[NEW], [])
    counts |= {NEW: written, THERE: counts[THERE] + counts[NEW] - written}
    shown = plan.outcomes if is_dry else plan.list_in(REFUSED) + plan.list_in(THERE)
    lines = [each.describe(mapping) for each in shown]
    if as_json:
        photos = [{"url": url, "reason": reason} for url, reason in problems]
        head = {"service": mapping.service, "dryRun": is_dry}
        print_json({**head, **counts, "lines": lines, "photos": photos})
        return
    if mapping.service:
        click.echo(f"This looks like a file from {mapping.service}.")
    for line in lines:
        reason = line["reason"] or f"{line['name']}: {line['text']}"
        click.echo(f"line {line['line']}: {LABELS[line['state']]}. {reason}")
    for url, reason in problems:
        click.echo(make_printable(f"The photo was not copied: {url} {reason}"))
    verb = "would be imported" if is_dry else "imported"
    click.echo(f"{counts[NEW]} {verb}, {counts[THERE]} already there, {counts[REFUSED]} refused.")
