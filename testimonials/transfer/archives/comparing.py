"""Comparing an archive with the public record in it.

Anybody may have edited an archive, so only the record vouches for its rows. A testimonial that
differs from the record, or that can't be compared with it, counts as imported by the owner.
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
from testimonials.testimonials.record import WORDS, group_entries, hash_salted, is_kept
from testimonials.transfer.archives.format import KEPT_RATING, Row

# Columns that only an author or a link to them may set.
AUTHORS = (
    "purchase_reference", "purchase_verified_at", "email_verified_at", "consent_text",
    "consent_language", "consented_at", "submission_key", "text_fingerprint",
)  # fmt: skip


@dataclass
class Differences:
    """The differences between an archive and its record."""

    # The testimonials that differ.
    rows: list[Row] = field(default_factory=list)
    # The ids of testimonials that answer a request according to the record; the request itself may
    # be gone.
    asked: list[str] = field(default_factory=list)
    # How many ratings in the record the archive lacks.
    missing: int = 0
    # How many deleted testimonials had been set aside, by reason.
    aside: Counter[str] = field(default_factory=Counter)
    # The ids of testimonials that their authors had erased.
    erased: set[str] = field(default_factory=set)


def settle_differences(
    lists: Mapping[str, list[Row]], log: Log, digests: Mapping[str, str]
) -> Differences:
    """Turn the testimonials of an archive that differ from its log into imported ones.

    A visitor's rating counts as in the log, but is separated from the words. `digests` has those of
    pictures by their ids, and of recordings by those of their testimonials.
    """
    entries, differences = group_entries(log), Differences()
    present = {row["id"] for row in lists["testimonials"]}
    kept = Counter[tuple[int, float]]()
    overdue = clock.now() - timedelta(days=OVERDUE_DAYS)
    for row in lists["testimonials"]:
        row["is_overdue"] = row["is_overdue"] and row["created_at"] <= overdue
        own = entries.get(row["id"], [])
        if row["status"] == "demo" or _is_confirmed(row, own, digests):
            if any("request" in each["proofs"] for each in own):
                differences.asked.append(row["id"])
            continue
        differences.rows.append(row)
        row.update(dict.fromkeys(AUTHORS), source="import", shows_earlier=False)
        if own and own[-1]["kind"] == "erased":
            differences.erased.add(row["id"])
        if own and own[-1]["status"] == "withdrawn":
            row["status"] = "withdrawn"
        if own and is_kept(own[-1]):
            kept[_find_day(own[0]), own[-1]["stars"]] += 1
            row["rating"] = None
    differences.aside = _count_aside(log, entries, present)
    gone = _count_gone(log, entries, present)
    differences.missing = _settle_kept(lists["keptRatings"], gone, kept)
    return differences


def _is_confirmed(row: Row, entries: list[dict[str, Any]], digests: Mapping[str, str]) -> bool:
    if not entries:
        return False
    marks = {"insider": row["is_insider"], "rewarded": row["is_rewarded"]}
    newest = entries[-1]
    proved = {"order": row["purchase_verified_at"], "email": row["email_verified_at"]}
    values = {
        "source": row["source"],
        "status": row["status"],
        "stars": row["rating"],
        "reason": row["set_aside"],
        "deleted": True if row["deleted_at"] else None,
    }
    created, created_at = datetime.fromisoformat(entries[0]["time"]), row["created_at"]
    day = newest.get("day", created_at.date().isoformat())
    return (
        all(newest.get(name) == value for name, value in values.items())
        and {name for name, at in proved.items() if at} <= set(newest["proofs"])
        and all(marks[name] for name in newest.get("marks", ()))
        and abs(created - created_at) < timedelta(hours=1)
        and row["submitted_at"].date().isoformat() == day
        and _has_words(row, entries, digests)
    )


def _has_words(row: Row, entries: list[dict[str, Any]], digests: Mapping[str, str]) -> bool:
    """Return whether the words, their earlier versions and the media match the hashes.

    If somebody else has changed the words, the card must say so.
    """
    hashed = [each for each in entries if "words" in each]
    if not hashed or len(row["salts"]) != len(hashed):
        return False
    media = {"photo": digests.get(row["avatar_id"]), "recording": digests.get(row["id"])}
    hashes = {name: hash_salted(row["salts"][-1], each) for name, each in media.items() if each}
    if not hashes.items() <= hashed[-1].get("media", {}).items():
        return False
    own_texts, versions = set[str](), _list_versions(row)
    words = next(versions)
    for entry, salt in zip(reversed(hashed), reversed(row["salts"]), strict=True):
        while hash_salted(salt, words) != entry["words"]:
            if (earlier := next(versions, None)) is None:
                return False
            words = earlier
        if entry["by"] == "author" and entry["kind"] != "objected":
            own_texts.add(words["text"])
    return row["source"] != "public_page" or row["text"] in own_texts or _is_marked(row)


def _list_versions(row: Row) -> Iterator[dict[str, str]]:
    """Yield the words of a row, then those before each of its changes, newest first."""
    words = {name: row[column] or "" for column, name in WORDS.items()}
    yield words
    for change in reversed(row["changes"]):
        before = change["before"]
        words |= {name: before[column] or "" for column, name in WORDS.items() if column in before}
        yield words


def _is_marked(row: Row) -> bool:
    """Return whether the card says that somebody else has changed the words; see `find_marks`."""
    for change in reversed(row["changes"]):
        if change["action"] in (CORRECT, CONFIRM, OBJECT):
            return change["action"] not in OWN_WORDS and bool(row["original_text"])
        if not WORDS.keys().isdisjoint(change["before"]):
            break
    return row["original_text"] not in (None, row["text"])


def _count_aside(
    log: Log, entries: Mapping[str, list[dict[str, Any]]], present: set[str]
) -> Counter[str]:
    counts = Counter[str]()
    for id, own in entries.items():
        # Those that got a reason only when their authors erased them don't count.
        had_reason = any("reason" in each for each in own if each["kind"] != "erased")
        if id not in present and "reason" in own[-1] and had_reason:
            counts[own[-1]["reason"]] += 1
    for entry in log.entries:
        counts.update(entry.get("aside", {}))
    return +Counter({reason: counts[reason] for reason in REASONS})


def _count_gone(
    log: Log, entries: Mapping[str, list[dict[str, Any]]], present: set[str]
) -> Counter[tuple[int, float]]:
    """Count the ratings that outlived their testimonials, by day and stars."""
    counts = Counter[tuple[int, float]]()
    for id, own in entries.items():
        if id not in present and is_kept(own[-1]):
            counts[_find_day(own[0]), own[-1]["stars"]] += 1
    for entry in log.entries:
        for stars, number in entry.get("kept", {}).items():
            counts[_find_day(entry), float(stars)] += number
    return counts


def _find_day(entry: Mapping[str, Any]) -> int:
    return (datetime.fromisoformat(entry["time"]) - clock.EPOCH).days


def _settle_kept(
    rows: list[Row], gone: Counter[tuple[int, float]], kept: Counter[tuple[int, float]]
) -> int:
    """Replace the kept ratings with those of the log; return how many were missing.

    If the numbers agree, the archive's own stay, since their days are exact.
    """
    archived = Counter({(row["day"], row["rating"]): row["number"] for row in rows})
    expected, actual = _count_stars(gone), _count_stars(archived)
    rows[:] = [
        KEPT_RATING.read({"day": day, "rating": stars, "number": number}, "record")
        for (day, stars), number in ((archived if expected == actual else gone) + kept).items()
    ]
    return (expected - actual).total()


def _count_stars(ratings: Counter[tuple[int, float]]) -> Counter[float]:
    counts = Counter[float]()
    for (_, stars), number in ratings.items():
        counts[stars] += number
    return +counts
