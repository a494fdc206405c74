"""The testimonials of a project as CSV, for table programs and other services."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterator
from typing import IO, Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials.core.clock import iso
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

COLUMNS = (
    "id",
    "status",
    "source",
    "authorName",
    "authorRole",
    "authorCompany",
    "authorEmail",
    "authorAvatar",
    "rating",
    "text",
    "tags",
    "pinned",
    "submittedAt",
    "reviewedAt",
    "consentText",
    "consentedAt",
    "deletedAt",
    "createdAt",
)
# A table program takes a cell that begins with one of these for a formula: in full width and the
# like too, and behind what can't be seen. An apostrophe is what keeps it from that.
_FORMULA = re.compile(r"\A'*+(?:[\t\r\n]|[\s\u00ad\u200b-\u200f\u2060\ufeff]*+[=+@\u2212-])")
LONGEST_START = 100
ROWS_AT_ONCE = 500


def write_table(project: Project, out: IO[bytes], *, has_samples: bool = False) -> None:
    """Write the testimonials in every state, oldest first, as CSV in UTF-8 with a mark."""
    text = io.TextIOWrapper(out, "utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in _list(project.id, has_samples=has_samples):
        writer.writerow([shield(_write(value)) for value in _values(row)])
    # The file is whoever's gave it.
    text.detach()


def shield(cell: str) -> str:
    """Return a cell that no table program takes for a formula; `unshield` gives it back."""
    return f"'{cell}" if _is_formula(cell) else cell


def unshield(cell: str) -> str:
    """Return a cell of our own file as it was before `shield`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    return _FORMULA.match(unicodedata.normalize("NFKC", cell[:LONGEST_START])) is not None


def _list(project_id: str, *, has_samples: bool) -> Iterator[Testimonial]:
    query = select(Testimonial).where(Testimonial.project_id == project_id)
    if not has_samples:
        query = query.where(Testimonial.status != "demo")
    rows = db.session.scalars(
        query.order_by(Testimonial.created_at, Testimonial.id)
        .options(selectinload(Testimonial.tag_rows))
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    yield from rows


def _values(row: Testimonial) -> list[Any]:
    return [
        row.id,
        row.status,
        row.source,
        row.author_name,
        row.author_role,
        row.author_company,
        row.author_email,
        row.avatar_url,
        None if row.rating is None else f"{row.rating:g}",
        row.text,
        ", ".join(row.tags),
        "yes" if row.is_pinned else "",
        iso(row.submitted_at),
        row.reviewed_at and iso(row.reviewed_at),
        row.consent_text,
        row.consented_at and iso(row.consented_at),
        row.deleted_at and iso(row.deleted_at),
        iso(row.created_at),
    ]


def _write(value: Any) -> str:
    return "" if value is None else str(value)
