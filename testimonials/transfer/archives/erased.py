"""Leaving out of an archive what was erased here after it was made."""

from datetime import datetime

from sqlalchemy import delete, select

from testimonials.core import clock
from testimonials.core.data.erased import (
    ADDRESS,
    PERSON,
    PROJECT,
    RECORDING,
    TESTIMONIAL,
    Erased,
    ErasedPeople,
)
from testimonials.extensions import db
from testimonials.media.removal import remove_after_commit
from testimonials.testimonials.events import DISOWNED
from testimonials.transfer.archives.contents import Row
from testimonials.transfer.archives.opening import Archive
from testimonials.transfer.archives.recordings import Stored


def leave_out_erased(archive: Archive, stored: Stored) -> int:
    """Remove testimonials and requests that their authors had erased; return how many.

    A project that its owner deleted may come back, and is no longer erased: that is what its
    archive is for.
    """
    again = delete(Erased).where(Erased.kind == PROJECT, Erased.id == archive.project["id"])
    db.session.execute(again)
    kinds = (TESTIMONIAL, PERSON, RECORDING, ADDRESS)
    erased = db.session.scalars(select(Erased).where(Erased.kind.in_(kinds))).all()
    if not erased:
        return 0
    unrecorded = {row.id for row in erased if row.kind == RECORDING}
    gone = {row.id for row in erased if row.kind == TESTIMONIAL}
    gone |= {
        row["id"]
        for row in archive.lists["testimonials"]
        if row["id"] in unrecorded and row["kind"] != "written" and not row["text"]
    }
    people = ErasedPeople(
        (row.id, clock.to_milliseconds(row.erased_at)) for row in erased if row.kind == PERSON
    )
    lists = archive.lists
    requests = [row for row in lists["invitations"] if _is_covered(people, row, "email")]
    gone |= {row["testimonial_id"] for row in requests if row["testimonial_id"]}
    left_out = [
        row
        for row in lists["testimonials"]
        if row["id"] in gone or _is_covered(people, row, "author_email")
    ]
    _remove(lists, left_out, requests)
    _take_off_recordings(lists, unrecorded)
    _disown(archive, {row.id: row.erased_at for row in erased if row.kind == ADDRESS})
    kept = {row["id"] for row in lists["recordings"]}
    remove_after_commit(file for old, (file, _) in stored.items() if old not in kept)
    for change in archive.changes:
        if _is_covered(people, change | change["before"], "author_email"):
            change["before"].pop("author_email")
    return len(left_out) + len(requests)


def _take_off_recordings(lists: dict[str, list[Row]], ids: set[str]) -> None:
    for row in lists["testimonials"]:
        if row["id"] in ids:
            row["kind"] = "written"
    posters = {row["poster_id"] for row in lists["recordings"] if row["testimonial_id"] in ids}
    lists["recordings"] = [row for row in lists["recordings"] if row["testimonial_id"] not in ids]
    lists["images"] = [row for row in lists["images"] if row["id"] not in posters]


def _disown(archive: Archive, erased: dict[str, datetime]) -> None:
    """Do again what somebody wished who hadn't written a testimonial."""
    for row in archive.lists["testimonials"]:
        until = erased.get(row["id"])
        if until is None:
            continue
        for change in row["changes"]:
            change["before"].pop("author_email", None)
        if row["updated_at"] > until or row["author_email"] is None:
            continue
        row["author_email"] = row["email_verified_at"] = None
        if row["status"] != "withdrawn":
            row["status"], row["held_for"] = "spam", DISOWNED


def _is_covered(people: ErasedPeople, row: Row, name: str) -> bool:
    return people.covers(row.get(name), clock.to_milliseconds(row["created_at"]))


def _remove(lists: dict[str, list[Row]], testimonials: list[Row], requests: list[Row]) -> None:
    gone = {row["id"] for row in testimonials}
    asked = {row["id"] for row in requests}
    pictures = {row["avatar_id"] for row in testimonials}
    lists["testimonials"] = [row for row in lists["testimonials"] if row["id"] not in gone]
    lists["invitations"] = [row for row in lists["invitations"] if row["id"] not in asked]
    for row in lists["invitations"]:
        if row["testimonial_id"] in gone:
            row["testimonial_id"] = None
    for row in lists["recordings"]:
        if row["testimonial_id"] in gone:
            pictures.add(row["poster_id"])
    lists["recordings"] = [row for row in lists["recordings"] if row["testimonial_id"] not in gone]
    pictures -= {row["avatar_id"] for row in lists["testimonials"]}
    lists["images"] = [row for row in lists["images"] if row["id"] not in pictures]
