"""Which submissions are held in the spam folder, and why.

Nothing here refuses anybody: what is held is stored whole and can be released. Each rule looks for
what people don't do, so that one of them alone is reason enough; being quick counts only together
with a link.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, func, select

from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial

# The words kept in `Testimonial.held_for`, in this order; they are stored, so they stay.
BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD = (
    "bait", "fast", "links", "duplicate", "address", "flood"
)  # fmt: skip
REASONS = (BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD)

MOST_LINKS = 2
DUPLICATE_DAYS = timedelta(days=7)
# Several people may well write the same few words; nobody writes the same sentence as another.
OWN_WORDS_LENGTH = 30
# A project that usually gets many may get more than the setting says: a tenth of thirty days.
FLOOD_SHARE = 10
USUAL_DAYS = timedelta(days=30)
MOST_COUNTED = 20_000

# What a browser or a person would see as a link: with a scheme, with www, or a host with a path.
# A name has at most ten parts here, so that looking for one takes no longer in a text full of dots.
_LINK = re.compile(
    r"(?:(?:https?://|www\.)|(?<![a-z0-9-])(?:[a-z0-9-]{1,63}+\.){1,9}[a-z]{2,63}+/)"
    r"[^\s<>\"'\[\]]++",
    re.IGNORECASE,
)
# Nobody writes markup to a customer's praise; programs try which kind works.
_MARKUP = re.compile(r"<a\s[^<>]*href|\[(?:url|link)\b", re.IGNORECASE)


# The queries are asked with each submission, so they are built once.
_OF_PROJECT = Testimonial.project_id == bindparam("project_id")
_FIND_NAMES = (
    select(Testimonial.author_name)
    .where(
        _OF_PROJECT,
        Testimonial.text_fingerprint == bindparam("fingerprint"),
        Testimonial.created_at > bindparam("since"),
        Testimonial.deleted_at.is_(None),
        # Who took their consent back may write again.
        Testimonial.status != "withdrawn",
    )
    # The newest tell enough of a flood of the same words.
    .order_by(Testimonial.created_at.desc())
    .limit(50)
)
# Looking for the hundredth newest costs little, however many there are.
_FIND_NTH = (
    select(Testimonial.id)
    .where(
        _OF_PROJECT,
        Testimonial.source == "public_page",
        Testimonial.created_at > bindparam("since"),
    )
    .order_by(Testimonial.created_at.desc())
    .offset(bindparam("before"))
    .limit(1)
)
_COUNT_USUAL = select(func.count()).select_from(
    select(Testimonial.id)
    .where(
        _OF_PROJECT,
        Testimonial.status.in_(("pending", "approved")),
        Testimonial.created_at > bindparam("since"),
        Testimonial.created_at <= bindparam("until"),
    )
    .limit(MOST_COUNTED)
    .subquery()
)


def find_reasons(
    project: Project, values: Mapping[str, Any], signs: Sequence[str], now: datetime
) -> list[str]:
    """Return why a submission to the locked project is held; none for the queue.

    `values` are its columns, `signs` the reasons that the door saw in the act of sending.
    """
    found = set(signs)
    if not find_links(values["text"]):
        # Prepared words are pasted as quickly; only with a link in them does it tell of a program.
        found.discard(FAST)
    if is_link_stuffed(values["text"], values["author_name"]):
        found.add(LINKS)
    if _has_duplicate(project, values, now):
        found.add(DUPLICATE)
    if _is_flooded(project, now):
        found.add(FLOOD)
    return [reason for reason in REASONS if reason in found]


def is_link_stuffed(text: str, name: str) -> bool:
    """Tell whether a text holds three links, more link than words, or the markup of a link.

    A name never holds one.
    """
    links = find_links(text)
    if len(links) > MOST_LINKS or _MARKUP.search(text) or find_links(name):
        return True
    length = sum(map(len, links))
    return length > len("".join(text.split())) - length


def find_links(text: str) -> list[str]:
    return _LINK.findall(text)


def fingerprint(text: str) -> str:
    """Return a short text that is the same for the same words,
    however they are spaced and dotted."""
    return hashlib.sha256(_bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def _has_duplicate(project: Project, values: Mapping[str, Any], now: datetime) -> bool:
    wanted = {
        "project_id": project.id,
        "fingerprint": fingerprint(values["text"]),
        "since": now - DUPLICATE_DAYS,
    }
    names = db.session.connection().scalars(_FIND_NAMES, wanted).all()
    if len(_bare(values["text"])) >= OWN_WORDS_LENGTH:
        return bool(names)
    return _bare(values["author_name"]) in map(_bare, names)


def _is_flooded(project: Project, now: datetime) -> bool:
    hour = now - timedelta(hours=1)
    limit = current_settings().flood_per_hour
    if not limit or not _reaches(project, hour, limit):
        return False
    times = {"project_id": project.id, "since": now - USUAL_DAYS, "until": hour}
    allowed = int(db.session.connection().scalar(_COUNT_USUAL, times) or 0) // FLOOD_SHARE
    return allowed <= limit or _reaches(project, hour, allowed)


def _reaches(project: Project, since: datetime, count: int) -> bool:
    values = {"project_id": project.id, "since": since, "before": count - 1}
    return db.session.connection().scalar(_FIND_NTH, values) is not None
