"""Reading files with testimonials: CSV, as spreadsheet programs write it, and JSON."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from testimonials.core.csv_rows import SAMPLE, TableUnreadable, find_delimiter, read_rows
from testimonials.core.faults import FAULTS, refusing
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.text import load_json
from testimonials.transfer.tables.columns import OWN, guess_mapping
from testimonials.transfer.tables.export import unshield
from testimonials.transfer.tables.values import LONGEST_TEXT

MAX_LINES = 50_000
MAX_COLUMNS = 200
# Enough for a question with its id and kind.
HEADING_LENGTH = 300
DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {
    "utf-8": "utf-8-sig",
    "windows-1252": "cp1252",
    "latin-1": "latin-1",
    "windows-1250": "cp1250",
    "windows-1254": "cp1254",
    "windows-1256": "cp1256",
    "shift-jis": "cp932",
    "utf-16": "utf-16",
}
_KANA = re.compile("[\u3041-\u30fe]")
# An optional first line with the delimiter, for spreadsheet programs.
SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?(?:\r\n|\r|\n)', re.I)
UNREADABLE = gettext_noop(
    "The file can’t be read (%(error)s). Save it again, and choose the new file."
)
# The keys of lists in the JSON of other services.
LISTS = ("testimonials", "reviews", "items", "data", "results")


class EncodingUnclear(TableUnreadable):
    """The file is not in UTF-8, and its encoding is unknown; `likely` is a guess."""

    def __init__(self, likely: str) -> None:
        super().__init__(
            # Pages ask for the encoding instead.
            "The file seems to be in %(encoding)s, not UTF-8. Save it as “CSV UTF-8” in your "
            "spreadsheet program, or name its encoding.",
            values={"encoding": likely},
        )
        self.likely = likely


@dataclass(frozen=True)
class Line:
    """An entry in a file: its number, its cells by heading, and its problem, if any."""

    number: int
    cells: dict[str, str]
    problem: str | None = None


@dataclass(frozen=True)
class Table:
    headings: list[str]
    lines: list[Line]


@refusing(lambda fault: TableUnreadable(UNREADABLE, values={"error": type(fault).__name__}))
def read_table(content: bytes, encoding: str = "utf-8", most_lines: int = MAX_LINES) -> Table:
    """Return the contents of a CSV or JSON file; raise `TableUnreadable`."""
    if content[:4] == b"PK\x03\x04":
        raise TableUnreadable(
            gettext_noop(
                "This is a zip file. Save a spreadsheet as CSV. The archive of a project is "
                "imported under New project, or with the command `projects import`."
            )
        )
    text = _decode(content, encoding)
    if not text.strip():
        raise TableUnreadable(gettext_noop("The file is empty."))
    table = _read_json(text) if text.lstrip()[0] in "[{" else _read_csv(text)
    if not table.lines:
        raise TableUnreadable(gettext_noop("The file has only headings."))
    if len(table.lines) > most_lines:
        raise TableUnreadable(
            gettext_noop("The file has more than %(most)s lines. Split it into smaller files."),
            values={"most": f"{most_lines:,}"},
        )
    _require_few_columns(table.headings)
    return table


def _require_few_columns(headings: Sequence[str]) -> None:
    if len(headings) > MAX_COLUMNS:
        raise TableUnreadable(
            gettext_noop("The file has more than %(most)s columns."), values={"most": MAX_COLUMNS}
        )


def _decode(content: bytes, encoding: str) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif encoding != "utf-16" and content[:SAMPLE].count(0) > len(content[:SAMPLE]) // 4:
        raise EncodingUnclear("utf-16")
    try:
        return content.decode(ENCODINGS[encoding]).removeprefix("\ufeff")
    except UnicodeDecodeError:
        if encoding == "utf-8":
            sample = content[:SAMPLE].decode("cp932", "replace")
            is_japanese = len(_KANA.findall(sample)) > sample.count("\ufffd") + 1
            raise EncodingUnclear("shift-jis" if is_japanese else "windows-1252") from None
        raise TableUnreadable(
            gettext_noop("The file isn’t %(encoding)s."), values={"encoding": encoding}
        ) from None


def _read_csv(text: str) -> Table:
    separator = SEPARATOR_LINE.match(text)
    if separator:
        rows = read_rows(text[separator.end() :], separator[1], first_line=2, is_strict=True)
    else:
        rows = read_rows(text, find_delimiter(text, DELIMITERS), is_strict=True)
    _, head = next(rows, (1, []))
    _require_few_columns(head)
    headings = _name_columns(head)
    lines = []
    is_own = guess_mapping(headings).service == OWN
    for number, row in islice(rows, MAX_LINES + 1):
        cells = [cell[:LONGEST_TEXT] for cell in row]
        cells = [unshield(cell) for cell in cells] if is_own else cells
        has_extra = any(cell.strip() for cell in cells[len(headings) :])
        problem = "The line has more cells than there are headings." if has_extra else None
        lines.append(Line(number, dict(zip(headings, cells, strict=False)), problem))
    return Table(headings, lines)


def _name_columns(head: Sequence[str]) -> list[str]:
    names: list[str] = []
    for place, cell in enumerate(head, 1):
        name = heading = " ".join(cell[:HEADING_LENGTH].split()) or f"Column {place}"
        count = 1
        while name in names:
            count += 1
            name = f"{heading} ({count})"
        names.append(name)
    return names


def _read_json(text: str) -> Table:
    items = _find_list(_parse_json(text))
    if items is None:
        raise TableUnreadable(
            gettext_noop("The JSON has no list of testimonials. Write it as [{…}, {…}].")
        )
    lines = []
    for number, item in enumerate(items[: MAX_LINES + 1], 1):
        is_object = isinstance(item, dict)
        cells = dict(_flatten(item)) if is_object else {}
        lines.append(
            Line(number, cells, None if is_object else gettext("This isn’t a JSON object."))
        )
    headings = list(dict.fromkeys(name for line in lines for name in line.cells))
    return Table(headings, lines)


def _parse_json(text: str) -> Any:
    """Return parsed JSON; one object on each line (JSON Lines) becomes a list."""
    with suppress(*FAULTS):
        return load_json(text)
    with suppress(*FAULTS):
        return [load_json(line) for line in io.StringIO(text) if line.strip()]
    raise TableUnreadable(gettext_noop("The file isn’t valid JSON."))


def _find_list(parsed: Any) -> list[Any] | None:
    """Return the list, which may be in an object such as `{"data": {"items": […]}}`."""
    for _depth in range(3):
        if isinstance(parsed, list):
            return parsed
        if not isinstance(parsed, dict):
            return None
        parsed = next((parsed[name] for name in LISTS if name in parsed), None)
    return None


def _flatten(item: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the cells of an object; a nested one has columns such as `author.name`."""
    for name, value in item.items():
        # JSON can contain lone surrogates; pages can't.
        heading = prefix + name[:HEADING_LENGTH].encode("utf-8", "replace").decode("utf-8")
        if isinstance(value, dict) and not prefix:
            yield from _flatten(value, f"{heading}.")
        else:
            yield heading, _to_text(value)[:LONGEST_TEXT]


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        # Nested lists have no meaning here, and could be deeper than the stack.
        parts = (_to_text(each) for each in value if not isinstance(each, list))
        return ", ".join(filter(None, parts))
    return str(value)
