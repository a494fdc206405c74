"""Mapping the columns of a table to fields, and to answers."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from marshmallow import ValidationError
from sqlalchemy import select

from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.text import make_printable, normalize
from testimonials.projects.models import Project
from testimonials.projects.page_design import ID_PATTERN, KINDS
from testimonials.testimonials.fields import COLUMNS, CardFields
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.archives.format import StoredAnswerSchema

# Columns are recognized by their headings: those of known services, and words for the fields in the
# languages of the collection page. They are compared without case, accents, spaces and punctuation,
# and earlier ones win. So a column “Bewertung”, which may be the rating, is used as the text only
# if no other column is.

_FILE = Path(__file__).with_name("headings.json")
_HEADINGS: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
OWN, TESTIMONIAL_TO, GOOGLE = "Testimonials", "Testimonial.to", "Google"


def fold(heading: str) -> str:
    return re.sub(r"[\W_]+", "", normalize("NFKD", heading.casefold()))


def _split(*lists: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fold(each) for part in lists for each in part.split(", ")))


_FIELDS = _HEADINGS["fields"]
MEANINGS = {
    field: _split(*_FIELDS.get(field, (field,))) for field in (*_FIELDS, *CardFields().fields)
}
# Headings that only one service uses.
MARKS = {service: frozenset(_split(marks)) for service, marks in _HEADINGS["services"].items()}
# "names" are first names if there are last names too; "products" mark reviews of a shop, whose
# "pictures" show products; "titles" are those of people if there is one of "testimonials".
OTHERS = {name: _split(words) for name, words in _HEADINGS["others"].items()}

# The fields and their labels.
FIELDS = {name: COLUMNS[name].label for name in MEANINGS}
REQUIRED = ("text", "authorName")


class MappingWrong(ServiceError):
    status = 422


@dataclass(frozen=True)
class ColumnMapping:
    """The columns of each field; the cells of several are joined with a space."""

    columns: Mapping[str, tuple[str, ...]]
    service: str | None = None

    def list_unused(self, headings: Sequence[str]) -> list[str]:
        used = {name for names in self.columns.values() for name in names}
        return [heading for heading in headings if heading not in used]

    def read(self, cells: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of a line by field, without empty ones."""
        return {field: text for field in self.columns if (text := self.pick(cells, field))}

    def pick(self, cells: Mapping[str, str], field: str) -> str:
        headings = self.columns.get(field, ())
        parts = [cell for heading in headings if (cell := cells.get(heading, "").strip())]
        return " ".join(parts).replace("\r\n", "\n").replace("\r", "\n")


def guess_mapping(headings: Sequence[str]) -> ColumnMapping:
    by_meaning: dict[str, str] = {}
    for heading in headings:
        by_meaning.setdefault(fold(heading), heading)
    service = next((name for name, marks in MARKS.items() if marks <= by_meaning.keys()), None)
    text = next((each for each in MEANINGS["text"] if each in by_meaning), None)
    if by_meaning.keys() & OTHERS["products"]:
        by_meaning = {
            name: each for name, each in by_meaning.items() if name not in OTHERS["pictures"]
        }

    def take(meanings: Iterable[str]) -> tuple[str, ...]:
        """Return the first heading with one of these meanings, and take it out of the others."""
        return next(((by_meaning.pop(each),) for each in meanings if each in by_meaning), ())

    columns = {field: take(meanings) for field, meanings in MEANINGS.items()}
    name = columns["authorName"]
    if not name or fold(name[0]) in OTHERS["names"]:
        columns["authorName"] = (name or take(OTHERS["first names"])) + take(OTHERS["last names"])
    if text in OTHERS["testimonials"] or service == TESTIMONIAL_TO:
        columns["authorRole"] = columns["authorRole"] or take(OTHERS["titles"])
    return ColumnMapping({field: names for field, names in columns.items() if names}, service)


def change_mapping(
    guessed: ColumnMapping, headings: Sequence[str], choices: Mapping[str, Sequence[str]]
) -> ColumnMapping:
    """Return the mapping after a person's choices (empty: left out); raise `MappingWrong`."""
    columns = dict(guessed.columns)
    for field, names in choices.items():
        if field not in FIELDS:
            raise MappingWrong(f"There is no field {field}. The fields are: {', '.join(FIELDS)}.")
        for name in names:
            if name not in headings:
                raise MappingWrong(
                    f"There is no column “{name}”. The columns are: {_list(headings)}."
                )
        columns[field] = tuple(names)
    return ColumnMapping({field: each for field, each in columns.items() if each}, guessed.service)


def find_missing(mapping: ColumnMapping) -> list[str]:
    return [field for field in REQUIRED if field not in mapping.columns]


def require_mapping(mapping: ColumnMapping, headings: Sequence[str]) -> None:
    """Raise `MappingWrong` if no column has the text or the name."""
    if missing := find_missing(mapping):
        labels = " and ".join(FIELDS[field].lower() for field in missing)
        raise MappingWrong(
            f"Which column has the {labels}? The columns are: {_list(headings)}. Name it with "
            f"--map {missing[0]}=COLUMN."
        )


def _list(headings: Sequence[str]) -> str:
    return ", ".join(make_printable(heading, 60) for heading in headings[:30])


# Columns with answers to the owner's own questions, in exports and imports. A heading contains what
# the cells lack: ``How likely are you to come back? (q_comeback, scale)``. Public and private
# answers have separate columns, so that no private one is ever shown.

_HEADING = re.compile(rf"'?(.+) \(q_({ID_PATTERN}), ({'|'.join(KINDS)})(, public)?\)")
_ANSWER = StoredAnswerSchema()


@dataclass(frozen=True)
class AnswerColumn:
    """A column with the answers to a question."""

    id: str
    kind: str
    is_public: bool

    def name(self, question: str) -> str:
        return f"{question} (q_{self.id}, {self.kind}{', public' * self.is_public})"


def list_columns(project: Project) -> dict[AnswerColumn, str]:
    """Return the columns of answers, each headed by the question of its newest answer."""
    query = select(Testimonial).where(
        Testimonial.project_id == project.id, Testimonial.answers.is_not(None)
    )
    columns = {}
    for row in db.session.scalars(
        query.order_by(Testimonial.created_at).execution_options(yield_per=500)
    ):
        for answer in row.read_answers(project):
            column = _find_column(answer)
            columns[column] = column.name(answer["question"])
    return columns


def write_cells(row: Any, project: Project, columns: Iterable[AnswerColumn]) -> list[str | None]:
    """Return a testimonial's answers in the order of the columns."""
    cells = {_find_column(each): _write(each["answer"]) for each in row.read_answers(project)}
    return [cells.get(column) for column in columns]


def read_answers(cells: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Return the answers in the cells of a line; raise `ValidationError`."""
    answers = []
    for heading, cell in cells.items():
        if not cell.strip() or (parsed := _parse_heading(heading)) is None:
            continue
        question, column = parsed
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
def _parse_heading(heading: str) -> tuple[str, AnswerColumn] | None:
    match = _HEADING.fullmatch(heading)
    return match and (match[1], AnswerColumn(match[2], match[3], bool(match[4])))


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
