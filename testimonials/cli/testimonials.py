"""Commands about testimonials, imports, forms and proposals."""

from collections import defaultdict
from functools import partial
from typing import IO, Any

import click

from testimonials.cli.output import (
    database_command,
    json_option,
    print_json,
    print_record,
    print_rows,
)
from testimonials.collection import forms as services
from testimonials.collection.events import FORM_ADDED, FORM_DELETED
from testimonials.collection.schemas import FormCreateSchema, FormSchema
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db, let_others_write
from testimonials.core.http.resource import load
from testimonials.core.text import make_printable
from testimonials.projects.models import Project
from testimonials.projects.projects import get_project, lock_account, lock_project
from testimonials.projects.proposal_schemas import ProposalSchema
from testimonials.projects.proposals import STATUSES as PROPOSALS_STATUSES
from testimonials.projects.proposals import Decider, decide_proposals, list_all
from testimonials.testimonials.fields import count_sent
from testimonials.testimonials.schemas import TestimonialSchema
from testimonials.testimonials.testimonials import list_all_of_project
from testimonials.transfer.api import ImportSchema, UndoneImportSchema
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.columns import require_mapping
from testimonials.transfer.tables.files import ENCODINGS
from testimonials.transfer.tables.jobs import (
    LEASE,
    RUNNING,
    USUAL,
    Interrupted,
    Reading,
    find_import,
    read_file,
    stop,
    undo_import,
    work_through,
)
from testimonials.transfer.tables.jobs import list_imports as list_newest
from testimonials.transfer.tables.plan import NEW, REFUSED, THERE, Plan, plan_import
from testimonials.transfer.tables.rows import LEAVE_OUT, SHORTEN, STATUSES
from testimonials.transfer.tables.values import ORDERS

# `testimonials testimonials`: what an operator does with testimonials.

STATES = ("pending", "approved", "rejected", "spam", "withdrawn", "demo")


@click.group()
def testimonials() -> None:
    """Look at testimonials."""


@testimonials.command("list")
@click.argument("project", metavar="PROJECT_ID_OR_SLUG")
@click.option("--status", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@json_option
@database_command
def list_testimonials_command(project: str, status: str | None, limit: int, as_json: bool) -> None:
    """List a project's testimonials, newest first, whatever state they are in."""
    rows = list_all_of_project(get_project(project).id, status, limit)
    records = TestimonialSchema(many=True).dump(rows)
    if as_json:
        print_json(records)
        return
    names = ("_id", "status", "source", "authorName", "rating", "createdAt", "text")
    short = [{name: each.get(name) for name in names} for each in records]
    for row in short:
        row["text"] = row["text"] if len(row["text"]) <= 60 else row["text"][:59] + "…"
    print_rows(short, as_json=False, empty="There are no testimonials here.")


# `testimonials testimonials import`, `imports` and `undo-import`: files in, and back out.

ACTOR = "The operator"
MAX_BYTES = 256 * 1024 * 1024
LABELS = {NEW: "new", THERE: "already there", REFUSED: "refused"}
OFFERS = {
    SHORTEN: "{} refused line(s) have texts that are too long; --shorten cuts them.",
    LEAVE_OUT: "{} refused line(s) have something optional that can’t be used; --leave-out "
    "imports them without it.",
}


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
    "--shorten", is_flag=True, help="Cut what is too long at a sentence or word; keep the original."
)
@click.option(
    "--leave-out", is_flag=True, help="Leave out an email, photo or the like that can’t be used."
)
@click.option(
    "--fetch-avatars", is_flag=True, help="Store copies of the photos that the file links to."
)
@click.option(
    "--dry-run", is_flag=True, help="Print what would happen to each line; write nothing."
)
@json_option
@database_command
def import_testimonials(
    project: str, file: IO[bytes], fetch_avatars: bool, dry_run: bool, as_json: bool, **how: Any
) -> None:
    """Import testimonials from a CSV or JSON FILE into a project, each once.

    Columns are recognised by their headings. --map FIELD=COLUMN names another, and --map FIELD=
    leaves a field out. The exit code is 1 if any line was refused.
    """
    reading = _read(file, how)
    found = get_project(project)
    plan = plan_import(found.id, reading.table, reading.options)
    if plan.unclear_date:
        raise click.ClickException(
            f"Dates such as {make_printable(plan.unclear_date)} are ambiguous. Add --dates dmy if "
            "the day comes first, or --dates mdy if the month does. Nothing was imported."
        )
    row = (
        None
        if dry_run
        else _write(found.id, getattr(file, "name", "-"), plan, fetches=fetch_avatars)
    )
    _print_outcome(plan, reading, row, as_json=as_json)
    if plan.count()[REFUSED]:
        raise click.exceptions.Exit(1)


@click.command("imports")
@click.argument("project", metavar="PROJECT_ID_OR_SLUG")
@json_option
@database_command
def list_imports(project: str, as_json: bool) -> None:
    """List the newest imports into a project."""
    rows = ImportSchema(many=True).dump(list_newest(get_project(project).id))
    names = ("_id", "fileName", "state", "addedCount", "createdAt")
    short = rows if as_json else [{name: row[name] for name in names} for row in rows]
    print_rows(short, as_json=as_json, empty="Nothing was imported here.")


@click.command("undo-import")
@click.argument("project", metavar="PROJECT_ID_OR_SLUG")
@click.argument("import_id", metavar="IMPORT")
@click.option("--also-changed", is_flag=True, help="Also remove what was changed since.")
@json_option
@database_command
def undo(project: str, import_id: str, also_changed: bool, as_json: bool) -> None:
    """Move what an import added to the trash.

    What was edited, replied to or decided since stays, unless --also-changed is given.
    """
    begin_write()
    found = lock_project(get_project(project).id)
    row = find_import(found.id, import_id, for_update=True)
    done = undo_import(found, row, ACTOR, partial(_go_on, found.id), also_changed=also_changed)
    undone = UndoneImportSchema().dump(done)
    db.session.commit()
    if as_json:
        print_json(undone)
        return
    click.echo(f"Moved {undone['removedCount']} to the trash; {undone['keptCount']} stay.")


def _go_on(project_id: str) -> Project:
    db.session.commit()
    let_others_write()
    begin_write()
    return lock_project(project_id)


def _read(file: IO[bytes], how: dict[str, Any]) -> Reading:
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise click.ClickException("The file is larger than 256 MB. Split it.")
    repairs = [name for name in (SHORTEN, LEAVE_OUT) if how[name.replace("-", "_")]]
    options = {"columns": _read_choices(how["choices"]), "order": how["dates"], "repairs": repairs}
    reading = read_file(content, options | {"encoding": how["encoding"], "status": how["status"]})
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
    """Import what was planned, as an import that can be undone; return it."""
    begin_write()
    counts = plan.count()
    row = TableImport(
        project_id=lock_project(project_id).id,
        actor=ACTOR,
        file_name=name[:255],
        state=RUNNING,
        options=USUAL | {"photos": fetches},
        total=counts[NEW],
        outcome={THERE: counts[THERE], REFUSED: counts[REFUSED]},
    )
    db.session.add(row)
    # A service on the same database leaves it alone.
    row.leased_until = clock.now() + LEASE
    db.session.commit()
    try:
        work_through(row.id, plan.new)
    except Interrupted:
        raise click.ClickException("The import was undone meanwhile.") from None
    except BaseException:
        db.session.rollback()
        stop(row.id, "The command was interrupted. Run it again: nothing is added twice.")
        raise
    return db.session.get_one(TableImport, row.id, populate_existing=True)


def _print_outcome(plan: Plan, reading: Reading, row: TableImport | None, *, as_json: bool) -> None:
    counts, mapping = plan.count(), reading.mapping
    written = counts[NEW] if row is None else row.added
    problems = [] if row is None else row.outcome.get("photos", [])
    counts |= {NEW: written, THERE: counts[THERE] + counts[NEW] - written}
    shown = plan.outcomes if row is None else plan.list_in(REFUSED) + plan.list_in(THERE)
    lines = [each.describe(mapping) for each in shown]
    if as_json:
        head = {
            "service": mapping.service,
            "columns": {field: list(names) for field, names in mapping.columns.items()},
            "unused": mapping.list_unused(reading.table.headings),
            "dates": plan.order,
            "dryRun": row is None,
            "import": row and row.id,
            "repairs": plan.count_repairs(),
        }
        photos = [{"url": url, "reason": reason} for url, reason in problems]
        print_json({**head, **counts, "lines": lines, "photos": photos})
        return
    if mapping.service:
        click.echo(f"This looks like a file from {mapping.service}.")
    columns = (f"{field} = {' + '.join(names)}" for field, names in mapping.columns.items())
    click.echo(make_printable(f"Columns: {', '.join(columns)}"))
    if unused := mapping.list_unused(reading.table.headings):
        click.echo(make_printable(f"Not imported: {', '.join(unused)}"))
    for line in lines:
        reason = line["reason"] or f"{line['name']}: {line['text']}"
        about = [f"{line['rating']:g} stars"] if line.get("rating") else []
        about += [line["submittedAt"][:10]] if line.get("submittedAt") else []
        said = f" ({', '.join(about)})" if about else ""
        click.echo(f"line {line['line']}: {LABELS[line['state']]}. {reason}{said}")
    for url, reason in problems:
        click.echo(make_printable(f"The photo was not copied: {url} {reason}"))
    for repair, count in plan.count_repairs().items():
        click.echo(OFFERS[repair].format(count))
    verb = "would be imported" if row is None else "imported"
    click.echo(f"{counts[NEW]} {verb}, {counts[THERE]} already there, {counts[REFUSED]} refused.")
    if row is not None and written:
        click.echo(f"testimonials undo-import takes them back: {row.id}")


# `testimonials forms`: a project's further forms.

PROJECT = click.argument("project", metavar="PROJECT_ID_OR_SLUG")
_FORM = FormSchema()


@click.group()
def forms() -> None:
    """List, add and delete forms, each with an address of its own."""


@forms.command("list")
@PROJECT
@json_option
@database_command
def list_forms_command(project: str, as_json: bool) -> None:
    """List a project's forms, and how many testimonials came by each."""
    found = get_project(project)
    counts = count_sent(found)
    rows = [
        _FORM.dump(services.describe_form(found, form)) | {"sent": counts.get(form.name, 0)}
        for form in services.list_forms(found)
    ]
    if not as_json:
        names = ("name", "title", "isOpen", "sent", "url")
        rows = [{name: row[name] for name in names} for row in rows]
    print_rows(rows, as_json=as_json, empty="This project has no forms but its page.")


@forms.command("add")
@PROJECT
@click.argument("title")
@click.option("--name", help="The name in its address, if not made of the title.")
@click.option("--headline", help="A headline other than the page’s.")
@click.option("--tag", help="The tag of what is sent by it.")
@json_option
@database_command
def add_command(
    project: str,
    title: str,
    name: str | None,
    headline: str | None,
    tag: str | None,
    as_json: bool,
) -> None:
    """Add a form to a project; its questions are added in the dashboard or by the API."""
    given = {"title": title, "name": name, "headline": headline, "tag": tag}
    values = {field: text for field, text in given.items() if text is not None}
    loaded = load(FormCreateSchema(), values)
    begin_write()
    found = lock_project(get_project(project).id)
    form = services.create_form(found, loaded)
    record(FORM_ADDED, found, form=form.name)
    db.session.commit()
    described = _FORM.dump(services.describe_form(found, form))
    if not as_json:
        described = {each: described[each] for each in ("name", "title", "url")}
    print_record(described, as_json=as_json)


@forms.command("delete")
@PROJECT
@click.argument("name")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@json_option
@database_command
def delete_command(project: str, name: str, yes: bool, as_json: bool) -> None:
    """Delete a form. What was sent by it stays, with its answers."""
    found = get_project(project)
    services.find_form(found, name)
    if not yes:
        click.confirm(f"Delete the form {name} of {found.slug}?", abort=True, err=as_json)
    begin_write()
    found = lock_project(found.id)
    services.delete_form(found, services.find_form(found, name))
    record(FORM_DELETED, found, form=name)
    db.session.commit()
    print_record({"name": name, "deleted": True}, as_json=as_json)


# `testimonials proposals`: what waits in a project, and deciding in the owner's place.

OPERATOR = Decider(None, "the operator")

PROJECT_OPTION = click.option(
    "--project", required=True, metavar="ID_OR_SLUG", help="Of which project."
)
IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.group()
def proposals() -> None:
    """List and decide what agents proposed."""


@proposals.command("list")
@PROJECT_OPTION
@click.option("--status", type=click.Choice(PROPOSALS_STATUSES), help="Only those in this state.")
@json_option
@database_command
def list_proposals_command(project: str, status: str | None, as_json: bool) -> None:
    """List a project's proposals, newest first."""
    records = ProposalSchema(many=True).dump(list_all(get_project(project), status))
    names = ("_id", "status", "kind", "createdAt", "reason")
    rows = records if as_json else [{name: each[name] for name in names} for each in records]
    print_rows(rows, as_json=as_json, empty="There are no proposals here.")


@proposals.command("accept")
@IDS
@PROJECT_OPTION
@json_option
@database_command
def accept_command(ids: tuple[str, ...], project: str, as_json: bool) -> None:
    """Accept proposals: what they would change is changed."""
    _decide(get_project(project), ids, "accepted", "", as_json)


@proposals.command("decline")
@IDS
@PROJECT_OPTION
@click.option("--note", default="", help="Words to the agent.")
@json_option
@database_command
def decline_command(ids: tuple[str, ...], project: str, note: str, as_json: bool) -> None:
    """Decline proposals: nothing changes."""
    _decide(get_project(project), ids, "declined", note[:500], as_json)


def _decide(project: Project, ids: tuple[str, ...], status: str, note: str, as_json: bool) -> None:
    account_id, project_id = project.account_id, project.id
    begin_write()
    lock_account(account_id)
    decided = decide_proposals(lock_project(project_id), ids, status, OPERATOR, note)
    done = [row.id for row in decided.done]
    db.session.commit()
    answer: dict[str, Any] = {status: done, "problems": decided.problems}
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{status.capitalize()}: {len(done)}.")
        for each, text in decided.problems.items():
            click.echo(f"{each}: {text}", err=True)
    if decided.problems:
        click.get_current_context().exit(1)
