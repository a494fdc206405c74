"""Tables as CSV for spreadsheet programs and other services, here a project's testimonials."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials.core.clock import iso
from testimonials.core.text_rules import normalize
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.answer_columns import list_columns, write_cells

COLUMNS: dict[str, Callable[[Testimonial], Any]] = {
    "id": lambda row: row.id,
    "status": lambda row: row.status,
    "source": lambda row: row.source,
    "kind": lambda row: row.kind,
    "form": lambda row: row.form_name,
    "authorName": lambda row: row.author_name,
    "authorRole": lambda row: row.author_role,
    "authorCompany": lambda row: row.author_company,
    "authorEmail": lambda row: row.author_email,
    "authorAvatar": lambda row: row.avatar_url,
    "rating": lambda row: None if row.rating is None else f"{row.rating:g}",
    "text": lambda row: row.text,
    "transcript": lambda row: row.transcript,
    "tags": lambda row: ", ".join(row.tags),
    "highlights": lambda row: "\n".join(row.text[a:b] for a, b in row.highlights or ()),
    "reply": lambda row: row.reply,
    "repliedAt": lambda row: row.replied_at and iso(row.replied_at),
    "pinned": lambda row: "yes" if row.is_pinned else "",
    "rewarded": lambda row: "yes" if row.is_rewarded else "",
    "order": lambda row: row.purchase_reference,
    "submittedAt": lambda row: iso(row.submitted_at),
    "reviewedAt": lambda row: row.reviewed_at and iso(row.reviewed_at),
    "consentText": lambda row: row.consent_text,
    "consentedAt": lambda row: row.consented_at and iso(row.consented_at),
    "deletedAt": lambda row: row.deleted_at and iso(row.deleted_at),
    "createdAt": lambda row: iso(row.created_at),
}
# Spreadsheet programs take a cell that begins with one of these for a formula, even in full width
# or after invisible characters. An apostrophe prevents that.
_FORMULA = re.compile(r"\A'*+(?:[\t\r\n]|[\s\u00ad\u200b-\u200f\u2060\ufeff]*+[=+@\u2212-])")
LONGEST_START = 100
ROWS_AT_ONCE = 500


def write_table(project: Project, out: IO[bytes], *, has_samples: bool = False) -> None:
    """Write the testimonials in every state, oldest first, as CSV; a column for each question."""
    questions = list_columns(project)
    query = select(Testimonial).where(Testimonial.project_id == project.id)
    if not has_samples:
        query = query.where(Testimonial.status != "demo")
    rows = db.session.scalars(
        query.order_by(Testimonial.created_at, Testimonial.id)
        .options(selectinload(Testimonial.tag_rows), selectinload(Testimonial.recording))
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    cells = (
        [*(read(row) for read in COLUMNS.values()), *write_cells(row, project, questions)]
        for row in rows
    )
    write_csv([*COLUMNS, *questions.values()], cells, out)


def write_csv(headings: Sequence[str], rows: Iterable[Iterable[Any]], out: IO[bytes]) -> None:
    """Write CSV in UTF-8 with a byte order mark; no cell is taken for a formula."""
    text = io.TextIOWrapper(out, "utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(map(shield, headings))
    for row in rows:
        writer.writerow(["" if cell is None else shield(str(cell)) for cell in row])
    # The caller closes the file.
    text.detach()


def shield(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula; `unshield` gives it back."""
    return f"'{cell}" if _is_formula(cell) else cell


def unshield(cell: str) -> str:
    """Return a cell of our own file as it was before `shield`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    return _FORMULA.match(normalize("NFKC", cell[:LONGEST_START])) is not None
