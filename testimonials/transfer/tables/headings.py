"""Recognising the columns of a file by the headings of known services, or by their meaning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testimonials.core.terminal_text import make_printable
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.transfer.tables.meanings import (
    BARE_NAMES,
    FIRST_NAMES,
    LAST_NAMES,
    MARKS,
    MEANINGS,
    PICTURES,
    PRODUCTS,
    SAID,
    TESTIMONIAL_TO,
    TITLES,
    fold,
)

# The fields and their labels.
FIELDS = {
    "text": gettext_noop("Text"),
    "authorName": gettext_noop("Name"),
    "authorRole": gettext_noop("Role"),
    "authorCompany": gettext_noop("Company"),
    "authorEmail": gettext_noop("Email address"),
    "authorAvatar": gettext_noop("Photo URL"),
    "rating": gettext_noop("Rating"),
    "submittedAt": gettext_noop("Date"),
    "tags": gettext_noop("Tags"),
    "status": gettext_noop("Status"),
    "highlights": gettext_noop("Highlighted words"),
    "reply": gettext_noop("Reply"),
    "repliedAt": gettext_noop("Date of the reply"),
    "pinned": gettext_noop("Pinned"),
}
REQUIRED = ("text", "authorName")


class MappingWrong(ServiceError):
    status = 422
    code = "MAPPING_WRONG"


@dataclass(frozen=True)
class ColumnMapping:
    """The columns that each field is read from; the cells of several are joined with a space."""

    columns: Mapping[str, tuple[str, ...]]
    service: str | None = None

    def list_unused(self, headings: Sequence[str]) -> list[str]:
        used = {name for names in self.columns.values() for name in names}
        return [heading for heading in headings if heading not in used]

    def read(self, cells: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of a line by field, without those that are empty."""
        return {field: text for field in self.columns if (text := self.pick(cells, field))}

    def pick(self, cells: Mapping[str, str], field: str) -> str:
        headings = self.columns.get(field)
        if not headings:
            # Most fields of most files.
            return ""
        parts = [cell for heading in headings if (cell := cells.get(heading, "").strip())]
        return " ".join(parts).replace("\r\n", "\n").replace("\r", "\n")


def guess_mapping(headings: Sequence[str]) -> ColumnMapping:
    """Return the columns of each field, judging by their headings."""
    by_meaning: dict[str, str] = {}
    for heading in headings:
        by_meaning.setdefault(fold(heading), heading)
    service = next((name for name, marks in MARKS.items() if marks <= by_meaning.keys()), None)
    text = next((each for each in MEANINGS["text"] if each in by_meaning), None)
    if PRODUCTS & by_meaning.keys():
        by_meaning = {name: each for name, each in by_meaning.items() if name not in PICTURES}

    def take(meanings: Iterable[str]) -> tuple[str, ...]:
        """Return the first of the headings, and keep it from being taken again."""
        return next(((by_meaning.pop(each),) for each in meanings if each in by_meaning), ())

    columns = {field: take(meanings) for field, meanings in MEANINGS.items()}
    name = columns["authorName"]
    if not name or fold(name[0]) in BARE_NAMES:
        columns["authorName"] = (name or take(FIRST_NAMES)) + take(LAST_NAMES)
    # Above a review, a title is part of it.
    if text in SAID or service == TESTIMONIAL_TO:
        columns["authorRole"] = columns["authorRole"] or take(TITLES)
    return ColumnMapping({field: found for field, found in columns.items() if found}, service)


def change_mapping(
    guessed: ColumnMapping, headings: Sequence[str], choices: Mapping[str, Sequence[str]]
) -> ColumnMapping:
    """Return the mapping with a person's choices; an empty choice leaves a field out.

    Raises `MappingWrong`.
    """
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
    """Return the required fields without a column."""
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
