"""Which submissions are held as spam, and why.

Nothing is refused here: what is held is stored and can be released. Each rule looks for what people
don't do, so one of them alone is enough; being quick counts only together with a link.
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
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial

# The words kept in `Testimonial.held_for`, in this order; they are stored, so they stay.
BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD = (
    "bait", "fast", "links", "duplicate", "address", "flood"
)  # fmt: skip
REASONS = (BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD)

MAX_LINKS = 2
DUPLICATE_DAYS = timedelta(days=7)
# Several people may write the same few words, but not the same sentence.
OWN_WORDS_LENGTH = 30
# A project that usually gets many may get a tenth of its last thirty days in an hour.
FLOOD_SHARE = 10
USUAL_DAYS = timedelta(days=30)
MAX_COUNTED = 20_000

# A link has a scheme, www, or a host with a path. A host has at most ten parts here, so that the
# search takes no longer in a text full of dots.
_LINK = re.compile(
    r"(?:(?:https?://|www\.)|(?<![a-z0-9-])(?:[a-z0-9-]{1,63}+\.){1,9}[a-z]{2,63}+/)"
    r"[^\s<>\"'\[\]]++",
    re.IGNORECASE,
)
# People don't write markup; programs try which kind works.
_MARKUP = re.compile(r"<a\s[^<>]*href|\[(?:url|link)\b", re.IGNORECASE)


def find_reasons(
    project: Project, values: Mapping[str, Any], signs: Sequence[str], now: datetime
) -> list[str]:
    """Return why a submission to the locked project is held, if it is.

    `values` are its columns, `signs` what spoke for a program in the request.
    """
    found = set(signs)
    if not find_links(values["text"]):
        # People paste prepared words as quickly.
        found.discard(FAST)
    if is_link_stuffed(values["text"], values["author_name"]):
        found.add(LINKS)
    if _has_duplicate(project, values, now):
        found.add(DUPLICATE)
    if _is_flooded(project, now):
        found.add(FLOOD)
    return [reason for reason in REASONS if reason in found]


def is_link_stuffed(text: str, name: str) -> bool:
    """Tell whether a text has three links, more link than words, or markup; or a name has one."""
    links = find_links(text)
    if len(links) > MAX_LINKS or _MARKUP.search(text) or find_links(name):
        return True
    length = sum(map(len, links))
    return length > len("".join(text.split())) - length


def find_links(text: str) -> list[str]:
    return _LINK.findall(text)


def fingerprint(text: str) -> str:
    """Return a hash of the words, whatever their case, spaces and punctuation."""
    return hashlib.sha256(_bare(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()


def _has_duplicate(project: Project, values: Mapping[str, Any], now: datetime) -> bool:
    # The newest are enough in a flood of the same words.
    names = db.session.scalars(
        select(Testimonial.author_name)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.text_fingerprint == fingerprint(values["text"]),
            Testimonial.created_at > now - DUPLICATE_DAYS,
            Testimonial.deleted_at.is_(None),
            # Who withdrew their consent may write again.
            Testimonial.status != "withdrawn",
        )
        .order_by(Testimonial.created_at.desc())
        .limit(50)
    ).all()
    if len(_bare(values["text"])) >= OWN_WORDS_LENGTH:
        return bool(names)
    return _bare(values["author_name"]) in map(_bare, names)


def _is_flooded(project: Project, now: datetime) -> bool:
    """Tell whether the project got more within the hour than the setting and its usual share."""
    hour, limit = now - timedelta(hours=1), current_settings().flood_per_hour
    if not limit or not _reaches(project, hour, limit):
        return False
    usual = (
        select(Testimonial.id)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.status.in_(("pending", "approved")),
            Testimonial.created_at > now - USUAL_DAYS,
            Testimonial.created_at <= hour,
        )
        .limit(MAX_COUNTED)
    )
    count = db.session.scalar(select(func.count()).select_from(usual.subquery()))
    allowed = int(count or 0) // FLOOD_SHARE
    return allowed <= limit or _reaches(project, hour, allowed)


def _reaches(project: Project, since: datetime, count: int) -> bool:
    # Looking for the hundredth newest costs little, however many there are.
    query = (
        select(Testimonial.id)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.source == "public_page",
            Testimonial.created_at > since,
        )
        .order_by(Testimonial.created_at.desc())
        .offset(count - 1)
    )
    return db.session.scalar(query.limit(1)) is not None
