"""Dates as a server-rendered widget writes them: without the reader's clock, so never relative."""

from collections.abc import Sequence
from datetime import datetime

from testimonials.core.http.i18n import current_language, read_date_patterns


def write_dates(times: Sequence[str], style: str, *, is_long: bool) -> list[str]:
    """Return the dates of these times (ISO 8601) in the current language; empty to leave them out.

    `style` is a design's `dateStyle`. As in the script, a month is left out where the reader would
    see the same at half of the cards.
    """
    form = ("long" if is_long else "short") + (" day" if style == "absolute" else "")
    patterns = read_date_patterns()[current_language().code][form]
    found = []
    for text in times:
        time = datetime.fromisoformat(text)
        pattern = patterns[time.month - 1]
        found.append(pattern.format(day=time.day, year=time.year))
    if style != "absolute" and any(
        found.count(each) > max(1, (len(found) - 1) / 2) for each in found
    ):
        return [""] * len(found)
    return found
