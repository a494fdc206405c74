"""Exports: a project as an archive or a table, an account with everything, and its activity."""

import io
import json
from collections.abc import Callable
from functools import partial
from typing import IO

from flask import Blueprint, Response, request, send_file
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event, record_project_event
from testimonials.activity.sentences import write_sentence
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.web.errors import ServiceError
from testimonials.dashboard.account.activity_view import Search, read_search
from testimonials.dashboard.guards import require_proof, require_role, require_session
from testimonials.extensions import begin_write, db
from testimonials.privacy.person import describe_person
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.models import Project
from testimonials.transfer.archives.accounts import write_account_archive
from testimonials.transfer.archives.writing import reading_one_moment, spool, write_archive
from testimonials.transfer.tables.activity_table import find_names, write_events
from testimonials.transfer.tables.table_export import write_table

exporting: Blueprint = Blueprint("exporting", __name__)


# What fits into memory; an account's archive has all of them.
MOST_EVENTS = 50_000


# These change nothing but are POST, so that other websites can't make a browser start one.
@exporting.post("/dashboard/projects/<project_id>/export/archive")
@require_session
def export_archive(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    return _export(owner, project_id, write_archive, "an archive", "zip", "application/zip")


@exporting.post("/dashboard/projects/<project_id>/export/csv")
@require_session
def export_csv(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    return _export(owner, project_id, write_table, "a table", "csv", "text/csv")


@exporting.post("/dashboard/account/export")
@require_session
@require_proof("download all of your data", "account.show_account", is_download=True)
def export_everything(owner: SignedIn) -> ResponseReturnValue:
    with reading_one_moment():
        file = spool(partial(write_account_archive, get_account(owner.account_id)))
    begin_write()
    record_event(EventType.ACCOUNT_EXPORTED, owner.account_id)
    db.session.commit()
    return _send(file, "testimonials-account", "zip", "application/zip")


@exporting.post("/dashboard/account/person")
@require_session
@require_proof("download all of your data", "account.show_account", is_download=True)
def export_person(owner: SignedIn) -> ResponseReturnValue:
    """Send what is stored about the account's address, also in projects of others."""
    with reading_one_moment():
        text = json.dumps(describe_person(owner.email), ensure_ascii=False, indent=1)
    begin_write()
    record_event(EventType.ACCOUNT_EXPORTED, owner.account_id)
    db.session.commit()
    return _send(io.BytesIO(text.encode()), "testimonials-person", "json", "application/json")


@exporting.get("/dashboard/account/activity.csv")
@require_session
def export_activity(owner: SignedIn) -> ResponseReturnValue:
    """Send the newest events that match the activity page's search."""
    return _send_activity(read_search(owner.account_id, request.args))


@exporting.get("/dashboard/projects/<project_id>/activity.csv")
@require_role(Role.ADMIN)
def export_project_activity(access: Access) -> ResponseReturnValue:
    """Send the newest events of a project that match the search of its activity page."""
    project = access.project
    return _send_activity(read_search(project.account_id, request.args, project.id))


def _send_activity(search: Search) -> Response:
    people, projects = find_names(search.account_id, search.project_id)
    out, newest = io.BytesIO(), search.find(MOST_EVENTS)
    found = (each for each in newest if search.matches(write_sentence(each, people, projects)))
    write_events(found, people, projects, out)
    return _send(out, "activity", "csv", "text/csv")


def _export(
    owner: SignedIn,
    project_id: str,
    write: Callable[[Project, IO[bytes]], None],
    form: str,
    ending: str,
    kind: str,
) -> Response:
    with reading_one_moment():
        read = find_access(owner, project_id, Role.ADMIN).project
        slug, file = read.slug, spool(partial(write, read))
    # Only now: making the file takes long, and a writing transaction would keep others waiting.
    begin_write()
    try:
        # Who was removed meanwhile gets nothing.
        project = find_access(owner, project_id, Role.ADMIN).project
    except ServiceError:
        file.close()
        raise
    record_project_event(EventType.PROJECT_EXPORTED, project, form=form)
    db.session.commit()
    return _send(file, slug, ending, kind)


def _send(file: IO[bytes], stem: str, ending: str, kind: str) -> Response:
    day = clock.now().date().isoformat()
    length = file.seek(0, io.SEEK_END)
    file.seek(0)
    response = send_file(
        file, kind, as_attachment=True, download_name=f"{stem}-{day}.{ending}", max_age=0
    )
    response.content_length = length
    return response
