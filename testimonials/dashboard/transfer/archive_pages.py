"""Importing a project from its archive: uploading it, looking at what is inside, confirming."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.urls import collection_page_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.rate_limits import Limit
from testimonials.dashboard.describe import describe_plan
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_session
from testimonials.dashboard.notices import add_notice
from testimonials.dashboard.transfer.import_form import MEGABYTE, NAME_LENGTH
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.projects.services import SlugReserved, SlugTaken, lock_account
from testimonials.projects.slugs import make_slug
from testimonials.transfer.archives.opening import Archive, ArchiveRefused, open_archive
from testimonials.transfer.archives.recordings import storing_recordings
from testimonials.transfer.archives.restoring import restore_project
from testimonials.transfer.archives.waiting import drop_waiting, find_waiting, keep_waiting

archives = Blueprint("archives", __name__)

MAX_FILE_BYTES = 14 * MEGABYTE
FORM_BYTES = MAX_FILE_BYTES + 64 * 1024
# What a request may unpack: text, which others wait for while it is written, and all together.
MAX_TEXT_BYTES, MAX_UNPACKED_BYTES = 8 * MEGABYTE, 64 * MEGABYTE
TOO_LARGE = gettext_noop(
    "The archive is too large for this page, which takes 14 MB. Ask the operator of this service "
    "to import it by command."
)
ARCHIVES_PER_ACCOUNT = Limit("archive-account", 20, "to import archives, from one account")

# Each look at one that waits reads it again, which takes up to a second.
LOOKS_PER_ACCOUNT = Limit("archive-look-account", 100, "to look at archives, from one account")

# Reading one takes memory, so a process reads one at a time.
_reading = threading.Lock()


class ArchivesBusy(ServiceError):
    status = 503
    code = "ARCHIVES_BUSY"
    default_message = gettext_noop("Another archive is being read. Try again in a moment.")


@archives.get("/dashboard/projects/import")
@require_session
def show_archive(owner: SignedIn) -> ResponseReturnValue:
    """Show the archive that waits, or a form to upload one."""
    return _page(owner, {})


@archives.post("/dashboard/projects/import")
@require_session
def upload_archive(owner: SignedIn) -> ResponseReturnValue:
    """Check an archive, and keep it until its owner confirms."""
    limiter.count(ARCHIVES_PER_ACCOUNT, owner.account_id)
    try:
        name, content = _read_upload()
        with _opening(content):
            pass
    except ServiceError as error:
        return _page(owner, {"file": [error.shown]}), 422
    begin_write()
    keep_waiting(owner.account_id, name, content)
    db.session.commit()
    return redirect(url_for(".show_archive"), 303)


@archives.post("/dashboard/projects/import/confirm")
@require_session
def import_archive(owner: SignedIn) -> ResponseReturnValue:
    """Make a new project of the archive that waits, completely or not at all."""
    limiter.count(ARCHIVES_PER_ACCOUNT, owner.account_id)
    slug, waiting = request.form.get("slug", "").strip(), find_waiting(owner.account_id)
    if waiting is None:
        return redirect(url_for(".show_archive"), 303)
    try:
        target = _import(owner, waiting.content, slug)
    except ServiceError as error:
        db.session.rollback()
        return _page(owner, _to_errors(error), slug), 422
    return redirect(add_notice(target, _("The project was imported")), 303)


@archives.post("/dashboard/projects/import/discard")
@require_session
def discard_archive(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    drop_waiting(owner.account_id)
    db.session.commit()
    return redirect(url_for(".show_archive"), 303)


def _read_upload() -> tuple[str, bytes]:
    request.max_content_length = FORM_BYTES
    try:
        file = request.files.get("file")
        content = file.read(MAX_FILE_BYTES + 1) if file is not None else b""
    except RequestEntityTooLarge:
        raise ArchiveRefused(TOO_LARGE) from None
    if file is None or not file.filename:
        raise ArchiveRefused(_("Choose a file."))
    if len(content) > MAX_FILE_BYTES:
        raise ArchiveRefused(TOO_LARGE)
    return file.filename[:NAME_LENGTH], content


@contextmanager
def _opening(content: bytes) -> Iterator[Archive]:
    if not _reading.acquire(timeout=2):
        raise ArchivesBusy
    try:
        limits = MAX_TEXT_BYTES, MAX_UNPACKED_BYTES
        with open_archive(io.BytesIO(content), *limits) as archive:
            yield archive
    finally:
        _reading.release()


def _import(owner: SignedIn, content: bytes, slug: str) -> str:
    """Import an archive and commit; return the address of the project's inbox."""
    if slug and (len(slug) > SLUG_LENGTH or make_slug(slug) != slug):
        made = make_slug(slug) or _("letters and digits")
        wanted = _("Write the address as %(slug)s.", slug=made)
        raise SlugTaken(errors={"slug": [wanted]})
    with _opening(content) as archive, storing_recordings(archive) as recordings:
        begin_write()
        account = lock_account(owner.account_id)
        resumes = "resume" in request.form
        restored = restore_project(
            archive, account, recordings, slug=slug or None, resumes_requests=resumes
        )
        project = restored.project
        drop_waiting(owner.account_id)
        record_project_event(EventType.PROJECT_IMPORTED, project, name=project.name)
        db.session.commit()
        return url_for("inbox.show_inbox", project_id=project.id)


def _to_errors(error: ServiceError) -> Errors:
    if isinstance(error, (SlugTaken, SlugReserved)) and not error.errors:
        return {"slug": [_("This address is taken. Choose another.")]}
    return to_form_errors(error)


def _describe(archive: Archive) -> dict[str, Any]:
    """Return what is inside an archive."""
    lists, project = archive.lists, archive.project
    return {
        "name": project["business_name"],
        "slug": project["slug"],
        "counts": {
            _("Testimonials"): len(lists["testimonials"]),
            _("Pictures"): len(lists["images"]),
            _("Saved widgets"): len(lists["savedWidgets"]),
            _("People asked by mail"): len(lists["invitations"]),
        },
        "waiting": sum(row["next_mail_at"] is not None for row in lists["invitations"]),
    }


def _page(owner: SignedIn, errors: Errors, slug: str | None = None) -> str:
    limiter.count(LOOKS_PER_ACCOUNT, owner.account_id)
    account = get_account(owner.account_id)
    waiting, inside = find_waiting(owner.account_id), None
    if waiting is not None:
        try:
            with _opening(waiting.content) as archive:
                inside = _describe(archive)
        except ServiceError as error:
            errors = errors or {"file": [error.shown]}
    return render_template(
        "dashboard/transfer/archive.html",
        shell=build_shell(owner, "projects"),
        limit=describe_plan(account),
        waiting=waiting,
        inside=inside,
        errors=errors,
        slug=slug if slug is not None else inside and inside["slug"],
        page_base=collection_page_url(""),
    )
