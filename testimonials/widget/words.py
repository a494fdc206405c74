"""The widget's own words in the current language; the script fills in `{name}`."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from testimonials.core.http.i18n import (
    ENGLISH,
    current_language,
    find_language,
    gettext,
    ngettext,
    read_date_patterns,
    translate,
)
from testimonials.widget.script import choose_kind

# Messages by their names in the feed; the extra ones are for recordings and marks.
_FILE = Path(__file__).with_name("words.json")
WORDS, EXTRA_WORDS = (each["texts"] for each in json.loads(_FILE.read_text("utf-8")).values())


def read_language(tag: str | None) -> str | None:
    """Return the code of the language for a tag such as `de-AT`, by default English; keep None."""
    return None if tag is None else (find_language(tag) or ENGLISH).code


def write_words(
    labels: Mapping[str, str],
    header: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    has_extras: bool = True,
) -> dict[str, str]:
    """Return the words by name; `labels` are the owner's own, `name` is the project's.

    Words about the number of ratings need a `header` (`describe_header`), whose counts determine
    their plural forms. Without `has_extras`, those for recordings and marks are left out.
    """
    words = {name: translate(message) for name, message in WORDS.items()}
    words |= {
        "rated": gettext("Rated %(rating)s out of 5", rating="{rating}"),
        "progress": gettext("%(count)s of %(limit)s", count="{n}", limit="{total}"),
        "page": gettext("Page %(num)s of %(total)s", num="{n}", total="{total}"),
        "reply": gettext("Reply from %(name)s", name="{name}"),
    }
    if has_extras:
        words |= _write_extra_words(name)
    if header is not None:
        count = header["count"]
        ratings = ngettext("from %(num)s rating", "from %(num)s ratings", count, num="{n}")
        if header["all"]:
            ratings = ngettext(
                "from %(num)s rating in all", "from all %(num)s ratings", count, num="{n}"
            )
        people = header["people"]
        words |= {
            "ratings": ratings,
            "fromRatings": ratings,
            "people": ngettext("%(num)s person wrote", "%(num)s people wrote", people, num="{n}"),
        }
    return words | {name: _without_values(label) for name, label in labels.items()}


def _without_values(text: str) -> str:
    """Keep the script from filling in what an owner wrote in braces; it fails for other names."""
    return text.replace("{", "{\u2060")


def _write_extra_words(business: str) -> dict[str, str]:
    words = {name: translate(message) for name, message in EXTRA_WORDS.items()}
    # The name is filled in here, since older versions of the script don't do it.
    business = _without_values(business)
    words |= {
        "shortened": gettext("Shortened by %(name)s", name=business),
        "edited": gettext("Edited by %(name)s", name=business),
    }
    return words | {
        "video": gettext("Play the video of %(name)s", name="{name}"),
        "voice": gettext("Play the recording of %(name)s", name="{name}"),
        "verifiedMeans": gettext(
            "They used a link that %(name)s made for their order.", name="{name}"
        ),
        "insiderMeans": gettext(
            "They said so, or their address belongs to %(name)s.", name="{name}"
        ),
        "rewardedMeans": gettext(
            "%(name)s thanks everyone who writes, whatever they say.", name="{name}"
        ),
    }


def write_ratings(count: int, number: str) -> str:
    """Return the number of ratings in words, with `number` as the formatted count."""
    return ngettext("%(num)s rating", "%(num)s ratings", count, num=number)


def write_dates(times: Sequence[str], style: str, *, is_long: bool) -> list[str]:
    """Return the dates of these times (ISO 8601) in the current language.

    `style` is a design's `dateStyle`; relative dates become months, since they would be wrong in a
    cached page. As in the script, all are empty if half of the cards would have the same month.
    """
    form = ("long" if is_long else "short") + (" day" if style == "absolute" else "")
    patterns = read_date_patterns()[current_language().code][form]
    dates = []
    for text in times:
        time = datetime.fromisoformat(text)
        dates.append(patterns[time.month - 1].format(day=time.day, year=time.year))
    most = max(1, (len(dates) - 1) / 2)
    if style != "absolute" and any(dates.count(each) > most for each in dates):
        return [""] * len(dates)
    return dates


def describe_writing(feed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patterns by which the script writes numbers and dates in the current language.

    `signs` are the decimal and the thousands separators. `dates` are the patterns of months, or of
    relative dates: up to six days, four weeks, twelve months and twenty years. The script formats
    dates with a day itself, since they differ by country.
    """
    language, style = current_language(), feed["design"]["dateStyle"]
    described: dict[str, Any] = {"signs": language.signs}
    if feed["items"] and style != "absolute":
        form = "long" if choose_kind(feed) == "list" else "short"
        patterns = read_date_patterns()[language.code]
        described["dates"] = patterns["ago" if style == "relative" else form]
    return described
