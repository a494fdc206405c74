"""Insights: figures, charts and their words."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from flask import Response, render_template, request, send_file
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict

from testimonials.analytics.models import OTHER_WEBSITES
from testimonials.analytics.reports import (
    MOST_LISTED,
    PERIODS,
    USUAL_PERIOD,
    describe_insights,
    list_days,
    list_testimonials,
    list_websites,
)
from testimonials.core.clock import iso
from testimonials.core.http.blueprints import insights
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import (
    ENGLISH,
    current_language,
    format_average,
    format_day,
    format_figure,
    format_percent,
    gettext_noop,
    ngettext,
    translate,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.dashboard.formatting import NUMBERS, describe_testimonial
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project
from testimonials.testimonials.inbox import InboxFilter, find_rows
from testimonials.testimonials.testimonials import find_authors
from testimonials.transfer.tables.export import write_csv

# What the Insights page says of its figures.

STEPS = {
    "opened": gettext_noop("Opened"),
    "started": gettext_noop("Started"),
    "sent": gettext_noop("Sent"),
    "approved": gettext_noop("Approved"),
}


def name_places(websites: int, *, has_wall: bool) -> str:
    """Return where testimonials were seen: "on two websites and your public wall"."""
    if not websites:
        return _("on your public wall") if has_wall else ""
    # English spells out small numbers; other languages may write digits.
    is_spelled = websites < len(NUMBERS) and current_language() is ENGLISH
    number = NUMBERS[websites] if is_spelled else format_figure(websites)
    if has_wall:
        return ngettext(
            "on %(num)s website and your public wall",
            "on %(num)s websites and your public wall",
            websites,
            num=number,
        )
    return ngettext("on %(num)s website", "on %(num)s websites", websites, num=number)


def write_period(first: str, last: str) -> str:
    """Return both days as people write them: 24 October to 22 November 2026."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return _(
        "%(first)s to %(last)s",
        first=format_day(start, "long", has_year=start.year != end.year),
        last=format_day(end, "long"),
    )


def compare_views(now: int, before: int, days: int) -> str:
    """Return how the views of a period differ from those of the one before; "" without any."""
    if not before:
        return ""
    change = round(100 * (now - before) / before)
    if not change:
        return _("As many views as in the %(days)s days before.", days=days)
    share = format_percent(abs(change))
    if change > 0:
        return _("Views are up %(share)s on the %(days)s days before.", share=share, days=days)
    return _("Views are down %(share)s on the %(days)s days before.", share=share, days=days)


def write_shares(funnel: Mapping[str, int]) -> dict[str, str]:
    """Return, by step, which part of a step comes to the next; only where it can be a part."""
    shares = {
        "opened": (gettext_noop("%(share)s begin to write"), funnel["opened"], funnel["started"]),
        "started": (gettext_noop("%(share)s of those send it"), funnel["started"], funnel["sent"]),
        "sent": (gettext_noop("you approved %(share)s"), funnel["sent"], funnel["approved"]),
    }
    return {
        step: _(words, share=format_percent(round(100 * part / whole)))
        for step, (words, whole, part) in shares.items()
        # What came in earlier is approved too.
        if 0 < part <= whole
    }


def write_left(funnel: Mapping[str, int]) -> str:
    """Return how many began a testimonial and didn't send it."""
    left = funnel["started"] - funnel["sent"]
    if left <= 0:
        return ""
    return ngettext(
        "%(num)s began, then left.", "%(num)s began, then left.", left, num=format_figure(left)
    )


def write_requests(requests: Mapping[str, int]) -> str:
    """Return what came of the requests by mail, "" if none was sent."""
    if not requests["sent"]:
        return ""
    counts = {each: format_figure(requests[each]) for each in ("sent", "opened", "answered")}
    return _(
        "Of %(sent)s asked by mail, %(opened)s opened the page and %(answered)s wrote.", **counts
    )


def name_quiet_day(time: datetime) -> str:
    return format_day(time, "long", has_year=False)


# What was counted in a period, as CSV: its days, the testimonials that were seen, the websites.

# Lines of a table.
MOST = 5_000

Rows = Iterator[tuple[Any, ...]]


def write_figures(project: Project, days: int, name: str) -> io.BytesIO:
    """Return one of the `TABLES` of a period."""
    headings, read = TABLES[name]
    out = io.BytesIO()
    write_csv(headings, read(project, days), out)
    out.seek(0)
    return out


def _read_days(project: Project, days: int) -> Rows:
    for each in list_days(project, days):
        yield each["day"], each["widget"], each["wall"], each["clicks"]


def _read_testimonials(project: Project, days: int) -> Rows:
    listed = list_testimonials(project, days, MOST)
    authors = find_authors([each["id"] for each in listed])
    for each in listed:
        yield each["id"], authors.get(each["id"]), each["seen"], each["read"]


def _read_websites(project: Project, days: int) -> Rows:
    for each in list_websites(project, days, MOST):
        # The wall has no name of its own.
        yield each["website"], each["views"], each["clicks"], iso(each["last_seen_at"])


# By the word in the file's name and address.
TABLES: dict[str, tuple[tuple[str, ...], Callable[[Project, int], Rows]]] = {
    "views": (("day", "widget", "wall", "clicks"), _read_days),
    "testimonials": (("id", "authorName", "seen", "read"), _read_testimonials),
    "websites": (("website", "views", "clicks", "lastSeenAt"), _read_websites),
}


# Where the shapes of the charts stand, in percents of their room, so that no text is stretched.

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


# The Insights page as its template shows it.

# How many lines a table has at first.
FEW = 5


def read_days(query: MultiDict[str, str]) -> int:
    """Return the period that was asked for, in days."""
    wanted = query.get("days", "")
    return next((days for days in PERIODS if str(days) == wanted), USUAL_PERIOD)


def describe_page(project: Project, days: int, *, is_all: bool) -> dict[str, Any]:
    """Return everything that the page shows of a project."""
    figures = describe_insights(project, days, top=MOST_LISTED)
    views, funnel, period = figures["views"], figures["funnel"], figures["period"]
    testimonials, websites = figures["testimonials"], figures["websites"]
    named = [
        each for each in websites if each["website"] not in ("", OTHER_WEBSITES) and each["views"]
    ]
    shown = MOST_LISTED if is_all else FEW
    return {
        "figures": figures,
        "periods": PERIODS,
        "days": days,
        "is_all": is_all,
        "is_counted": _is_counted(project, figures),
        "places": name_places(len(named), has_wall=views["wall"] > 0),
        "period": write_period(period["from"], period["to"]),
        "compared": compare_views(views["total"], views["previous"], days),
        "chart": describe_views(figures["days"]),
        "steps": describe_bars({translate(STEPS[each]): funnel[each] for each in STEPS}),
        "shares": {translate(STEPS[step]): words for step, words in write_shares(funnel).items()},
        "left": write_left(funnel),
        "asked": write_requests(figures["requests"]),
        "read": _describe_read(project, testimonials[:shown]),
        "read_count": len(testimonials),
        "websites": websites[:shown],
        "website_count": len(websites),
        "quiet": [
            each | {"day": name_quiet_day(each["last_seen_at"])}
            for each in figures["quiet"]
            if each["website"]
        ],
        "stars": _describe_stars(figures["ratings"]["stars"]),
        "line": describe_line(figures["ratings"]["weeks"]),
    }


def _is_counted(project: Project, figures: Mapping[str, Any]) -> bool:
    """Return whether anything was ever counted; a quiet week isn't a new project."""
    if _has_any(figures):
        return True
    longest = PERIODS[-1]
    return figures["period"]["days"] < longest and _has_any(describe_insights(project, longest))


def _has_any(figures: Mapping[str, Any]) -> bool:
    views, funnel = figures["views"], figures["funnel"]
    told = figures["testimonials"] or figures["quiet"]
    return bool(views["total"] or views["previous"] or any(funnel.values()) or told)


def _describe_read(project: Project, counted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the testimonials that were seen, with who wrote them and how many read them."""
    ids = [each["id"] for each in counted]
    found = find_rows(project.id, InboxFilter(), ids, is_all=False) if ids else []
    rows = {row.id: row for row in found if row.deleted_at is None}
    return [
        describe_testimonial(rows[each["id"]])
        | {"seen": each["seen"], "read": each["read"], "rate": _rate(each["read"], each["seen"])}
        for each in counted
        if each["id"] in rows
    ]


def _rate(part: int, whole: int) -> int:
    # "Read more" may be used on what was on screen before midnight.
    return min(round(100 * part / whole), 100) if whole else 0


def _describe_stars(numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return the bars of the ratings; `numbers` begin with that of five stars."""
    names = [ngettext("%(num)s star", "%(num)s stars", stars) for stars in (5, 4, 3, 2, 1)]
    return describe_bars(dict(zip(names, numbers, strict=True)))


# The Insights page, and its figures as a file.


@insights.get("/dashboard/projects/<project_id>/insights")
@require_role(Role.ADMIN)
def show_insights(access: Access) -> ResponseReturnValue:
    """Show the page; ``?days=`` chooses the period, ``?all=1`` shows the tables in full."""
    is_all = request.args.get("all") == "1"
    return render_template(
        "dashboard/insights/insights.html",
        shell=build_shell(access, "insights"),
        **describe_page(access.project, read_days(request.args), is_all=is_all),
    )


@insights.get("/dashboard/projects/<project_id>/insights.csv")
@require_role(Role.ADMIN)
def download_insights(access: Access) -> Response:
    """Send the views of each day; ``?of=`` chooses another of the tables."""
    days, of = read_days(request.args), request.args.get("of", "views")
    if of not in TABLES:
        raise NotFound(gettext_noop("There is no such table."))
    name = f"{access.project.slug}-{of}-{days}-days.csv"
    file = write_figures(access.project, days, of)
    return send_file(file, "text/csv", as_attachment=True, download_name=name, max_age=0)
