"""What the Insights page says of its figures."""

from collections.abc import Mapping
from datetime import date, datetime

from testimonials.dashboard.describe import NUMBERS

STEPS = {"opened": "Opened", "started": "Started", "sent": "Sent", "approved": "Approved"}


def name_places(websites: int, *, has_wall: bool) -> str:
    """Return where testimonials were seen: "on two websites and your public wall"."""
    number = NUMBERS[websites] if websites < len(NUMBERS) else f"{websites:,}"
    places = [f"{number} website{'' if websites == 1 else 's'}"] if websites else []
    places += ["your public wall"] if has_wall else []
    return f"on {' and '.join(places)}" if places else ""


def write_period(first: str, last: str) -> str:
    """Return both days as people write them: 24 October to 22 November 2026."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    year = "" if start.year == end.year else f" {start.year}"
    return f"{start.day} {start:%B}{year} to {end.day} {end:%B} {end.year}"


def compare_views(now: int, before: int, days: int) -> str:
    """Return how the views of a period differ from those of the one before; "" without any."""
    if not before:
        return ""
    change = round(100 * (now - before) / before)
    if not change:
        return f"As many views as in the {days} days before."
    way = "up" if change > 0 else "down"
    return f"Views are {way} {abs(change):,}% on the {days} days before."


def write_shares(funnel: Mapping[str, int]) -> dict[str, str]:
    """Return, by step, which part of a step comes to the next; only where it can be a part."""
    shares = {
        "opened": ("{}% begin to write", funnel["opened"], funnel["started"]),
        "started": ("{}% of those send it", funnel["started"], funnel["sent"]),
        "sent": ("you approved {}%", funnel["sent"], funnel["approved"]),
    }
    return {
        step: words.format(round(100 * part / whole))
        for step, (words, whole, part) in shares.items()
        # What came in earlier is approved too.
        if 0 < part <= whole
    }


def write_left(funnel: Mapping[str, int]) -> str:
    """Return how many began a testimonial and didn't send it."""
    left = funnel["started"] - funnel["sent"]
    return f"{left:,} began, then left." if left > 0 else ""


def write_requests(requests: Mapping[str, int]) -> str:
    """Return what came of the requests by mail, "" if none was sent."""
    if not requests["sent"]:
        return ""
    sent, opened, answered = (f"{requests[each]:,}" for each in ("sent", "opened", "answered"))
    return f"Of {sent} asked by mail, {opened} opened the page and {answered} wrote."


def name_quiet_day(time: datetime) -> str:
    return f"{time.day} {time:%B}"


def count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
