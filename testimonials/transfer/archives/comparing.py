"""Comparing what an archive says with the public record that it carries.

Nothing but the record vouches for a row: whoever brings an archive may have edited it. What isn't
as the record says, or can't be checked, is what it then is: brought in by the owner.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from testimonials.core import clock
from testimonials.core.chain import Log
from testimonials.testimonials.history import CONFIRM, CORRECT, OBJECT, OWN_WORDS
from testimonials.testimonials.models import OVERDUE_DAYS, REASONS
from testimonials.testimonials.record import WORDS, group_entries, hash_told, is_kept
from testimonials.transfer.archives.format import KEPT_RATING, Row

Entry = Mapping[str, Any]
# What only an author gives, or their link proves.
AUTHORS = (
    "purchase_reference", "purchase_verified_at", "email_verified_at", "consent_text",
    "consent_language", "consented_at", "submission_key", "text_fingerprint",
)  # fmt: skip
# How much earlier a testimonial was made than its entry.
SOON = timedelta(hours=1)


@dataclass
class Differences:
    """How an archive differs from its record."""

    # The testimonials that do.
    rows: list[Row] = field(default_factory=list)
    # Ids of those that answer a request, as the record says: the request itself may be forgotten.
    asked: list[str] = field(default_factory=list)
    # How many ratings the record has and the archive lacks.
    missing: int = 0
    # How many were set aside and are gone, by reason.
    aside: Counter[str] = field(default_factory=Counter)
    # Ids of those that their authors had erased.
    erased: set[str] = field(default_factory=set)


def settle_differences(
    lists: Mapping[str, list[Row]], log: Log, digests: Mapping[str, str]
) -> Differences:
    """Change the rows of an archive that differ from its log to what they then are.

    A visitor's rating counts as the log says, and no longer belongs to the words. `digests` are
    those of pictures, and of recordings by their testimonials.
    """
    entries, found = group_entries(log), Differences()
    there = {row["id"] for row in lists["testimonials"]}
    kept = Counter[tuple[int, float]]()
    overdue = clock.now() - timedelta(days=OVERDUE_DAYS)
    for row in lists["testimonials"]:
        row["is_overdue"] = row["is_overdue"] and row["created_at"] <= overdue
        own = entries.get(row["id"], [])
        if row["status"] == "demo" or _is_as_said(row, own, digests):
            if any("request" in each["proofs"] for each in own):
                found.asked.append(row["id"])
            continue
        found.rows.append(row)
        row.update(dict.fromkeys(AUTHORS), source="import", shows_earlier=False)
        if own and own[-1]["kind"] == "erased":
            found.erased.add(row["id"])
        if own and own[-1]["status"] == "withdrawn":
            row["status"] = "withdrawn"
        if own and is_kept(own[-1]):
            kept[_find_day(own[0]), own[-1]["stars"]] += 1
            row["rating"] = None
    found.aside = _count_aside(log, entries, there)
    gone = _count_gone(log, entries, there)
    found.missing = _settle_kept(lists["keptRatings"], gone, kept)
    return found


def _is_as_said(row: Row, entries: list[dict[str, Any]], digests: Mapping[str, str]) -> bool:
    if not entries:
        return False
    marks = {"insider": row["is_insider"], "rewarded": row["is_rewarded"]}
    newest = entries[-1]
    proved = {"order": row["purchase_verified_at"], "email": row["email_verified_at"]}
    says = {
        "source": row["source"],
        "status": row["status"],
        "stars": row["rating"],
        "reason": row["set_aside"],
        "deleted": True if row["deleted_at"] else None,
    }
    return (
        all(newest.get(name) == value for name, value in says.items())
        and {name for name, at in proved.items() if at} <= set(newest["proofs"])
        and all(marks[name] for name in newest.get("marks", ()))
        and _is_of_then(row, entries)
        and _has_words(row, entries, digests)
    )


def _is_of_then(row: Row, entries: list[dict[str, Any]]) -> bool:
    """Tell whether it was made when the record says, and is of the day that it says."""
    made = datetime.fromisoformat(entries[0]["time"])
    day = row["submitted_at"].date().isoformat()
    usual = row["created_at"].date().isoformat()
    return bool(abs(made - row["created_at"]) < SOON and day == entries[-1].get("day", usual))


def _has_words(row: Row, entries: list[dict[str, Any]], digests: Mapping[str, str]) -> bool:
    """Tell whether words and media are those of the hashes, and so were the words before.

    Words that somebody else changed must be known as changed: the card says so.
    """
    hashed = [each for each in entries if "words" in each]
    if not hashed or len(row["salts"]) != len(hashed):
        return False
    media = {"photo": digests.get(row["avatar_id"]), "recording": digests.get(row["id"])}
    told = {name: hash_told(row["salts"][-1], each) for name, each in media.items() if each}
    if not told.items() <= hashed[-1].get("media", {}).items():
        return False
    own, states = set[str](), _list_states(row)
    then = next(states)
    for entry, salt in zip(reversed(hashed), reversed(row["salts"]), strict=True):
        while hash_told(salt, then) != entry["words"]:
            if (earlier := next(states, None)) is None:
                return False
            then = earlier
        if entry["by"] == "author" and entry["kind"] != "objected":
            own.add(then["text"])
    return row["source"] != "public_page" or row["text"] in own or _is_marked(row)


def _list_states(row: Row) -> Iterator[dict[str, str]]:
    """Yield the words of a row, then those before each of its changes, newest first."""
    then = {name: row[column] or "" for column, name in WORDS.items()}
    yield then
    for change in reversed(row["changes"]):
        before = change["before"]
        then |= {name: before[column] or "" for column, name in WORDS.items() if column in before}
        yield then


def _is_marked(row: Row) -> bool:
    """Tell whether its card will say that somebody else changed its words; see `find_marks`."""
    for change in reversed(row["changes"]):
        if change["action"] in (CORRECT, CONFIRM, OBJECT):
            return change["action"] not in OWN_WORDS and bool(row["original_text"])
        if not WORDS.keys().isdisjoint(change["before"]):
            break
    return row["original_text"] not in (None, row["text"])


def _count_aside(
    log: Log, entries: Mapping[str, list[dict[str, Any]]], there: set[str]
) -> Counter[str]:
    found = Counter[str]()
    for id, own in entries.items():
        is_gone = id not in there and "reason" in own[-1]
        # Its author erased what nobody had set aside.
        if is_gone and any("reason" in each for each in own if each["kind"] != "erased"):
            found[own[-1]["reason"]] += 1
    for entry in log.entries:
        found.update(entry.get("aside", {}))
    return +Counter({reason: found[reason] for reason in REASONS})


def _count_gone(
    log: Log, entries: Mapping[str, list[dict[str, Any]]], there: set[str]
) -> Counter[tuple[int, float]]:
    """Count by day and stars the ratings that count though their testimonials are gone."""
    found = Counter[tuple[int, float]]()
    for id, own in entries.items():
        if id not in there and is_kept(own[-1]):
            found[_find_day(own[0]), own[-1]["stars"]] += 1
    for entry in log.entries:
        for stars, number in entry.get("kept", {}).items():
            found[_find_day(entry), float(stars)] += number
    return found


def _find_day(entry: Entry) -> int:
    return (datetime.fromisoformat(entry["time"]) - clock.EPOCH).days


def _settle_kept(
    rows: list[Row], gone: Counter[tuple[int, float]], kept: Counter[tuple[int, float]]
) -> int:
    """Have the kept ratings be as many as the log says; return how many were missing.

    Their days are the archive's, which knows on which they were said, while their numbers agree.
    """
    given = Counter({(row["day"], row["rating"]): row["number"] for row in rows})
    missing = _count_stars(gone) - _count_stars(given)
    is_same = _count_stars(gone) == _count_stars(given)
    right = (given if is_same else gone) + kept
    rows[:] = [
        KEPT_RATING.read({"day": day, "rating": stars, "number": number}, "record")
        for (day, stars), number in right.items()
    ]
    return missing.total()


def _count_stars(ratings: Counter[tuple[int, float]]) -> Counter[float]:
    found = Counter[float]()
    for (_, stars), number in ratings.items():
        found[stars] += number
    return +found
