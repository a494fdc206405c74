"""The widget's own words, in the current language (docs/languages.md).

The script puts values into `{name}`.
"""

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

# By the names that the feed has for them; and those of testimonials that have more than words.
_FILE = Path(__file__).with_name("words.json")
WORDS, EXTRA_WORDS = (each["texts"] for each in json.loads(_FILE.read_text("utf-8")).values())


def read_language(tag: str | None) -> str | None:
    """Return the code of the language with a tag such as `de-AT`, English if it isn't known.

    None stays None: no words are asked for.
    """
    return None if tag is None else (find_language(tag) or ENGLISH).code


def write_words(
    labels: Mapping[str, str],
    header: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    has_extras: bool = True,
) -> dict[str, str]:
    """Return the words by name; `labels` are the owner's own, `name` is the project's.

    What names a number of ratings is there only with a `header` (`describe_header`), in the form
    that its numbers need. Without `has_extras`, what belongs to recordings and marks is left out.
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
    return words | dict(labels)


def _write_extra_words(business: str) -> dict[str, str]:
    words = {name: translate(message) for name, message in EXTRA_WORDS.items()}
    # With the name in them, because scripts of before fill in none here.
    words |= {
        "shortened": gettext("Shortened by %(name)s", name=business),
        "edited": gettext("Edited by %(name)s", name=business),
    }
    return words | {
        "video": gettext("Play the video of %(name)s", name="{name}"),
        "voice": gettext("Play the recording of %(name)s", name="{name}"),
        "verifiedMeans": gettext(
            "They wrote by a link that %(name)s made for their order.", name="{name}"
        ),
        "insiderMeans": gettext(
            "They said so, or their address is one of %(name)s.", name="{name}"
        ),
        "rewardedMeans": gettext(
            "%(name)s thanks everybody who writes, whatever they say.", name="{name}"
        ),
    }


def write_ratings(count: int, number: str) -> str:
    """Return how many ratings there are, with `number` in place of the formatted count."""
    return ngettext("%(num)s rating", "%(num)s ratings", count, num=number)


# Dates as a widget writes them: rendered by the server never relative, for want of a clock.


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


def describe_writing(feed: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the script writes a feed's numbers and dates in the current language.

    `signs` are those before decimals and between thousands, `dates` the months, or how long ago:
    up to six days, four weeks, twelve months and twenty years. Dates with a day differ by country.
    """
    language, style = current_language(), feed["design"]["dateStyle"]
    written: dict[str, Any] = {"signs": language.signs}
    if feed["items"] and style != "absolute":
        form = "long" if choose_kind(feed) == "list" else "short"
        patterns = read_date_patterns()[language.code]
        written["dates"] = patterns["ago" if style == "relative" else form]
    return written
