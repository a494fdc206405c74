"""Exports, and importing a project from an archive."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO

from flask import Response, redirect, request, send_file, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.auth.accounts import get_account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.transactions import write
from testimonials.core.event_lists import write_sentence
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import account, settings
from testimonials.core.http.errors import Errors, ServiceError, to_form_errors
from testimonials.core.http.forms import FormSchema, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import collection_page_url
from testimonials.dashboard.activity import Search, read_search
from testimonials.dashboard.formatting import describe_plan
from testimonials.dashboard.framework import (
    AccountPage,
    ProjectPage,
    Values,
    require_role,
    require_session,
)
from testimonials.dashboard.imports import MEGABYTE
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.events import PROJECT_EXPORTED, PROJECT_IMPORTED
from testimonials.projects.models import Project
from testimonials.projects.projects import (
    SlugReserved,
    SlugTaken,
    choose_slug,
    lock_account,
    make_slug,
)
from testimonials.transfer.archives import reading
from testimonials.transfer.archives.restoring import restore_project
from testimonials.transfer.archives.writing import (
    finish_records,
    reading_snapshot,
    spool,
    write_archive,
)
from testimonials.transfer.case_file import CASE_FILES
from testimonials.transfer.tables.export import find_names, write_events, write_json, write_table
from testimonials.transfer.tables.jobs import list_imports

# What fits in memory; an account's archive has all events.
MAX_EVENTS = 50_000


transfer = ProjectPage(settings, "settings/transfer", "transfer/transfer.html", nav="settings")


@transfer.show
def show_transfer(access: Access) -> Values:
    return {"newest": next(iter(list_imports(access.project.id)), None)}


# The writer of each format, its name in events, and the extension and type of its file.
FORMS = {
    "archive": (write_archive, "an archive", "zip", "application/zip"),
    "csv": (write_table, "a table", "csv", "text/csv"),
    "json": (write_json, "JSON", "json", "application/json"),
}


# POST although nothing changes, so that other websites can't start one.
@settings.post("/dashboard/projects/<project_id>/export/<any(archive,csv,json):form>")
@require_session
def export_project(owner: SignedIn, project_id: str, form: str) -> ResponseReturnValue:
    return _export(owner, project_id, *FORMS[form])


@settings.post("/dashboard/projects/<project_id>/export/case-file.<any(html,json):form>")
@settings.post(
    "/dashboard/projects/<project_id>/testimonials/<testimonial_id>/case-file.<any(html,json):form>"
)
@require_session
def export_case(
    owner: SignedIn, project_id: str, form: str, testimonial_id: str | None = None
) -> ResponseReturnValue:
    fill, kind = CASE_FILES[form]
    fill = partial(fill, testimonial_id=testimonial_id)
    return _export(owner, project_id, fill, "a case file", form, kind)


@account.get("/dashboard/account/activity.csv")
@require_session
def export_activity(owner: SignedIn) -> ResponseReturnValue:
    """Send the newest events that match the activity page's search."""
    return _send_activity(read_search(owner.account_id, request.args))


@settings.get("/dashboard/projects/<project_id>/activity.csv")
@require_role(Role.ADMIN)
def export_project_activity(access: Access) -> ResponseReturnValue:
    project = access.project
    return _send_activity(read_search(project.account_id, request.args, project.id))


def _send_activity(search: Search) -> Response:
    people, projects = find_names(search.account_id, search.project_id)
    out, newest = io.BytesIO(), search.find(MAX_EVENTS)
    events = (event for event in newest if search.matches(write_sentence(event, people, projects)))
    write_events(events, people, projects, out)
    return send_download(out, "activity", "csv", "text/csv")


def _export(
    owner: SignedIn,
    project_id: str,
    fill: Callable[[Project, IO[bytes]], None],
    form: str,
    ending: str,
    kind: str,
) -> Response:
    if fill is write_archive:
        # Nothing is signed for somebody who was removed meanwhile.
        with write(partial(find_access, owner, project_id, Role.ADMIN)) as access:
            of = Project.id == access.project.id
        finish_records(of)
    with reading_snapshot():
        project = find_access(owner, project_id, Role.ADMIN).project
        slug, file = project.slug, spool(partial(fill, project))
    # After the file, since writing it takes long, and a transaction would keep others waiting.
    try:
        # Nothing is sent to somebody who was removed meanwhile.
        with write(partial(find_access, owner, project_id, Role.ADMIN)) as access:
            record(PROJECT_EXPORTED, access.project, form=form)
    except ServiceError:
        file.close()
        raise
    return send_download(file, slug, ending, kind)


def send_download(file: IO[bytes], stem: str, ending: str, kind: str) -> Response:
    day = clock.now().date().isoformat()
    length = file.seek(0, io.SEEK_END)
    file.seek(0)
    name = f"{stem}-{day}.{ending}"
    # Each file is made anew, so no part of it continues an earlier one.
    response = send_file(file, kind, True, name, conditional=False, max_age=0)
    response.content_length = length
    return response


# Importing a project from an archive.

MAX_FILE_BYTES = 14 * MEGABYTE
FORM_BYTES = MAX_FILE_BYTES + 64 * 1024
# The limits of an archive: the bytes of its text, since others wait while that is written; all of
# its bytes; its pixels, since a picture of 200 bytes may take as long to decode as any; and the
# lists and objects in the text, of which an export has one per 200 bytes.
MAX_PARTS = 65_536
LIMITS = 8 * MEGABYTE, 64 * MEGABYTE, 500_000_000, MAX_PARTS
TOO_LARGE = gettext_noop(
    "The archive is larger than 14 MB. Ask the operator of this service to import it."
)
ARCHIVES_PER_ACCOUNT = Limit("archive-account", 20, "to import archives, from one account")

# Reading one takes memory, so a process reads one at a time.
_reading = threading.Lock()


class ArchivesBusy(ServiceError):
    status = 503
    default_message = gettext_noop(
        "The server is busy with another archive. Try again in a moment."
    )


archive_page = AccountPage(
    settings, "/dashboard/projects/import", "transfer/archive.html", nav="projects"
)


@archive_page.show
def show_archive(owner: SignedIn) -> Values:
    return {
        "limit": describe_plan(get_account(owner.account_id)),
        "page_base": collection_page_url(""),
        "max_bytes": MAX_FILE_BYTES,
        "too_large": TOO_LARGE,
    }


class ArchiveForm(FormSchema):
    slug = fields.String(load_default="")


@settings.post("/dashboard/projects/import")
@require_session
def import_archive(owner: SignedIn) -> ResponseReturnValue:
    """Create a project from an archive, completely or not at all."""
    limiter.count(ARCHIVES_PER_ACCOUNT, owner.account_id)
    slug = ""
    try:
        file, slug = _read_form()
        target, text = _import(owner, _read_content(file), slug)
    except ServiceError as error:
        errors, typed = _to_errors(error), {"slug": slug}
        return archive_page.render(owner, {}, 422, errors=errors, typed=typed)
    return redirect(add_notice(target, text), 303)


def _read_form() -> tuple[FileStorage | None, str]:
    request.max_content_length = FORM_BYTES
    try:
        return request.files.get("file"), ArchiveForm().read().values["slug"]
    except RequestEntityTooLarge:
        raise reading.ArchiveRefused(TOO_LARGE) from None


def _read_content(file: FileStorage | None) -> bytes:
    if file is None or not file.filename:
        raise reading.ArchiveRefused(_("Choose a file."))
    content: bytes = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise reading.ArchiveRefused(TOO_LARGE)
    return content


@contextmanager
def _opening(content: bytes) -> Iterator[reading.Archive]:
    if not _reading.acquire(timeout=2):
        raise ArchivesBusy
    try:
        # Without its record, an archive could claim anything about visitors.
        file = io.BytesIO(content)
        with reading.open_archive(file, *LIMITS, is_believed=False) as archive:
            yield archive
    finally:
        _reading.release()


def _import(owner: SignedIn, content: bytes, slug: str) -> tuple[str, str]:
    """Import an archive; return the URL of the project's inbox, and a notice.

    Waiting requests are not sent, since whoever made the file chose the recipients.
    """
    slug = slug.strip()
    if slug and (len(slug) > SLUG_LENGTH or make_slug(slug) != slug):
        valid = choose_slug(slug, "")
        problem = _("Use this form of the address: %(slug)s.", slug=valid)
        raise SlugTaken(errors={"slug": [problem]})
    lock = partial(lock_account, owner.account_id)
    with (
        _opening(content) as archive,
        reading.storing_recordings(archive) as recordings,
        write(lock) as account,
    ):
        restored = restore_project(archive, account, recordings, slug=slug or None)
        project = restored.project
        record(PROJECT_IMPORTED, project, name=project.name)
        text = (
            _("Project imported. What differs from its record counts as imported")
            if archive.differences.rows
            else _("Project imported")
        )
        return url_for("dashboard.inbox.show_inbox", project_id=project.id), text


def _to_errors(error: ServiceError) -> Errors:
    if isinstance(error, (reading.ArchiveRefused, ArchivesBusy)):
        return {"file": [error.shown]}
    if isinstance(error, (SlugTaken, SlugReserved)) and not error.errors:
        return {"slug": [_("This address is taken. Choose another.")]}
    return to_form_errors(error)
