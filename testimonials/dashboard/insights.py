"""Insights: views, reading, the path from the page to approval, and their files."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from flask import Response, request, send_file

from testimonials.analytics import reports
from testimonials.analytics.models import OTHER_WEBSITES
from testimonials.core.clock import iso
from testimonials.core.http.blueprints import insights
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import (
    format_day,
    format_figure,
    format_percent,
    gettext_noop,
    ngettext,
    translate,
)
from testimonials.core.http.i18n import gettext as _
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import ProjectPage, Values, require_role
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project
from testimonials.testimonials.inbox import find_rows
from testimonials.testimonials.testimonials import find_authors
from testimonials.transfer.tables.export import write_csv

MONTH = 30
# Periods are compared only if both have at least this many views.
COMPARED_FROM = 200
# How many rows the list shows at first.
FEW = 5
VIEWS = {
    "testimonials": gettext_noop("Testimonials"),
    "websites": gettext_noop("Websites"),
    "ratings": gettext_noop("Ratings"),
}
# With more days, each bar is a week, since a phone has no room for more.
MAX_BARS = 90
WEEK = 7
# The width of a bar, as a share of its slot.
BAR = 0.72
MAX_LABELS = 5
page = ProjectPage(insights, "insights", "insights/insights.html")


@page.show
def show_insights(access: Access) -> Values:
    """Show a period (``?days=``) with a list (``?list=``), in full with ``?all=1``."""
    days, view = read_days(), request.args.get("list", "")
    view = view if view in VIEWS else "testimonials"
    figures = reports.describe_insights(access.project, days, top=reports.MOST_LISTED)
    if not _is_counted(access.project, figures):
        return {"is_counted": False}
    return describe_figures(access.project, figures, days) | {
        "is_counted": True,
        "view": view,
        "rows": ROWS[view](access.project, figures),
        "is_all": request.args.get("all") == "1",
        "is_table": request.args.get("table") == "1",
    }


def describe_figures(project: Project, figures: Mapping[str, Any], days: int) -> Values:
    """Return what the page shows of a period, except the list."""
    return {
        "days": days,
        "periods": reports.PERIODS,
        "views": {name: translate(label) for name, label in VIEWS.items()},
        "few": FEW,
        "figures": figures,
        "read": reports.count_read(project, days),
        "compared": compare_views(figures["views"], days),
        "quiet": [row for row in figures["quiet"] if row["website"]],
        "chart": describe_chart(figures["days"]),
        "path": describe_path(project, figures),
    }


@insights.get("/dashboard/projects/<project_id>/insights.csv")
@require_role(Role.ADMIN)
def download_insights(access: Access) -> Response:
    """Send the views of each day, or another table (``?of=``)."""
    days, of = read_days(), request.args.get("of", "views")
    if of not in TABLES:
        raise NotFound(gettext_noop("It may have moved, or the address may be mistyped."))
    name, out = f"{access.project.slug}-{of}-{days}-days.csv", io.BytesIO()
    headings, read = TABLES[of]
    write_csv(headings, read(access.project, days), out)
    out.seek(0)
    return send_file(out, "text/csv", as_attachment=True, download_name=name, max_age=0)


def read_days() -> int:
    wanted = request.args.get("days", "")
    return next((days for days in reports.PERIODS if str(days) == wanted), reports.USUAL_PERIOD)


def _is_counted(project: Project, figures: Mapping[str, Any]) -> bool:
    """Return whether anything was ever counted, in this period or the longest."""
    longest = reports.PERIODS[-1]
    return _has_any(figures) or (
        figures["period"]["days"] < longest
        and _has_any(reports.describe_insights(project, longest))
    )


def _has_any(figures: Mapping[str, Any]) -> bool:
    views, is_seen = figures["views"], bool(figures["testimonials"] or figures["quiet"])
    return is_seen or bool(views["total"] or views["previous"] or any(figures["funnel"].values()))


def compare_views(views: Mapping[str, int], days: int) -> str:
    """Return how the views differ from the previous period, if both have enough."""
    now, before = views["total"], views["previous"]
    if min(now, before) < COMPARED_FROM:
        return ""
    change = round(100 * (now - before) / before)
    more = {
        True: gettext_noop("That is %(share)s more than in the month before."),
        False: gettext_noop("That is %(share)s more than in the %(days)s days before."),
    }
    fewer = {
        True: gettext_noop("That is %(share)s fewer than in the month before."),
        False: gettext_noop("That is %(share)s fewer than in the %(days)s days before."),
    }
    words = (more if change > 0 else fewer)[days == MONTH]
    return _(words, share=format_percent(abs(change)), days=days) if change else ""


def describe_path(project: Project, figures: Mapping[str, Any]) -> Values:
    """Return the steps of visitors with their counts, and notes about these."""
    funnel, period = figures["funnel"], figures["period"]
    first = reports.find_first_visit(project)
    steps = (
        (funnel["opened"], ngettext("visit to your page", "visits to your page", funnel["opened"])),
        (funnel["started"], _("started writing")),
        (funnel["sent"], _("sent it")),
        (funnel["approved"], _("approved so far")),
    )
    since = date.fromisoformat(first) if first and first > period["from"] else None
    return {
        "steps": steps,
        "others": write_others(reports.count_unvisited(project, period["days"])),
        "since": since and _("Visits are counted since %(day)s.", day=format_day(since, "long")),
    }


def write_others(count: int) -> str:
    """Return what arrived without a visit: "4 more came another way."."""
    if not count:
        return ""
    return ngettext(
        "%(num)s more came another way.",
        "%(num)s more came another way.",
        count,
        num=format_figure(count),
    )


# The chart. Positions are percentages, so that no text is stretched.


def describe_chart(days: Sequence[Mapping[str, Any]]) -> Values:
    """Return the bars of the views, oldest first, their labels, and the selected bar."""
    size = WEEK if len(days) > MAX_BARS else 1
    # Only the oldest week may be incomplete.
    starts = range(-(-len(days) % size), len(days), size)
    bars = [_add_up(days[max(start, 0) : start + size]) for start in starts]
    most = max(bar["views"] for bar in bars)
    step = 100 / len(bars)
    for place, bar in enumerate(bars):
        bar["x"] = round(place * step + step * (1 - BAR) / 2, 2)
        bar["height"] = round(100 * bar["views"] / most, 2) if most else 0
    names, count = [bar["short"] for bar in bars], min(len(bars), MAX_LABELS)
    return {
        "bars": bars,
        "width": round(step * BAR, 2),
        "chosen": next(place for place, bar in enumerate(bars) if bar["views"] == most),
        "labels": [names[round(place * (len(bars) - 1) / (count - 1))] for place in range(count)],
        "is_by_week": size == WEEK,
    }


def _add_up(days: Sequence[Mapping[str, Any]]) -> Values:
    first = date.fromisoformat(days[0]["day"])
    name = format_day(first, "long", has_year=False)
    views, wall = (sum(counts[place] for counts in days) for place in ("widget", "wall"))
    total = format_figure(views + wall)
    return {
        "day": days[0]["day"],
        "short": format_day(first, has_year=False),
        "name": name if len(days) == 1 else _("Week from %(day)s", day=name),
        "views": views + wall,
        "widget": views,
        "wall": wall,
        "words": _("%(num)s, %(wall)s of them on your wall", num=total, wall=format_figure(wall))
        if wall
        else total,
    }


# The lists. Each row has the width of its bar in percent, and the words beside it.

Row = dict[str, Any]


def _list_read(project: Project, figures: Mapping[str, Any]) -> list[Row]:
    counts = {row["id"]: row for row in figures["testimonials"]}
    testimonials = find_rows(project.id, list(counts)) if counts else []
    rows = {row.id: row for row in testimonials if row.deleted_at is None}
    listed = []
    for id, count in counts.items():
        if id in rows:
            # Somebody may read after midnight what they saw before.
            share = min(round(100 * count["read"] / count["seen"]), 100) if count["seen"] else 0
            words = _("%(share)s read", share=format_percent(share))
            listed.append(describe_testimonial(rows[id]) | {"width": share, "words": words})
    # The counts choose which are listed, but the page shows shares, so those must fall.
    return sorted(listed, key=lambda row: row["width"], reverse=True)


def _list_websites(_project: Project, figures: Mapping[str, Any]) -> list[Row]:
    rows = figures["websites"]
    most = max((row["views"] for row in rows), default=0)
    names = {"": _("Public wall"), OTHER_WEBSITES: _("Other websites")}
    return [
        {
            "name": names.get(row["website"], row["website"]),
            "note": ngettext(
                "%(num)s click", "%(num)s clicks", row["clicks"], num=format_figure(row["clicks"])
            ),
            "seen_at": row["last_seen_at"],
            "width": round(100 * row["views"] / most) if most else 0,
            "words": ngettext(
                "%(num)s view", "%(num)s views", row["views"], num=format_figure(row["views"])
            ),
        }
        for row in rows
    ]


def _list_ratings(_project: Project, figures: Mapping[str, Any]) -> list[Row]:
    ratings = figures["ratings"]
    most = max(ratings["stars"])
    return [
        {
            "name": ngettext("%(num)s star", "%(num)s stars", stars),
            "width": round(100 * number / most),
            "words": format_figure(number),
        }
        for stars, number in zip(range(5, 0, -1), ratings["stars"], strict=True)
        if most
    ]


ROWS: dict[str, Callable[[Project, Mapping[str, Any]], list[Row]]] = {
    "testimonials": _list_read,
    "websites": _list_websites,
    "ratings": _list_ratings,
}

# The CSV files.

MAX_LINES = 5_000

Lines = Iterator[tuple[Any, ...]]


def _read_days(project: Project, days: int) -> Lines:
    for row in reports.list_days(project, days):
        yield row["day"], row["widget"], row["wall"], row["clicks"]


def _read_testimonials(project: Project, days: int) -> Lines:
    rows = reports.list_testimonials(project, days, MAX_LINES)
    authors = find_authors([row["id"] for row in rows])
    for row in rows:
        yield row["id"], authors.get(row["id"]), row["seen"], row["read"]


def _read_websites(project: Project, days: int) -> Lines:
    for row in reports.list_websites(project, days, MAX_LINES):
        yield row["website"], row["views"], row["clicks"], iso(row["last_seen_at"])


def _read_ratings(project: Project, days: int) -> Lines:
    for row in reports.describe_insights(project, days)["ratings"]["weeks"]:
        yield row["from"], row["average"], row["count"]


# By the name in the file's URL.
TABLES: dict[str, tuple[tuple[str, ...], Callable[[Project, int], Lines]]] = {
    "views": (("day", "widget", "wall", "clicks"), _read_days),
    "testimonials": (("id", "authorName", "seen", "read"), _read_testimonials),
    "websites": (("website", "views", "clicks", "lastSeenAt"), _read_websites),
    "ratings": (("week", "average", "count"), _read_ratings),
}
