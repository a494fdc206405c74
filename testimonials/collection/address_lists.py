"""Lists of people to ask, from pasted addresses, a pasted table or a CSV file."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import getaddresses
from itertools import chain

from testimonials.auth.email_addresses import Email
from testimonials.core.csv_rows import TableUnreadable, find_delimiter, read_rows
from testimonials.core.faults import FAULTS
from testimonials.core.http.fields import OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.text import make_printable
from testimonials.testimonials.fields import AuthorLine

MAX_PEOPLE = 500
# A limit, since an unclosed quote swallows everything after it.
LONGEST_CELL = 10_000
MAX_FILE_BYTES = 1024 * 1024
REFERENCE_LENGTH = 120

# What columns are called in spreadsheets and address books, in lower case.
HEADINGS = {
    "email": {"email", "e-mail", "mail", "email address", "e-mail address", "e-mail-adresse"},
    "name": {"name", "full name", "display name", "customer", "customer name"},
    "first": {"first name", "firstname", "given name", "vorname"},
    "last": {"last name", "lastname", "surname", "family name", "nachname"},
    "order": {"order", "order id", "order number", "order reference", "purchase", "bestellnummer"},
    "company": {"company", "organization", "organisation", "business", "company name", "firma"},
}

_EMPTY_PLACES = re.compile(r",(?:[ \t]*,)+")

TOO_MANY = f"Ask at most {MAX_PEOPLE} people at a time; this has more."
NO_ADDRESS = "There is no email address here. Write it like name@example.com."
DISPOSABLE = "This is a disposable address, which may not be read anymore."


class _PersonSchema(FormSchema):
    """The columns of a list."""

    email = Email(
        required=True,
        error_messages={"required": NO_ADDRESS, "malformed": NO_ADDRESS, "disposable": DISPOSABLE},
    )
    name = AuthorLine(load_default="")
    company = AuthorLine(load_default="")
    order = OneLine(REFERENCE_LENGTH, load_default="")


_PERSON = _PersonSchema()


@dataclass(frozen=True)
class Person:
    """A person on a list; lines are counted from 1."""

    line: int
    email: str
    name: str = ""
    company: str = ""
    # The shop's own reference for a purchase.
    order: str = ""


@dataclass(frozen=True)
class WrongLine:
    """A line that can't be used (shortened), and the reason."""

    line: int
    text: str
    reason: str


@dataclass
class AddressList:
    """The people on a list, and the lines that can't be used."""

    people: list[Person] = field(default_factory=list)
    wrong: list[WrongLine] = field(default_factory=list)
    # The first line of a table, and the positions of its columns.
    head: Sequence[str] = ()
    columns: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.people and not self.wrong

    def add(self, line: int, email: str, name: str = "", *, whole: str = "", **more: str) -> None:
        """Add a person with `more` columns, or a wrong line; `whole` is the text of the line."""
        self._require_room()
        sent = _PERSON.read({"email": email, "name": name, **more})
        if not sent.errors:
            self.people.append(Person(line, **sent.values))
            return
        column, messages = next(iter(sent.errors.items()))
        reason = messages[0] if column == "email" else f"{column.capitalize()}: {messages[0]}"
        whole = whole or " ".join(part for part in (name, email, *more.values()) if part)
        self.refuse(line, whole, reason)

    def refuse(self, line: int, whole: str, reason: str) -> None:
        self._require_room()
        self.wrong.append(WrongLine(line, make_printable(whole, 80), reason))

    def _require_room(self) -> None:
        # Checked early, since checking tens of thousands of addresses takes seconds.
        if len(self.people) + len(self.wrong) >= MAX_PEOPLE:
            raise TableUnreadable(TOO_MANY)


def read_pasted(text: str) -> AddressList:
    """Read addresses such as ``Name <a@b>``, separated by lines or commas, or a pasted table.

    Raises `TableUnreadable`.
    """
    text = text.removeprefix("\ufeff")
    _number, head = next(_read_rows(text), (1, []))
    first = text.partition("\n")[0].strip()
    # Cells that are copied from a spreadsheet have tabs between them, but so may addresses.
    is_table = "@" in text and "\t" in first and first.count("@") < 2 and "<" not in first
    if is_table or _find_columns(head) is not None:
        return _read_table(text)
    if len(text) > MAX_PEOPLE * 400:
        raise TableUnreadable(TOO_MANY)
    people = AddressList()
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        if not line.strip(" \t,;"):
            continue
        addresses = _read_line(line)
        pairs = [pair for pair in addresses if any(pair)]
        if not any("@" in email for _, email in pairs):
            people.refuse(number, line, NO_ADDRESS)
            continue
        for name, email in pairs:
            people.add(number, email, name, whole=line if len(pairs) == 1 else "")
        # The library returns nothing for an address such as "foo@".
        is_refused = people.wrong and people.wrong[-1].line == number
        if len(pairs) < len(addresses) and not is_refused:
            people.refuse(number, line, NO_ADDRESS)
    return people


def read_csv(content: bytes, columns: Mapping[str, int] | None = None) -> AddressList:
    """Read a CSV file with a column of addresses and, optionally, names and companies.

    `columns` are the positions that somebody chose. Raises `TableUnreadable`.
    """
    if len(content) > MAX_FILE_BYTES:
        raise TableUnreadable(
            gettext_noop("The file is too large: the limit is %(limit)s MB."), values={"limit": 1}
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableUnreadable(
            gettext_noop(
                "This file isn’t UTF-8. Save it as “CSV UTF-8” in your spreadsheet program."
            )
        ) from None
    return _read_table(text, columns)


def _read_line(line: str) -> list[tuple[str, str]]:
    # Stricter versions of the library return nothing for a line with an empty part.
    line = _EMPTY_PLACES.sub(", ", line.replace(";", ",")).strip(" \t,")
    line = ",".join(map(_mark_address, line.split(",")))
    with suppress(*FAULTS):
        return getaddresses([line])
    return []


def _mark_address(part: str) -> str:
    """Return "Noor noor@example.com" with brackets, and two addresses with a comma."""
    words = part.split()
    if len(words) < 2 or "@" not in part or set(part) & set('<>"()'):
        return part
    names = [word for word in words if "@" not in word]
    if len(words) - len(names) > 1:
        return ",".join(words)
    return f'"{" ".join(names)}" <{next(word for word in words if "@" in word)}>'


def write_table(people: Iterable[Person]) -> str:
    """Write people as a table that `read_pasted` can read."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("email", "name", "company", "order"))
    writer.writerows((each.email, each.name, each.company, each.order) for each in people)
    return out.getvalue().rstrip("\n")


def _read_table(text: str, chosen: Mapping[str, int] | None = None) -> AddressList:
    rows = _read_rows(text)
    first, head = next(rows, (1, []))
    if not head:
        raise TableUnreadable(gettext_noop("The list is empty."))
    named = _find_columns(head)
    if named is None and any("@" in cell for cell in head):
        rows = chain([(first, head)], rows)
    columns = chosen or named or _guess_columns(head)
    if columns is None:
        raise TableUnreadable(
            gettext_noop("No column has email addresses. Name it “email” in the first line.")
        )
    people = AddressList(head=head, columns=columns)
    for number, row in rows:
        if any(len(cell) > LONGEST_CELL for cell in row):
            raise TableUnreadable(
                gettext_noop("Line %(line)s is too long: a quote may not be closed."),
                values={"line": number},
            )
        cells = {name: row[place] if place < len(row) else "" for name, place in columns.items()}
        full = f"{cells.get('first', '')} {cells.get('last', '')}"
        name = cells.get("name") or full.strip()
        more = {each: cells.get(each, "") for each in ("company", "order")}
        people.add(number, cells.get("email", ""), name, **more)
    return people


def _read_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    return read_rows(text, find_delimiter(text, (";", ",", "\t")))


def _find_columns(head: Sequence[str]) -> dict[str, int] | None:
    """Return the positions of columns by their headings, or None if none has addresses."""
    columns: dict[str, int] = {}
    for place, cell in enumerate(head):
        for name, headings in HEADINGS.items():
            if cell.strip().lower() in headings:
                columns.setdefault(name, place)
    return columns if "email" in columns else None


def _guess_columns(row: Sequence[str]) -> dict[str, int] | None:
    """Return the positions of address, name and company in a table without headings."""
    places = [place for place, cell in enumerate(row) if "@" in cell]
    if not places:
        return None
    others = (place for place, cell in enumerate(row) if "@" not in cell)
    return {"email": places[0]} | dict(zip(("name", "company"), others, strict=False))
