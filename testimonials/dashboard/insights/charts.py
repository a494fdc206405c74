"""Where the shapes of the charts stand, in percents of their room, so that no text is stretched."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from testimonials.core.web.languages import (
    format_average,
    format_day,
    format_figure,
    gettext_noop,
    translate,
)
from testimonials.core.web.languages import gettext as _

Day = Mapping[str, Any]

# With more days than this a bar is a week, since a phone has no room for more.
MOST_BARS = 90
WEEK = 7
# Of a bar's place, and of the chart's height between two parts of one bar.
BAR, GAP = 0.7, 0.6
MOST_LABELS = 5
WEEKDAYS = (
    gettext_noop("Mon"),
    gettext_noop("Tue"),
    gettext_noop("Wed"),
    gettext_noop("Thu"),
    gettext_noop("Fri"),
    gettext_noop("Sat"),
    gettext_noop("Sun"),
)
BEST = 5


def describe_views(days: Sequence[Day]) -> dict[str, Any]:
    """Return the bars of the views, oldest first, the scale at their side and the days below."""
    size = WEEK if len(days) > MOST_BARS else 1
    # The newest week is whole, and the oldest may be short.
    starts = range(-(-len(days) % size), len(days), size)
    bars = [_add_up(days[max(start, 0) : start + size]) for start in starts]
    top = find_top(max((bar["widget"] + bar["wall"] for bar in bars), default=0))
    step = 100 / max(len(bars), 1)
    for place, bar in enumerate(bars):
        bar |= {"left": _round(place * step), "x": _round(place * step + step * (1 - BAR) / 2)}
        bar |= _stand(bar["widget"], bar["wall"], top)
    return {
        "bars": bars,
        "step": _round(step),
        "width": _round(step * BAR),
        "scale": [format_figure(number) for number in (top, top // 2, 0)],
        "labels": choose_labels([bar["short"] for bar in bars]),
        "is_by_week": size == WEEK,
    }


def _add_up(days: Sequence[Day]) -> dict[str, Any]:
    first = date.fromisoformat(days[0]["day"])
    short = format_day(first, has_year=False)
    weekday = translate(WEEKDAYS[first.weekday()])
    name = _("%(weekday)s %(day)s", weekday=weekday, day=short)
    return {
        "day": days[0]["day"],
        "short": short,
        "name": name if len(days) == 1 else _("Week from %(day)s", day=name),
        "widget": sum(each["widget"] for each in days),
        "wall": sum(each["wall"] for each in days),
    }


def _stand(widget: int, wall: int, top: int) -> dict[str, float]:
    """Return the two parts of a bar, the wall's on the widget's, from the chart's upper edge."""
    low, high = widget / top * 100, (widget + wall) / top * 100
    gap = min(GAP, high - low) if widget else 0
    return {
        "widget_y": _round(100 - low),
        "widget_height": _round(low),
        "wall_y": _round(100 - high),
        "wall_height": _round(high - low - gap),
    }


def find_top(number: int) -> int:
    """Return the round number that a scale ends with; half of it is whole too."""
    size = 1
    while number > 10 * size:
        size *= 10
    return next(top for top in (2, 4, 6, 8, 10) if top * size >= number) * size


def choose_labels(names: Sequence[str]) -> list[str]:
    """Return a few names in equal distances, the first and the last among them."""
    count = min(len(names), MOST_LABELS)
    if count < 2:
        return list(names)
    return [names[round(place * (len(names) - 1) / (count - 1))] for place in range(count)]


def describe_bars(numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return named numbers with the width of their bars, the largest being the whole."""
    most = max(numbers.values(), default=0)
    return [
        {"name": name, "number": number, "width": _round(100 * number / most) if most else 0}
        for name, number in numbers.items()
    ]


def describe_line(weeks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the average of each week that has one as a line; None if one can't be drawn."""
    known = [each for each in weeks if each["count"]]
    if len(known) < 2:
        return None
    floor = min(int(min(each["average"] for each in known)), BEST - 1)
    days = [date.fromisoformat(str(each["from"])[:10]) for each in known]
    whole = max(days[-1] - days[0], timedelta(days=1))
    points = [
        {
            # A margin of 2, so that no point is cut off.
            "x": _round(2 + 96 * ((day - days[0]) / whole)),
            "y": _round(8 + 84 * (BEST - each["average"]) / (BEST - floor)),
            "name": format_day(day, has_year=False),
            "average": format_average(each["average"]),
            "count": each["count"],
        }
        for day, each in zip(days, known, strict=True)
    ]
    names = [point["name"] for point in points]
    return {
        "points": points,
        "lines": list(pairwise(points)),
        "scale": (BEST, floor),
        "labels": names if len(names) < 3 else [names[0], names[len(names) // 2], names[-1]],
    }


def _round(number: float) -> float:
    return round(number, 2)
