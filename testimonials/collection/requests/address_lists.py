"""Lists of people as owners have them: pasted addresses, or the CSV file of a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import getaddresses

from testimonials.auth.addresses import Email
from testimonials.core.terminal_text import make_printable
from testimonials.core.web.forms import FormSchema
from testimonials.testimonials.fields import AuthorLine

MAX_PEOPLE = 500
# That many people with names and addresses as long as they may be.
LONGEST_PASTED = MAX_PEOPLE * 400
# A quote that nobody closed takes in everything that follows.
LONGEST_CELL = 10_000
MAX_FILE_BYTES = 1024 * 1024
SHOWN_LENGTH = 80

DELIMITERS = (";", ",", "\t")
# What spreadsheets and address books call these columns, in lower case.
HEADINGS = {
    "email": {"email", "e-mail", "mail", "email address", "e-mail address", "e-mail-adresse"},
    "name": {"name", "full name", "display name", "customer", "customer name"},
    "first": {"first name", "firstname", "given name", "vorname"},
    "last": {"last name", "lastname", "surname", "family name", "nachname"},
    "company": {"company", "organization", "organisation", "business", "company name", "firma"},
}

_EMPTY_PLACES = re.compile(r",(?:[ \t]*,)+")

TOO_MANY = f"Ask at most {MAX_PEOPLE} people at a time; this has more."
NO_ADDRESS = "There is no email address here. Write it like name@example.com."
DISPOSABLE = "This is a disposable address, which may not be read anymore."


class _PersonSchema(FormSchema):
    """The columns that are read of a list."""

    email = Email(
        required=True,
        error_messages={
            "required": NO_ADDRESS,
            "malformed": NO_ADDRESS,
            "disposable": DISPOSABLE,
        },
    )
    name = AuthorLine(load_default="")
    company = AuthorLine(load_default="")


_PERSON = _PersonSchema()


class ListUnreadable(Exception):
    """The list as a whole can't be read; the message says what to do."""


@dataclass(frozen=True)
class Person:
    """Somebody on a list; lines count from one."""

    line: int
    email: str
    name: str = ""
    company: str = ""


@dataclass(frozen=True)
class WrongLine:
    """A line that can't be used: its beginning, and why."""

    line: int
    text: str
    reason: str


@dataclass
class AddressList:
    """The people on a list, and the lines that can't be used."""

    people: list[Person] = field(default_factory=list)
    wrong: list[WrongLine] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.people and not self.wrong

    def add(
        self, line: int, email: str, name: str = "", company: str = "", *, whole: str = ""
    ) -> None:
        """Add somebody, or note why not; `whole` is the text on the list."""
        self._require_room()
        sent = _PERSON.read({"email": email, "name": name, "company": company})
        if not sent.errors:
            self.people.append(Person(line, **sent.values))
            return
        column, messages = next(iter(sent.errors.items()))
        reason = messages[0] if column == "email" else f"{column.capitalize()}: {messages[0]}"
        whole = whole or " ".join(part for part in (name, email, company) if part)
        self.refuse(line, whole, reason)

    def refuse(self, line: int, whole: str, reason: str) -> None:
        self._require_room()
        self.wrong.append(WrongLine(line, make_printable(whole, SHOWN_LENGTH), reason))

    def _require_room(self) -> None:
        # At once: checking tens of thousands of addresses only to count them takes seconds.
        if len(self.people) + len(self.wrong) >= MAX_PEOPLE:
            raise ListUnreadable(TOO_MANY)


def read_pasted(text: str) -> AddressList:
    """Read addresses one a line or with commas, ``Name <a@b>`` too, or a pasted table.

    Raises `ListUnreadable`.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    if _find_columns(_split_row(first)) is not None:
        return _read_table(lines)
    if len(text) > LONGEST_PASTED:
        raise ListUnreadable(TOO_MANY)
    found = AddressList()
    for number, line in enumerate(lines, 1):
        if not line.strip(" \t,;"):
            continue
        pairs = _read_line(line)
        if not any("@" in email for _, email in pairs):
            found.refuse(number, line, NO_ADDRESS)
            continue
        for name, email in pairs:
            found.add(number, email, name, whole=line if len(pairs) == 1 else "")
    return found


def read_csv(content: bytes) -> AddressList:
    """Read a CSV file with columns for the address and, if there are, name and company.

    Raises `ListUnreadable`.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ListUnreadable("The file is too large: the limit is 1 MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ListUnreadable(
            "This file isn’t in UTF-8. Save it as “CSV UTF-8” in your spreadsheet program."
        ) from None
    return _read_table(text.splitlines(keepends=True))


def _read_line(line: str) -> list[tuple[str, str]]:
    # Strict versions of the library give nothing for a line with an empty place in it.
    line = _EMPTY_PLACES.sub(", ", line.replace(";", ",")).strip(" \t,")
    try:
        return [pair for pair in getaddresses([line]) if any(pair)]
    except RecursionError:
        return []


def write_table(people: Iterable[Person]) -> str:
    """Write people as a table that `read_pasted` reads back."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("email", "name", "company"))
    writer.writerows((person.email, person.name, person.company) for person in people)
    return out.getvalue().rstrip("\n")


def _read_table(lines: Sequence[str]) -> AddressList:
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise ListUnreadable("The list is empty.")
    head = _split_row(first)
    columns = _find_columns(head)
    has_head = columns is not None
    if columns is None:
        columns = _guess_columns(head)
    if columns is None:
        raise ListUnreadable(
            "There is no column of email addresses. Name it “email” in the first line."
        )
    found = AddressList()
    for number, row in _read_rows(lines, _find_delimiter(first)):
        if has_head:
            has_head = False
            continue
        cells = {name: row[place] if place < len(row) else "" for name, place in columns.items()}
        full = f"{cells.get('first', '')} {cells.get('last', '')}"
        name = cells.get("name") or full.strip()
        found.add(number, cells["email"], name, cells.get("company", ""))
    return found


def _read_rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Return the rows that aren't empty, each with its first line."""
    # Pasted lines lack their ends, without which a quoted line break would be lost.
    reader = csv.reader((f"{line.rstrip(chr(10))}\n" for line in lines), delimiter=delimiter)
    begin = 1
    try:
        for row in reader:
            if any(len(cell) > LONGEST_CELL for cell in row):
                raise csv.Error("a quote may not be closed")
            if any(cell.strip() for cell in row):
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise ListUnreadable(
            f"Line {reader.line_num} can’t be read as CSV ({error}). Save the file again."
        ) from None


def _split_row(line: str) -> list[str]:
    try:
        line = line.lstrip("\ufeff")[:LONGEST_CELL]
        return next(csv.reader([line], delimiter=_find_delimiter(line)), [])
    except csv.Error:
        return []


def _find_delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count) if any(map(line.count, DELIMITERS)) else ","


def _find_columns(head: Sequence[str]) -> dict[str, int] | None:
    """Return the columns by their headings; None without one for the address."""
    columns: dict[str, int] = {}
    for place, cell in enumerate(head):
        for name, headings in HEADINGS.items():
            if cell.strip().lower() in headings:
                columns.setdefault(name, place)
    return columns if "email" in columns else None


def _guess_columns(row: Sequence[str]) -> dict[str, int] | None:
    """Return the columns of a table without headings: address, name, company."""
    places = [place for place, cell in enumerate(row) if "@" in cell]
    if not places:
        return None
    others = [place for place in range(len(row)) if place != places[0]]
    return {"email": places[0]} | dict(zip(("name", "company"), others, strict=False))
