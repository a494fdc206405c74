"""Importing the archive of a project into the database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from sqlalchemy import delete, exists, insert, select

from testimonials.auth.models import Account
from testimonials.collection.models import (
    CollectionForm,
    MailedRequest,
    RequestBatch,
    UnsubscribedAddress,
    hash_email,
)
from testimonials.core import clock
from testimonials.core.audit import Event, add_history
from testimonials.core.db.engine import insert_if_missing
from testimonials.core.db.erasure import PROJECT, TESTIMONIAL, Erased
from testimonials.core.db.identifiers import ID_LENGTH, new_identifier, whole_of
from testimonials.core.extensions import db
from testimonials.core.images.uploads import Image
from testimonials.projects.defaults import PAGE_CONFIG
from testimonials.projects.models import OldSlug, Project
from testimonials.projects.projects import (
    MOST_OLD_SLUGS,
    SlugReserved,
    SlugTaken,
    is_held,
    is_reserved,
    mark_changed,
    require_room,
)
from testimonials.projects.widget_design import PALETTES
from testimonials.testimonials.counts import count_once, count_where
from testimonials.testimonials.history import in_chunks
from testimonials.testimonials.media.recordings import require_share, size_of
from testimonials.testimonials.media.uploads import set_contents
from testimonials.testimonials.models import RecordHead, Recording, Testimonial, TestimonialTag
from testimonials.testimonials.record import continue_record
from testimonials.testimonials.record_heads import describe_head
from testimonials.transfer.archives.format import LISTS, Row
from testimonials.transfer.archives.reading import Archive, Stored
from testimonials.transfer.erasure import erase_again, read_known
from testimonials.transfer.tables.plan import finish_import
from testimonials.widget.models import SavedWidget

# The rows of these lists are inserted as they are.
PLAIN = ("widgetSightings", "savedWidgets", "forms", "keptRatings", "invitationBatches")


@dataclass
class Restored:
    """What was imported, and what had to be changed or left out."""

    project: Project
    testimonials: int
    images: int
    # How many ids were replaced because they were taken.
    renewed: int
    # Old addresses that are taken here.
    lost_slugs: list[str] = field(default_factory=list)
    # How many requests were waiting to be sent.
    waiting: int = 0
    # How many testimonials and requests were left out because they had been erased here.
    erased: int = 0
    # The ids of testimonials that differ from the record.
    differing: list[str] = field(default_factory=list)
    # How many ratings in the record the archive lacks.
    missing: int = 0


def restore_project(
    archive: Archive,
    account: Account,
    recordings: Stored,
    *,
    slug: str | None,
    has_limit: bool = True,
    resumes_requests: bool = False,
    by_operator: bool = False,
) -> Restored:
    """Add the archive's project to the locked account; `slug` replaces the archive's.

    Raises `SlugTaken`, `SlugReserved`, `ProjectLimitReached` and `NoRoom`.
    """
    if has_limit:
        require_room(account)
    slug = slug or archive.project["slug"]
    _require_free(slug)
    ids = _renew_taken_ids(archive, None if by_operator else account)
    project = _insert_project(archive, account, slug, ids)
    own = {"project_id": project.id}
    lists = {name: [_renew(row, ids) | own for row in rows] for name, rows in archive.lists.items()}
    counts = (len(lists["testimonials"]), len(lists["images"]), len(ids))
    restored = Restored(project, *counts, missing=archive.differences.missing)
    restored.differing = [ids.get(id := str(row["id"]), id) for row in archive.differences.rows]
    restored.lost_slugs = _insert_old_slugs(lists["oldSlugs"])
    for row in lists["savedWidgets"]:
        row["design"], row["draft"] = _renew_chosen(row["design"], row["draft"], ids)
    for name in PLAIN:
        _insert(LISTS[name].model, lists[name])
    _insert_images(archive, ids)
    with count_once(db.session.connection(), project.id):
        pictures = {row["id"] for row in lists["images"]}
        _insert_testimonials(project, lists["testimonials"], pictures, ids)
    _insert_recordings(archive.lists["recordings"], project, recordings, ids)
    restored.waiting = _insert_requests(
        lists["invitations"], project.account_id, resumes=resumes_requests
    )
    account.has_created_project = True
    mark_changed(project)
    _continue_record(project, archive, ids)
    _erase_again(restored, archive, ids)
    finish_import(restored.testimonials)
    return restored


def _continue_record(project: Project, archive: Archive, ids: dict[str, str]) -> None:
    differences, kept, log = archive.differences, Counter[str](), archive.log
    for row in archive.lists["keptRatings"]:
        kept[str(row["rating"])] += row["number"]
    # The last head that was signed here, if the project was here before.
    head = db.session.get(RecordHead, project.id)
    is_later = head is not None and (log is None or head.hash != log.head["hash"])
    continue_record(
        project,
        log,
        [ids.get(each, each) for each in differences.asked],
        kept=dict(kept),
        aside=dict(differences.aside),
        differing=len(differences.rows),
        missing=differences.missing,
        replaced=describe_head(head) if head and is_later else None,
    )


def _erase_again(restored: Restored, archive: Archive, ids: dict[str, str]) -> None:
    """Erase what was erased here after the archive was made, and what its record says was erased.

    A project that its owner deleted no longer counts as erased: its archive may bring it back.
    """
    own = (Erased.kind == PROJECT, Erased.id == archive.project["id"])
    db.session.execute(delete(Erased).where(*own))
    erased, now = read_known(), clock.to_milliseconds(clock.now())
    erased |= {(TESTIMONIAL, id): now for id in archive.differences.erased}
    renewed = {(kind, ids.get(id, id)): at for (kind, id), at in erased.items()}
    db.session.flush()
    restored.erased = erase_again(renewed, restored.project.id)
    restored.testimonials = count_where(restored.project.id)


def _require_free(slug: str) -> None:
    if is_reserved(slug):
        raise SlugReserved(
            f"The slug {slug} is reserved for the service. Choose another with --slug."
        )
    query = select(Project.id).where(Project.slug == slug)
    if db.session.scalar(query) is not None or is_held(slug, None):
        raise SlugTaken(
            f"The slug {slug} is already taken. Choose another, such as --slug {slug}-2."
        )


def _was_anothers(project_id: str, account: Account) -> bool:
    """Return whether another account's deleted project, perhaps still embedded, had the id."""
    is_own = exists().where(Event.account_id == account.id, Event.project_id == project_id)
    query = select(RecordHead.project_id).where(RecordHead.project_id == project_id, ~is_own)
    return db.session.scalar(query) is not None


def _renew_taken_ids(archive: Archive, account: Account | None) -> dict[str, str]:
    changes, lists = archive.changes, archive.lists
    ids: tuple[tuple[Any, list[Row]], ...] = (
        (Project.id, [archive.project]),
        (SavedWidget.id, lists["savedWidgets"]),
        (CollectionForm.id, lists["forms"]),
        (Image.id, lists["images"]),
        (Testimonial.id, lists["testimonials"]),
        (Event.id, changes),
        # The changes of a batch are undone together, so projects can't share one.
        (Event.batch_id, changes),
        (RequestBatch.id, lists["invitationBatches"]),
        (MailedRequest.id, lists["invitations"]),
    )
    taken = {
        each
        for column, rows in ids
        for each in _find_taken(column, [row[column.key] for row in rows])
    }
    # The ids of an account's events must increase, so none may be from the future.
    latest = new_identifier()
    taken |= {row["id"] for row in changes if row["id"] > latest}
    if account is not None and _was_anothers(archive.project["id"], account):
        taken.add(archive.project["id"])
    # The parts of a batch share the beginning of their ids.
    renewed = {whole_of(each): new_identifier() for each in taken}
    return {each: renewed[whole_of(each)] + each[ID_LENGTH:] for each in taken}


def _find_taken(column: Any, values: Iterable[str | None]) -> set[str]:
    taken: set[str] = set()
    for part in in_chunks(list({each for each in values if each is not None})):
        taken |= set(db.session.scalars(select(column).where(column.in_(part))))
    return taken


def _renew(row: Row, ids: dict[str, str]) -> Row:
    return {
        name: ids.get(value, value) if name == "id" or name.endswith("_id") else value
        for name, value in row.items()
    }


def _renew_chosen(design: Row, draft: Row | None, ids: dict[str, str]) -> tuple[Row, Row | None]:
    """Return a widget's design and draft with the new ids of testimonials."""
    if "chosen" in design:
        design = design | {"chosen": [ids.get(each, each) for each in design["chosen"]]}
    if draft is not None and "design" in draft:
        draft = draft | {"design": _renew_chosen(draft["design"], None, ids)[0]}
    return design, draft


def _insert_project(archive: Archive, account: Account, slug: str, ids: dict[str, str]) -> Project:
    rows = archive.lists["testimonials"]
    times = [row[name] for row in rows for name in ("created_at", "returned_at") if row[name]]
    newest = max(times, default=None)
    own = {"account_id": account.id, "slug": slug, "last_testimonial_at": newest}
    project = Project(**_renew(archive.project, ids) | own)
    project.widget_design, project.widget_draft = _renew_chosen(
        project.widget_design, project.widget_draft, ids
    )
    if not project.brand and (color := _first_color(project)):
        project.brand = {"color": color}
    query = select(Project.id).where(
        Project.account_id == account.id, Project.external_id == project.external_id
    )
    if db.session.scalar(query) is not None:
        project.external_id = None
    db.session.add(project)
    db.session.flush()
    return project


def _first_color(project: Project) -> str | None:
    """Return the color that the migration would give a project from before there were brands."""
    palette, button = project.widget_config["palette"], project.page_config["buttonColor"]
    if palette is None or button is None:
        return None
    return (
        project.widget_design.get("brandColor")
        or (button if button != PAGE_CONFIG["buttonColor"] else None)
        or (PALETTES[palette] if palette != "neutral" else None)
    )


def _insert_old_slugs(rows: list[Row]) -> list[str]:
    """Add the newest old addresses that are free; return those that aren't."""
    rows = sorted(rows, key=itemgetter("renamed_at"), reverse=True)[:MOST_OLD_SLUGS]
    slugs = [row["slug"] for row in rows]
    taken = _find_taken(OldSlug.slug, slugs) | _find_taken(Project.slug, slugs)
    taken |= {slug for slug in slugs if is_reserved(slug)}
    _insert(OldSlug, [row for row in rows if row["slug"] not in taken])
    return sorted(taken)


def _insert_images(archive: Archive, ids: dict[str, str]) -> None:
    # One at a time, since they are large.
    for row in archive.lists["images"]:
        _insert(Image, [_renew(row, ids) | {"content": archive.read_image(row["id"])}])


def _insert_recordings(
    rows: list[Row], project: Project, stored: Stored, ids: dict[str, str]
) -> None:
    """Add the rows of stored recordings; raise `NoRoom`."""
    for row in rows:
        recording_id, contents = stored[row["id"]]
        own = {"id": recording_id, "project_id": project.id, "size": size_of(recording_id)}
        recording = Recording(**_renew(row, ids) | own)
        require_share(project, recording.size)
        db.session.add(recording)
        set_contents(recording, contents)
        db.session.flush()


def _insert_testimonials(
    project: Project, rows: list[Row], pictures: set[str], ids: dict[str, str]
) -> None:
    taken = _find_taken(Testimonial.submission_key, (row["submission_key"] for row in rows))
    tags, changes = [], []
    for row in rows:
        if row["submission_key"] in taken:
            # The original, of which this is a copy, is here.
            row["submission_key"] = None
        row.pop("salts")
        own = {"testimonial_id": row["id"]}
        for name in dict.fromkeys(row.pop("tags")):
            tags.append(own | {"name": name, "project_id": project.id})
        for change in row.pop("changes"):
            before = _renew(change["before"], ids)
            if before.get("avatar_id") not in pictures and "avatar_id" in before:
                # The picture isn't in the archive, and here its id may belong to another.
                before["avatar_id"] = None
            changes.append(_renew(change, ids) | own | {"before": before})
    _insert(Testimonial, rows)
    _insert(TestimonialTag, tags)
    for part in in_chunks(changes):
        add_history(project, part)


def _insert_requests(rows: list[Row], account_id: str, *, resumes: bool) -> int:
    """Add requests and unsubscribed addresses; return how many requests were waiting."""
    waiting = sum(row["next_mail_at"] is not None for row in rows)
    for row in rows:
        row["email_hash"] = hash_email(account_id, row["email"])
        row["next_mail_at"] = row["next_mail_at"] if resumes else None
        if (time := row.pop("unsubscribedAt")) is not None:
            key = {"account_id": account_id, "email_hash": row["email_hash"]}
            insert_if_missing(db.session(), UnsubscribedAddress, **key, created_at=time)
    _insert(MailedRequest, rows)
    return waiting


def _insert(model: Any, rows: Sequence[Row]) -> None:
    for part in in_chunks(rows):
        db.session.connection().execute(insert(model.__table__), part)
