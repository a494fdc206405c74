"""Commands about testimonials, imports, forms and proposals."""

from collections import defaultdict
from typing import IO, Any

import click

from testimonials.cli.output import PROJECT, YES, Group, Record, Rows, Said, confirm
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
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account, lock_project
from testimonials.projects.proposals import STATUSES as PROPOSALS_STATUSES
from testimonials.projects.proposals import Decider, decide_proposals, list_all
from testimonials.projects.proposals_api import ProposalSchema
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
    """Look at testimonials, and decide about them."""


@testimonials.command(
    "list",
    columns=("_id", "status", "source", "authorName", "rating", "createdAt", "text"),
    empty="There are no testimonials here.",
)
@OF_PROJECT
@click.option("--status", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
def list_testimonials_command(project: Project, status: str | None, limit: int) -> Said:
    """List a project's testimonials, newest first, whatever state they are in."""
    rows = list_all_of_project(project.id, status, limit)
    records = TestimonialSchema(many=True).dump(rows)
    return Said(records, [row | {"text": _shorten(row["text"])} for row in records])


@testimonials.command("decide", writes=True, columns=("id", "result", "status"))
@OF_PROJECT
@click.argument("decision", type=click.Choice(tuple(ACTIONS)))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    help="Why: set-aside needs it, and delete may have it.",
)
def decide_command(
    project: Project, decision: str, ids: tuple[str, ...], reason: str | None
) -> Rows:
    """Decide about testimonials in the owner's place; set-aside takes them out of the numbers."""
    sent = {"decision": decision, "ids": list(ids)} | ({"reason": reason} if reason else {})
    decided = decide_all(project, actor=ACTOR, **load(DecisionSchema(), sent))
    return list(decided["results"])


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


# `testimonials testimonials import`, `imports` and `undo-import`: files in, and back out.

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
def import_testimonials(
    project: Project, file: IO[bytes], fetch_avatars: bool, dry_run: bool, **how: Any
) -> Said:
    """Import testimonials from a CSV or JSON FILE into a project, each once.

    Columns are recognised by their headings. --map FIELD=COLUMN names another, and --map FIELD=
    leaves a field out. The exit code is 1 if any line was refused.
    """
    reading = _read(file, how)
    plan = plan_import(project.id, reading)
    if plan.unclear_date:
        raise click.ClickException(
            f"Dates such as {make_printable(plan.unclear_date)} are ambiguous. Add --dates dmy if "
            "the day comes first, or --dates mdy if the month does. Nothing was imported."
        )
    name = getattr(file, "name", "-")
    row = None if dry_run else _write(project.id, name, plan, fetches=fetch_avatars)
    return _tell_outcome(plan, reading, row)


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
@click.option("--also-changed", is_flag=True, help="Also remove what was changed since.")
def undo(project: Project, import_id: str, also_changed: bool) -> Said:
    """Move what an import added to the trash.

    What was edited, replied to or decided since stays, unless --also-changed is given.
    """
    with write(lambda: lock_project(project.id)) as found:
        row = find_import(found.id, import_id, for_update=True)
        done = undo_import(found, row, ACTOR, also_changed=also_changed)
        undone = UndoneImportSchema().dump(done)
    return Said(undone, f"Moved {undone['removedCount']} to the trash; {undone['keptCount']} stay.")


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
        # A service on the same database ends it if this process is killed.
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


def _tell_outcome(plan: Plan, reading: Reading, row: TableImport | None) -> Said:
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
    said = [f"This looks like a file from {mapping.service}."] if mapping.service else []
    columns = (f"{field} = {' + '.join(names)}" for field, names in mapping.columns.items())
    said.append(f"Columns: {', '.join(columns)}")
    if unused := mapping.list_unused(reading.table.headings):
        said.append(f"Not imported: {', '.join(unused)}")
    said += [_describe_line(line) for line in lines]
    said += [f"The photo was not copied: {url} {reason}" for url, reason in problems]
    said += [OFFERS[repair].format(count) for repair, count in plan.count_repairs().items()]
    verb = "would be imported" if row is None else "imported"
    said.append(f"{counts[NEW]} {verb}, {counts[THERE]} already there, {counts[REFUSED]} refused.")
    if row is not None and written:
        said.append(f"testimonials undo-import takes them back: {row.id}")
    text = "\n".join(map(make_printable, said))
    return Said(value, text, is_failure=bool(counts[REFUSED]))


def _describe_line(line: dict[str, Any]) -> str:
    reason = line["reason"] or f"{line['name']}: {line['text']}"
    about = [f"{line['rating']:g} stars"] if line.get("rating") else []
    about += [line["submittedAt"][:10]] if line.get("submittedAt") else []
    said = f" ({', '.join(about)})" if about else ""
    return f"line {line['line']}: {LABELS[line['state']]}. {reason}{said}"


_FORM = FormSchema()


@click.group(cls=Group)
def forms() -> None:
    """List, add and delete forms, each with an address of its own."""


@forms.command(
    "list",
    columns=("name", "title", "isOpen", "sent", "url"),
    empty="This project has no forms but its page.",
)
@OF_PROJECT
def list_forms_command(project: Project) -> Rows:
    """List a project's forms, and how many testimonials came by each."""
    counts = count_forms(project.id)
    return [
        _FORM.dump(services.describe_form(project, form)) | {"sent": counts.get(form.name, 0)}
        for form in services.list_forms(project)
    ]


@forms.command("add", writes=True)
@OF_PROJECT
@click.argument("title")
@click.option("--name", help="The name in its address, if not made of the title.")
@click.option("--headline", help="A headline other than the page’s.")
@click.option("--tag", help="The tag of what is sent by it.")
def add_command(project: Project, **given: str | None) -> Said:
    """Add a form to a project; its questions are added in the dashboard or by the API."""
    values = {field: text for field, text in given.items() if text is not None}
    form = services.create_form(project, load(FormCreateSchema(), values))
    record(FORM_ADDED, project, form=form.name)
    described = _FORM.dump(services.describe_form(project, form))
    return Said(described, {each: described[each] for each in ("name", "title", "url")})


@forms.command("delete")
@OF_PROJECT
@click.argument("name")
@YES
def delete_command(project: Project, name: str, yes: bool) -> Record:
    """Delete a form. What was sent by it stays, with its answers."""
    services.find_form(project, name)
    confirm(f"Delete the form {name} of {project.slug}?", yes=yes)
    with write(lambda: lock_project(project.id)) as found:
        services.delete_form(found, services.find_form(found, name))
        record(FORM_DELETED, found, form=name)
    return {"name": name, "deleted": True}


OPERATOR = Decider(None, "the operator")

PROJECT_OPTION = click.option("--project", required=True, type=PROJECT, help="Of which project.")
IDS = click.argument("ids", metavar="ID...", nargs=-1, required=True)


@click.group(cls=Group)
def proposals() -> None:
    """List and decide what agents proposed."""


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
def accept_command(ids: tuple[str, ...], project: Project) -> Said:
    """Accept proposals: what they would change is changed."""
    return _decide(project, ids, "accepted", "")


@proposals.command("decline")
@IDS
@PROJECT_OPTION
@click.option("--note", default="", help="Words to the agent.")
def decline_command(ids: tuple[str, ...], project: Project, note: str) -> Said:
    """Decline proposals: nothing changes."""
    return _decide(project, ids, "declined", note[:500])


def _decide(project: Project, ids: tuple[str, ...], status: str, note: str) -> Said:
    account_id, project_id = project.account_id, project.id
    with write(lambda: lock_account(account_id)):
        decided = decide_proposals(lock_project(project_id), ids, status, OPERATOR, note)
        done = [row.id for row in decided.done]
    return Said(
        {status: done, "problems": decided.problems},
        f"{status.capitalize()}: {len(done)}.",
        problems=[f"{each}: {text}" for each, text in decided.problems.items()],
        is_failure=bool(decided.problems),
    )
