"""Highlights: the words of a testimonial that its owner marked.

They are stored as ranges of the text in code points, `[[start, end], ...]`: sorted, separate, and
never across a line break.
"""

import re
from collections.abc import Iterable, Sequence

from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.testimonials.fields import MAX_HIGHLIGHTS

Ranges = list[list[int]]


class HighlightRefused(ServiceError):
    status = 422


def add_highlight(text: str, ranges: Ranges, words: str, start: int | None = None) -> Ranges:
    """Return the ranges with another for these words.

    `start` is where they were selected. Without it, or if the text there has changed, their first
    occurrence that isn't highlighted yet is used. Raises `HighlightRefused`.
    """
    # Case and white space may differ from the text.
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    spans = [match.span() for match in pattern.finditer(text) if match[0]]
    if not spans:
        raise HighlightRefused(
            gettext_noop("The testimonial doesn’t have these words. Copy them from it.")
        )
    selected = [span for span in spans if span[0] == start]
    fresh = [
        span
        for span in spans
        if not any(first <= span[0] and span[1] <= last for first, last in ranges)
    ]
    added = arrange(text, [*ranges, *(selected or fresh)[:1]])
    if len(added) > MAX_HIGHLIGHTS:
        raise HighlightRefused(
            gettext_noop("A testimonial has at most %(most)s highlights. Remove one first."),
            values={"most": MAX_HIGHLIGHTS},
        )
    return added


def arrange(text: str, ranges: Iterable[Sequence[int]]) -> Ranges:
    """Return the ranges sorted, merged where they touch, without white space at their ends."""
    arranged: Ranges = []
    for first, last in sorted(part for each in ranges for part in _trim(text, *each)):
        if arranged and first <= arranged[-1][1]:
            arranged[-1][1] = max(arranged[-1][1], last)
        else:
            arranged.append([first, last])
    return arranged


def follow_edit(before: str, after: str, ranges: Ranges) -> Ranges:
    """Return the ranges of the same words in an edited text.

    Ranges before or after the edit are shifted; others are kept if their words occur just once.
    """
    start = _measure_common_prefix(before, after)
    end = len(before) - _measure_common_prefix(before[start:][::-1], after[start:][::-1])
    shift = len(after) - len(before)
    kept = []
    for first, last in ranges:
        words = before[first:last]
        if last <= start:
            kept.append([first, last])
        elif first >= end:
            kept.append([first + shift, last + shift])
        elif after.count(words) == 1:
            place = after.index(words)
            kept.append([place, place + len(words)])
    return arrange(after, kept)


def _trim(text: str, first: int, last: int) -> Iterable[list[int]]:
    """Yield the lines of a range, each without white space at its ends."""
    first, last = max(first, 0), min(last, len(text))
    for line in re.finditer(r"\S(?:.*\S)?", text[first:last]):
        yield [first + line.start(), first + line.end()]


def _measure_common_prefix(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
