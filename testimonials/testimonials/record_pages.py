"""A testimonial's public record as a page and as JSON, and a project's log."""

import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from flask import Response, jsonify, render_template, request, stream_with_context, url_for

from testimonials.core import clock
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db, limiter
from testimonials.core.http.answers import is_among
from testimonials.core.http.blueprints import wall
from testimonials.core.http.errors import NotFound, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.urls import image_url, log_url, record_url
from testimonials.projects.brand import page_logo_id
from testimonials.projects.models import Project
from testimonials.projects.projects import find_public_project
from testimonials.testimonials.media.playback import describe_recording_of
from testimonials.testimonials.models import RecordHead, SigningKey, Testimonial
from testimonials.testimonials.record import describe_words, find_digests, list_entries
from testimonials.testimonials.record_heads import (
    LINES,
    find_head,
    list_keys,
    write_head,
    write_log,
)

MISSING = gettext_noop("It may have moved, or the address may be mistyped.")
# A log may have hundreds of thousands of lines.
LOGS_PER_ADDRESS = Limit("record-logs-ip", 60, "from one IP address", for_load=True)


@wall.get("/<slug>/<string(length=24):testimonial_id>/record")
def show_record(slug: str, testimonial_id: str) -> str:
    """Show a public testimonial's history, and what is known about its author."""
    project, row = _find_shown(slug, testimonial_id)
    entries = list_entries(row)
    return render_template(
        "testimonials/record.html",
        project=project,
        logo_url=image_url(page_logo_id(project)),
        row=row,
        entries=[_describe_entry(each) for each in entries],
        proofs=_list_proofs(entries),
        canonical=record_url(slug, row.id, project.own_host),
        log_url=log_url(project.id),
        shown_url=url_for("wall.show_testimonial", slug=slug, testimonial_id=row.id),
    )


@wall.get("/<slug>/<string(length=24):testimonial_id>/record.json")
def get_record(slug: str, testimonial_id: str) -> Response:
    """Return the same as JSON, with the words that are shown and the salt of their hash."""
    project, row = _find_shown(slug, testimonial_id)
    recording = describe_recording_of(row) or {}
    urls = {"photo": image_url(row.avatar_id), "recording": recording.get("url")}
    digests = find_digests([row])[row.id]
    record = {
        "project": project.id,
        "testimonial": row.id,
        "words": describe_words(row),
        "media": {name: {"url": urls[name], "sha256": each} for name, each in digests.items()},
        "entries": list_entries(row),
        "log": log_url(project.id),
    }
    # Last, since signing ends the session.
    head = find_head(project.id)
    return jsonify(record | (write_head(head) if head else {}))


@wall.get("/record/<project_id>/log")
@limiter.per_address(LOGS_PER_ADDRESS)
def get_log(project_id: str) -> Response:
    """Return all entries of a project, one on each line, with their signed head on the last."""
    project = db.session.get(Project, project_id) if is_identifier(project_id) else None
    if project is None or project.deleted_at is not None or not project.is_active:
        raise NotFound(MISSING)
    head = _require_head(project_id)
    etag, sent = f'W/"{head.signature[:20]}"', request.headers.get("If-None-Match", "")
    is_known = sent and is_among(etag, sent)
    response = Response(status=304) if is_known else _stream_log(head)
    response.headers |= {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    return response


def _stream_log(head: RecordHead) -> Response:
    is_packed = request.accept_encodings["gzip"] > 0
    lines = (f"{line}\n" for line in write_log(head))
    content = (part.encode() for part in iter(lambda: "".join(islice(lines, LINES)), ""))
    response = Response(stream_with_context(_pack(content) if is_packed else content))
    response.content_type = "application/x-ndjson"
    response.headers["Content-Disposition"] = f"attachment; filename={head.project_id}.jsonl"
    if is_packed:
        response.headers["Content-Encoding"] = "gzip"
    return response


def _pack(content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content as gzip, at the fastest level: hashes hardly compress."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS + 16)
    yield from filter(None, map(packer.compress, content))
    yield packer.flush()


@wall.get("/record/<project_id>/head")
def get_head(project_id: str) -> Response:
    """Return the newest signed head, even of a project that is gone."""
    return jsonify(write_head(_require_head(project_id)))


@wall.get("/record/keys")
def get_keys() -> Response:
    return jsonify(keys=[_describe_key(each) for each in list_keys()])


def _describe_entry(item: dict[str, Any]) -> dict[str, Any]:
    entry = item["entry"]
    day = datetime.fromisoformat(entry["time"])
    return {**entry, "day": day, "earlier": item.get("words")}


def _list_proofs(entries: list[dict[str, Any]]) -> set[str]:
    """Return the newest entry's proofs, and `request`, which only the entry of an answer has."""
    told = [set(each["entry"]["proofs"]) for each in entries]
    return set().union(*told[-1:], *(each & {"request"} for each in told))


def _describe_key(key: SigningKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "key": key.public_key,
        "createdAt": clock.iso(key.created_at),
        "retiredAt": clock.iso(key.retired_at) if key.retired_at else None,
    }


def _find_shown(slug: str, testimonial_id: str) -> tuple[Project, Testimonial]:
    """Return a public testimonial and its project. Raises `NotFound`."""
    project, row = find_public_project(slug=slug), Testimonial
    is_shown = (row.project_id == project.id, row.is_visible, row.status != "demo")
    testimonial = find_row(row, testimonial_id, *is_shown) if project.is_active else None
    return project, require_found(testimonial, MISSING)


def _require_head(project_id: str) -> RecordHead:
    return require_found(find_head(project_id) if is_identifier(project_id) else None, MISSING)
