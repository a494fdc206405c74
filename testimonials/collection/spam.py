"""Which submissions are held in the spam folder, and why.

Nothing here refuses anybody: what is held is stored whole and can be released. Each rule looks for
what people don't do, so that one of them alone is reason enough.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from testimonials.extensions import db
from testimonials.projects.models import Project
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
# A newsletter brings a small business this many in its best hour, and one that usually gets more
# may get more: a tenth of what it took in thirty days.
FLOOD_PER_HOUR = 100
FLOOD_SHARE = 10
USUAL_DAYS = timedelta(days=30)
MOST_COUNTED = 20_000

# What a browser or a person would see as a link: with a scheme, with www, or a host with a path.
_LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'\[\]]+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/[^\s<>\"'\[\]]+",
    re.IGNORECASE,
)
# Nobody writes markup to a customer's praise; programs try which kind works.
_MARKUP = re.compile(r"<a\s[^>]*href|\[(?:url|link)\b", re.IGNORECASE)


def find_reasons(
    project: Project, values: Mapping[str, Any], signs: Sequence[str], now: datetime
) -> list[str]:
    """Give why a submission to the locked project is held; none for the queue.

    `values` are its columns, `signs` the reasons that the door saw in the act of sending.
    """
    found = set(signs)
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
    """Give the links in a text."""
    return _LINK.findall(text)


def fingerprint(text: str) -> str:
    """Give a short text that is the same for the same words, however they are spaced and dotted."""
    return hashlib.sha256(_bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def _has_duplicate(project: Project, values: Mapping[str, Any], now: datetime) -> bool:
    """Tell whether the same words came before, from the same name where they are few."""
    names = db.session.scalars(
        select(Testimonial.author_name)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.text_fingerprint == fingerprint(values["text"]),
            Testimonial.created_at > now - DUPLICATE_DAYS,
            Testimonial.deleted_at.is_(None),
            # Who took their consent back may write again.
            Testimonial.status != "withdrawn",
        )
        # The newest tell enough of a flood of the same words.
        .order_by(Testimonial.created_at.desc())
        .limit(50)
    ).all()
    if len(_bare(values["text"])) >= OWN_WORDS_LENGTH:
        return bool(names)
    return _bare(values["author_name"]) in map(_bare, names)


def _is_flooded(project: Project, now: datetime) -> bool:
    """Tell whether the project got more within the hour than it usually may."""
    hour = now - timedelta(hours=1)
    recent = select(Testimonial.id).where(
        Testimonial.project_id == project.id,
        Testimonial.source == "public_page",
        Testimonial.created_at > hour,
    )
    # Looking for the hundredth newest costs little, however many there are.
    if not _reaches(recent, FLOOD_PER_HOUR):
        return False
    usual = (
        select(Testimonial.id)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.status.in_(("pending", "approved")),
            Testimonial.created_at > now - USUAL_DAYS,
            Testimonial.created_at <= hour,
        )
        .limit(MOST_COUNTED)
    )
    allowed = int(db.session.scalar(select(func.count()).select_from(usual.subquery())) or 0)
    allowed //= FLOOD_SHARE
    return allowed <= FLOOD_PER_HOUR or _reaches(recent, allowed)


def _reaches(query: Any, count: int) -> bool:
    newest = query.order_by(Testimonial.created_at.desc()).offset(count - 1).limit(1)
    return db.session.scalar(newest) is not None
