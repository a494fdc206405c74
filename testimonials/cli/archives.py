"""`accounts export`, `projects export` and `projects import`: archives as files, and back."""

from pathlib import Path
from typing import IO

import click

from testimonials.auth.accounts import get_account
from testimonials.auth.events import ACCOUNT_EXPORTED
from testimonials.cli.output import (
    database_command,
    force_option,
    json_option,
    print_json,
    print_written,
    writing_file,
)
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db
from testimonials.projects.events import PROJECT_EXPORTED, PROJECT_IMPORTED
from testimonials.projects.projects import get_project, lock_account, make_slug
from testimonials.transfer.archives.reading import open_archive, storing_recordings
from testimonials.transfer.archives.restoring import Restored, restore_project
from testimonials.transfer.archives.writing import (
    reading_one_moment,
    write_account_archive,
    write_archive,
)
from testimonials.transfer.tables.export import write_table


@click.command("export")
@click.argument("account", metavar="ID_OR_EMAIL")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@force_option
@json_option
@database_command
def export_account(account: str, file: Path, force: bool, as_json: bool) -> None:
    """Export an account to FILE, a zip, without its secrets.

    The zip has the account's data, sessions, memberships and activity, and an archive of each
    project that `projects import` can import.
    """
    with writing_file(file, is_forced=force) as out, reading_one_moment():
        found = get_account(account)
        write_account_archive(found, out)
    begin_write()
    record(ACCOUNT_EXPORTED, found.id)
    db.session.commit()
    print_written(account, file, as_json=as_json)


@click.command("export")
@click.argument("project", metavar="ID_OR_SLUG")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--csv", "as_csv", is_flag=True, help="Export only the testimonials, as CSV.")
@click.option("--samples", is_flag=True, help="With --csv, include samples.")
@force_option
@json_option
@database_command
def export_project(
    project: str, file: Path, as_csv: bool, samples: bool, force: bool, as_json: bool
) -> None:
    """Export a project to FILE, a zip that `projects import` can import here or elsewhere.

    The zip has the settings, testimonials, history, consent and pictures.
    """
    with writing_file(file, is_forced=force) as out, reading_one_moment():
        found = get_project(project)
        if as_csv:
            write_table(found, out, has_samples=samples)
        else:
            write_archive(found, out)
    begin_write()
    form = "a table" if as_csv else "an archive"
    record(PROJECT_EXPORTED, found, form=form)
    db.session.commit()
    print_written(project, file, as_json=as_json)


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--account", required=True, metavar="ID_OR_EMAIL", help="The account that gets the project."
)
@click.option("--slug", help="A slug other than the archive’s.")
@click.option("--ignore-limit", is_flag=True, help="Import even at the account’s project limit.")
@click.option("--resume-requests", is_flag=True, help="Send the requests that were still waiting.")
@json_option
@database_command
def import_project(
    file: IO[bytes],
    account: str,
    slug: str | None,
    ignore_limit: bool,
    resume_requests: bool,
    as_json: bool,
) -> None:
    """Import the project of an archive into an account, completely or not at all.

    Ids are kept unless they are taken here.
    """
    if slug is not None and make_slug(slug) != slug:
        raise click.ClickException(f"Write the slug as {make_slug(slug) or 'letters and digits'}.")
    with open_archive(file) as archive, storing_recordings(archive) as recordings:
        begin_write()
        owner = lock_account(get_account(account).id)
        restored = restore_project(
            archive,
            owner,
            recordings,
            slug=slug,
            has_limit=not ignore_limit,
            resumes_requests=resume_requests,
        )
        project = restored.project
        record(PROJECT_IMPORTED, project, name=project.name)
        db.session.commit()
    _print_restored(restored, resumes=resume_requests, as_json=as_json)


def _print_restored(restored: Restored, *, resumes: bool, as_json: bool) -> None:
    project = restored.project
    if as_json:
        print_json(
            {
                "_id": project.id,
                "slug": project.slug,
                "testimonials": restored.testimonials,
                "images": restored.images,
                "renewedIds": restored.renewed,
                "lostSlugs": restored.lost_slugs,
                "waitingRequests": restored.waiting,
                "erased": restored.erased,
            }
        )
        return
    click.echo(
        f"Imported {project.slug} with {restored.testimonials} testimonial(s) and "
        f"{restored.images} picture(s); its id is {project.id}."
    )
    if restored.renewed:
        click.echo(f"{restored.renewed} id(s) were taken here and have been replaced.")
    if restored.erased:
        click.echo(
            f"{restored.erased} testimonial(s) and request(s) are left out: they were erased here."
        )
    if restored.lost_slugs:
        click.echo(
            f"Former addresses left out because others use them: {', '.join(restored.lost_slugs)}"
        )
    if restored.waiting and not resumes:
        click.echo(
            f"{restored.waiting} waiting request(s) will not be sent. Import with "
            "--resume-requests to send them from here."
        )
