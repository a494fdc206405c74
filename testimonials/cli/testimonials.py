"""Commands about testimonials, imports, forms and proposals."""

from collections import defaultdict
from typing import IO, Any

import click

from testimonials.cli.output import PROJECT, YES, Group, Output, Record, Rows, confirm
from testimonials.collection import forms as services
from testimonials.collection.events import FORM_ADDED, FORM_DELETED
from testimonials.collection.schemas import FormCreateSchema, FormSchema
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.resource import load
from testimonials.core.jobs import LEASE, enqueue
from testimonials.core.text import make_printable
from testimonials.projects.api import ProposalSchema
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account, lock_project
from testimonials.projects.proposals import STATUSES as PROPOSALS_STATUSES
from testimonials.projects.proposals import Decider, decide_proposals, list_all
from testimonials.testimonials.counts import count_forms
from testimonials.testimonials.models import REASONS
from testimonials.testimonials.moderation import ACTIONS
from testimonials.testimonials.schemas import DecisionSchema, TestimonialSchema
from testimonials.testimonials.submissions import decide_all
from testimonials.testimonials.testimonials import list_all_of_project
from testimonials.transfer.api import ImportSchema, UndoneImportSchema
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.columns import require_mapping
from testimonials.transfer.tables.files import ENCODINGS
from testimonials.transfer.tables.jobs import (
    DEFAULT_OPTIONS,
    IMPORT,
    RUNNING,
    ImportEnded,
    find_import,
    read_file,
    stop,
    undo_import,
    work_through,
)
from testimonials.transfer.tables.jobs import list_imports as list_newest
from testimonials.transfer.tables.plan import NEW, REFUSED, THERE, Plan, plan_import
from testimonials.transfer.tables.rows import LEAVE_OUT, SHORTEN, STATUSES, Reading
from testimonials.transfer.tables.values import ORDERS

OF_PROJECT = click.argument("project", type=PROJECT, metavar="PROJECT_ID_OR_SLUG")
STATES = ("pending", "approved", "rejected", "spam", "withdrawn", "demo")


@click.group(cls=Group)
def testimonials() -> None:
    """List, moderate and import testimonials."""


@testimonials.command(
    "list",
    columns=("_id", "status", "source", "authorName", "rating", "createdAt", "text"),
    empty="There are no testimonials here.",
)
@OF_PROJECT
@click.option("--status", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
def list_testimonials_command(project: Project, status: str | None, limit: int) -> Output:
    """List a project's testimonials in all states, newest first."""
    rows = list_all_of_project(project.id, status, limit)
    records = TestimonialSchema(many=True).dump(rows)
    return Output(records, [row | {"text": make_printable(row["text"], 60)} for row in records])


@testimonials.command("decide", writes=True, columns=("id", "result", "status"))
@OF_PROJECT
@click.argument("decision", type=click.Choice(tuple(ACTIONS)))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    help="Required for set-aside, optional for delete.",
)
def decide_command(
    project: Project, decision: str, ids: tuple[str, ...], reason: str | None
) -> Rows:
    """Moderate testimonials on behalf of the owner; set-aside takes them out of the numbers."""
    payload = {"decision": decision, "ids": list(ids)} | ({"reason": reason} if reason else {})
    decided = decide_all(project, actor=ACTOR, **load(DecisionSchema(), payload))
    return list(decided["results"])


ACTOR = "The operator"
MAX_BYTES = 256 * 1024 * 1024
LABELS = {NEW: "new", THERE: "already there", REFUSED: "refused"}
OFFERS = {
    SHORTEN: "{} refused line(s) have texts that are too long; --shorten cuts them.",
    LEAVE_OUT: "{} refused line(s) have something optional that can’t be used; --leave-out "
    "imports them without it.",
}


@testimonials.command("import")
@OF_PROJECT
@click.argument("file", type=click.File("rb"))
@click.option(
    "--map", "choices", multiple=True, metavar="FIELD=COLUMN", help="The column of a field."
)
@click.option(
    "--dates", type=click.Choice(ORDERS), help="Whether 03/04 has the day or the month first."
)
@click.option("--encoding", type=click.Choice(tuple(ENCODINGS)), default="utf-8", show_default=True)
@click.option("--status", type=click.Choice(STATUSES), default="approved", show_default=True)
@click.option(
    "--shorten", is_flag=True, help="Cut long texts at a sentence or word, and keep the original."
)
@click.option("--leave-out", is_flag=True, help="Leave out optional values that can’t be used.")
@click.option(
    "--fetch-avatars", is_flag=True, help="Store copies of the photos that the file links to."
)
@click.option("--dry-run", is_flag=True, help="Print the result for each line; write nothing.")
def import_testimonials(
    project: Project, file: IO[bytes], fetch_avatars: bool, dry_run: bool, **options: Any
) -> Output:
    """Import testimonials from a CSV or JSON FILE into a project, each only once.

    Columns are recognized by their headings. --map FIELD=COLUMN names another, and --map FIELD=
    leaves a field out. The exit code is 1 if any line was refused.
    """
    reading = _read(file, options)
    plan = plan_import(project.id, reading)
    if plan.unclear_date:
        raise click.ClickException(
            f"Dates such as {make_printable(plan.unclear_date)} are ambiguous. Add --dates dmy if "
            "the day comes first, or --dates mdy if the month does. Nothing was imported."
        )
    name = getattr(file, "name", "-")
    row = None if dry_run else _write(project.id, name, plan, fetches=fetch_avatars)
    return _report(plan, reading, row)


@testimonials.command(
    "imports",
    columns=("_id", "fileName", "state", "addedCount", "createdAt"),
    empty="Nothing was imported here.",
)
@OF_PROJECT
def list_imports(project: Project) -> Rows:
    """List the newest imports into a project."""
    return list(ImportSchema(many=True).dump(list_newest(project.id)))


@testimonials.command("undo-import")
@OF_PROJECT
@click.argument("import_id", metavar="IMPORT")
@click.option("--also-changed", is_flag=True, help="Include those that were changed since.")
def undo(project: Project, import_id: str, also_changed: bool) -> Output:
    """Move the testimonials of an import to the trash.

    Those that were edited, replied to or moderated since stay, unless --also-changed is given.
    """
    with write(lambda: lock_project(project.id)) as locked:
        row = find_import(locked.id, import_id, for_update=True)
        outcome = undo_import(locked, row, ACTOR, also_changed=also_changed)
        undone = UndoneImportSchema().dump(outcome)
    return Output(
        undone, f"Moved {undone['removedCount']} to the trash; {undone['keptCount']} stay."
    )


def _read(file: IO[bytes], options: dict[str, Any]) -> Reading:
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise click.ClickException("The file is larger than 256 MB. Split it.")
    repairs = [name for name in (SHORTEN, LEAVE_OUT) if options[name.replace("-", "_")]]
    stored = {"columns": _read_choices(options["choices"]), "order": options["dates"]}
    stored |= {"repairs": repairs, "encoding": options["encoding"], "status": options["status"]}
    reading = read_file(content, stored)
    require_mapping(reading.mapping, reading.table.headings)
    return reading


def _read_choices(choices: tuple[str, ...]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = defaultdict(list)
    for each in choices:
        field, sign, column = each.partition("=")
        if not sign:
            raise click.ClickException(f"Write --map FIELD=COLUMN instead of {each}.")
        columns[field.strip()] += [column.strip()] if column.strip() else []
    return columns


def _write(project_id: str, name: str, plan: Plan, *, fetches: bool) -> TableImport:
    """Carry out a plan as an import that can be undone; return the import."""
    counts = plan.count()
    with write(lambda: lock_project(project_id)) as project:
        row = TableImport(
            id=new_identifier(),
            project_id=project.id,
            actor=ACTOR,
            file_name=name[:255],
            state=RUNNING,
            options=DEFAULT_OPTIONS | {"photos": fetches},
            total=counts[NEW],
            outcome={THERE: counts[THERE], REFUSED: counts[REFUSED]},
        )
        db.session.add(row)
        # If this process is killed, a service on the same database ends the import.
        enqueue(IMPORT, id=row.id, run_at=clock.now() + LEASE)
    try:
        work_through(row.id, plan.new)
    except ImportEnded:
        raise click.ClickException("The import was undone meanwhile.") from None
    except BaseException:
        db.session.rollback()
        stop(row.id, "The command was interrupted. Run it again: nothing is added twice.")
        raise
    return db.session.get_one(TableImport, row.id, populate_existing=True)


def _report(plan: Plan, reading: Reading, row: TableImport | None) -> Output:
    counts, mapping = plan.count(), reading.mapping
    written = counts[NEW] if row is None else row.added
    problems = [] if row is None else row.outcome.get("photos", [])
    counts |= {NEW: written, THERE: counts[THERE] + counts[NEW] - written}
    shown = plan.outcomes if row is None else plan.list_in(REFUSED) + plan.list_in(THERE)
    lines = [each.describe(mapping) for each in shown]
    value = {
        "service": mapping.service,
        "columns": {field: list(names) for field, names in mapping.columns.items()},
        "unused": mapping.list_unused(reading.table.headings),
        "dates": plan.order,
        "dryRun": row is None,
        "import": row and row.id,
        "repairs": plan.count_repairs(),
        **counts,
        "lines": lines,
        "photos": [{"url": url, "reason": reason} for url, reason in problems],
    }
    text = [f"This looks like a file from {mapping.service}."] if mapping.service else []
    columns = (f"{field} = {' + '.join(names)}" for field, names in mapping.columns.items())
    text.append(f"Columns: {', '.join(columns)}")
    if unused := mapping.list_unused(reading.table.headings):
        text.append(f"Not imported: {', '.join(unused)}")
    text += [_describe_line(line) for line in lines]
    text += [f"The photo was not copied: {url} {reason}" for url, reason in problems]
    text += [OFFERS[repair].format(count) for repair, count in plan.count_repairs().items()]
    verb = "would be imported" if row is None else "imported"
    text.append(f"{counts[NEW]} {verb}, {counts[THERE]} already there, {counts[REFUSED]} refused.")
    if row is not None and written:
        undo = f"testimonials testimonials undo-import {row.project_id} {row.id}"
        text.append(f"To take them back: {undo}")
    return Output(value, "\n".join(map(make_printable, text)), is_failure=bool(counts[REFUSED]))


def _describe_line(line: dict[str, Any]) -> str:
    reason = line["reason"] or f"{line['name']}: {line['text']}"
    details = [f"{line['rating']:g} stars"] if line.get("rating") else []
    details += [line["submittedAt"][:10]] if line.get("submittedAt") else []
    suffix = f" ({', '.join(details)})" if details else ""
    return f"line {line['line']}: {LABELS[line['state']]}. {reason}{suffix}"


_FORM = FormSchema()


@click.group(cls=Group)
def forms() -> None:
    """List, add and delete forms."""


@forms.command(
    "list",
    columns=("name", "title", "isOpen", "sent", "url"),
    empty="This project has no forms besides its page.",
)
@OF_PROJECT
def list_forms_command(project: Project) -> Rows:
    """List a project's forms, with the number of testimonials from each."""
    counts = count_forms(project.id)
    return [
        _FORM.dump(services.describe_form(project, form)) | {"sent": counts.get(form.name, 0)}
        for form in services.list_forms(project)
    ]


@forms.command("add", writes=True)
@OF_PROJECT
@click.argument("title")
@click.option("--name", help="The name in its URL; made from the title by default.")
@click.option("--headline", help="A headline other than that of the page.")
@click.option("--tag", help="A tag for the testimonials from it.")
def add_command(project: Project, **options: str | None) -> Output:
    """Add a form to a project; add questions in the dashboard or through the API."""
    values = {field: text for field, text in options.items() if text is not None}
    form = services.create_form(project, load(FormCreateSchema(), values))
    record(FORM_ADDED, project, form=form.name)
    described = _FORM.dump(services.describe_form(project, form))
    return Output(described, {each: described[each] for each in ("name", "title", "url")})


@forms.command("delete")
@OF_PROJECT
@click.argument("name")
@YES
def delete_command(project: Project, name: str, yes: bool) -> Record:
    """Delete a form. The testimonials from it stay, with their answers."""
    services.find_form(project, name)
    confirm(f"Delete the form {name} of {project.slug}?", yes=yes)
    with write(lambda: lock_project(project.id)) as locked:
        services.delete_form(locked, services.find_form(locked, name))
        record(FORM_DELETED, locked, form=name)
    return {"name": name, "deleted": True}


OPERATOR = Decider(None, "the operator")

PROJECT_OPTION = click.option("--project", required=True, type=PROJECT, help="Their project.")
IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.group(cls=Group)
def proposals() -> None:
    """List, accept and decline agents' proposals."""


@proposals.command(
    "list",
    columns=("_id", "status", "kind", "createdAt", "reason"),
    empty="There are no proposals here.",
)
@PROJECT_OPTION
@click.option("--status", type=click.Choice(PROPOSALS_STATUSES), help="Only those in this state.")
def list_proposals_command(project: Project, status: str | None) -> Rows:
    """List a project's proposals, newest first."""
    return list(ProposalSchema(many=True).dump(list_all(project, status)))


@proposals.command("accept")
@IDS
@PROJECT_OPTION
def accept_command(ids: tuple[str, ...], project: Project) -> Output:
    """Accept proposals, and make their changes."""
    return _decide(project, ids, "accepted", "")


@proposals.command("decline")
@IDS
@PROJECT_OPTION
@click.option("--note", default="", help="A message to the agent.")
def decline_command(ids: tuple[str, ...], project: Project, note: str) -> Output:
    """Decline proposals."""
    return _decide(project, ids, "declined", note[:500])


def _decide(project: Project, ids: tuple[str, ...], status: str, note: str) -> Output:
    account_id, project_id = project.account_id, project.id
    with write(lambda: lock_account(account_id)):
        decided = decide_proposals(lock_project(project_id), ids, status, OPERATOR, note)
        done = [row.id for row in decided.done]
    return Output(
        {status: done, "problems": decided.problems},
        f"{status.capitalize()}: {len(done)}.",
        problems=[f"{each}: {text}" for each, text in decided.problems.items()],
        is_failure=bool(decided.problems),
    )
