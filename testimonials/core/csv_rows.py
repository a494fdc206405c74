"""Reading CSV as spreadsheet programs write it."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from testimonials.core.http.errors import ServiceError

# The default limit would refuse a whole file for one long cell.
csv.field_size_limit(1024**3)
# Including empty rows, of which spreadsheet programs may write very many.
MAX_ROWS = 500_000
SAMPLE = 20_000
# While `csv` reads a row, no other thread can run.
MAX_ROW_LENGTH = 1_000_000


class TableUnreadable(ServiceError):
    """The file can't be read at all; the message says what to do."""

    status = 422


def find_delimiter(text: str, delimiters: Sequence[str]) -> str:
    """Return the delimiter most frequent in the first row, outside quotes; a comma if none is.

    Ties go to the first in `delimiters`.
    """
    lines = re.sub('"[^"]*(?:"|$)', "", text[:SAMPLE]).splitlines()
    head = next((line for line in lines if line.strip()), "")
    return max(delimiters, key=head.count) if any(map(head.count, delimiters)) else ","


def read_rows(
    text: str, delimiter: str, *, first_line: int = 1, is_strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that isn't empty, after the number of its first line.

    Raises `TableUnreadable` for rows that are too long and, if `is_strict`, for unclosed quotes and
    for text after a closing quote.
    """
    room = MAX_ROW_LENGTH

    def read_lines() -> Iterator[str]:
        nonlocal room
        for each in io.StringIO(text, newline=""):
            room -= len(each)
            if room < 0:
                raise csv.Error("the row is too long, or a quote is not closed")
            yield each

    reader = csv.reader(read_lines(), delimiter=delimiter, strict=is_strict)
    line = first_line
    try:
        for count, row in enumerate(reader):
            room = MAX_ROW_LENGTH
            if count > MAX_ROWS:
                raise csv.Error("too many empty rows")
            if any(cell.strip() for cell in row):
                yield line, row
            line = first_line + reader.line_num
    except csv.Error as error:
        raise TableUnreadable(
            f"Line {line} can’t be read as CSV: {error}. Save the file again in your spreadsheet "
            "program."
        ) from None
