"""`testimonials recordings`: what recordings take, and files that belong to none."""

import click
from sqlalchemy import select

from testimonials.core.clock import iso
from testimonials.core.commands import database_command, json_option, print_json, print_rows
from testimonials.extensions import db
from testimonials.media.quota import MEGABYTE, find_whole_share
from testimonials.media.removal import find_missing, find_orphans
from testimonials.media.removal import remove_orphans as remove
from testimonials.projects.models import Project
from testimonials.testimonials.models import Recording


@click.group()
def recordings() -> None:
    """Look at video and voice recordings, and at the room that they take."""


@recordings.command("list")
@click.option("--limit", default=50, type=click.IntRange(1, 10_000), show_default=True)
@json_option
@database_command
def list_command(limit: int, as_json: bool) -> None:
    """List recordings, the largest first."""
    query = select(Recording, Project.slug).join(Project, Recording.project_id == Project.id)
    found = db.session.execute(query.order_by(Recording.size.desc(), Recording.id).limit(limit))
    records = [
        {
            "_id": row.id,
            "project": slug,
            "testimonialId": row.testimonial_id,
            "kind": row.kind,
            "state": row.state,
            "bytes": row.size,
            "seconds": row.seconds,
            "mediaType": row.media_type,
            "codecs": row.codecs,
            "createdAt": iso(row.created_at),
        }
        for row, slug in found
    ]
    if as_json:
        print_json(records)
        return
    names = ("_id", "project", "kind", "state", "bytes", "seconds", "mediaType", "createdAt")
    short = [{name: each[name] for name in names} for each in records]
    print_rows(short, as_json=False, empty="There are no recordings.")
    share = find_whole_share()
    click.echo(f"All take {share.bytes / MEGABYTE:.1f} of {share.limit // MEGABYTE} MB.")


@recordings.command("orphans")
@click.option("--remove", "is_removing", is_flag=True, help="Remove the files that have no row.")
@json_option
@database_command
def orphans(is_removing: bool, as_json: bool) -> None:
    """List files that belong to no recording, and recordings whose file is missing.

    Files of the last hour are left alone. `serve` removes such files by itself.
    """
    files, missing = remove() if is_removing else find_orphans(), find_missing()
    if as_json:
        print_json({"files": files, "missing": missing, "isRemoved": is_removing})
        return
    done = "Removed" if is_removing else "Found"
    click.echo(f"{done} {len(files)} file(s) without a recording, {sum(files.values())} bytes.")
    for recording_id in missing:
        click.echo(f"The file of the recording {recording_id} is missing.")
