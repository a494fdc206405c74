"""What the Insights page says of its figures."""

from collections.abc import Mapping
from datetime import date, datetime

from testimonials.core.web.languages import (
    ENGLISH,
    current_language,
    format_day,
    format_figure,
    format_percent,
    gettext_noop,
    ngettext,
)
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.describe import NUMBERS

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
    # English spells small numbers out; a language may write the digits.
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
