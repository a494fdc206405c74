"""Columns of a table with answers to the owner's own questions, out and back in.

A heading says all that a cell doesn't: ``How likely are you to come back? (q_comeback, scale)``.
What was asked in public and what in private are columns of their own, so that nothing is shown that
was told to the owner alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from marshmallow import ValidationError
from sqlalchemy import select

from testimonials.extensions import db
from testimonials.projects.configuration.questions import ID_PATTERN, KINDS
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.archives.values import StoredAnswerSchema

_HEADING = re.compile(rf"'?(.+) \(q_({ID_PATTERN}), ({'|'.join(KINDS)})(, public)?\)")
_ANSWER = StoredAnswerSchema()
ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class AnswerColumn:
    """The answers to one question, as it was asked."""

    id: str
    kind: str
    is_public: bool

    def name(self, question: str) -> str:
        return f"{question} (q_{self.id}, {self.kind}{', public' * self.is_public})"


def list_columns(project: Project) -> dict[AnswerColumn, str]:
    """Return the columns that a table of the project's testimonials has, with their headings.

    A question has the words in which it was asked last.
    """
    query = select(Testimonial).where(
        Testimonial.project_id == project.id, Testimonial.answers.is_not(None)
    )
    columns = {}
    for row in db.session.scalars(
        query.order_by(Testimonial.created_at).execution_options(yield_per=ROWS_AT_ONCE)
    ):
        for answer in row.read_answers(project):
            column = _find_column(answer)
            columns[column] = column.name(answer["question"])
    return columns


def write_cells(
    row: Testimonial, project: Project, columns: Iterable[AnswerColumn]
) -> list[str | None]:
    """Return a testimonial's answers in the order of the columns; of several choices a line each.

    A consent is `yes`.
    """
    cells = {_find_column(each): _write(each["answer"]) for each in row.read_answers(project)}
    return [cells.get(column) for column in columns]


def read_answers(cells: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Return the answers among a line's cells; raise `ValidationError` for one that can't be."""
    answers = []
    for heading, cell in cells.items():
        if not cell.strip() or (found := _read_heading(heading)) is None:
            continue
        question, column = found
        answer: dict[str, Any] = {"id": column.id, "question": question, "kind": column.kind}
        answer |= {"answer": _read(column.kind, cell.strip()), "isPublic": column.is_public}
        try:
            answers.append(_ANSWER.load(answer))
        except ValidationError as error:
            raise ValidationError(f"{question}: {_first(error.messages)}") from None
    return answers or None


def _find_column(answer: Mapping[str, Any]) -> AnswerColumn:
    return AnswerColumn(answer["id"], answer["kind"], answer["isPublic"])


@lru_cache(maxsize=1000)
def _read_heading(heading: str) -> tuple[str, AnswerColumn] | None:
    found = _HEADING.fullmatch(heading)
    return found and (found[1], AnswerColumn(found[2], found[3], bool(found[4])))


def _write(answer: Any) -> str:
    if answer is True:
        return "yes"
    return "\n".join(answer) if isinstance(answer, list) else str(answer)


def _read(kind: str, cell: str) -> Any:
    lines: Sequence[str] = [line.strip() for line in cell.splitlines() if line.strip()]
    if kind == "choice":
        return lines
    if kind == "scale":
        return int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 4 else cell
    return cell.lower() in ("yes", "true") if kind == "consent" else "\n".join(cell.splitlines())


def _first(messages: Any) -> str:
    while isinstance(messages, dict | list):
        messages = next(iter(messages.values() if isinstance(messages, dict) else messages))
    return str(messages)
