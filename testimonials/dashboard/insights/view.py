"""The Insights page as its template shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.core.web.languages import ngettext, translate
from testimonials.dashboard.describe import describe_testimonial
from testimonials.dashboard.insights.charts import describe_bars, describe_line, describe_views
from testimonials.dashboard.insights.words import (
    STEPS,
    compare_views,
    name_places,
    name_quiet_day,
    write_left,
    write_period,
    write_requests,
    write_shares,
)
from testimonials.insights.models import OTHER_WEBSITES
from testimonials.insights.schemas import MOST_LISTED
from testimonials.insights.services import PERIODS, USUAL_PERIOD, describe_insights
from testimonials.projects.models import Project
from testimonials.testimonials.moderation.inbox import InboxFilter, find_rows

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
    return bool(views["total"] or views["previous"] or any(funnel.values()) or figures["quiet"])


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
