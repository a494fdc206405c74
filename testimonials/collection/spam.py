"""Which submissions are held as spam, and why.

Nothing is refused: a held submission is stored and can be released. Each rule looks for something
that people don't do, so one is enough; speed counts only together with a link.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, func, select

from testimonials.auth.emails import send_plain_mail
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.urls import project_url
from testimonials.core.jobs import job
from testimonials.core.settings.current import count_days, current_settings
from testimonials.core.text import bare, cut
from testimonials.projects.models import Project
from testimonials.projects.notifications import Reader, list_readers, make_unsubscribe_url
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.notifications import NAME_LENGTH, take_up

# Stored in `Testimonial.held_for`, in this order.
BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD = (
    "bait", "fast", "links", "duplicate", "address", "flood"
)  # fmt: skip
TELL_OF_FLOOD = "mail.flood"
REASONS = (BAIT, FAST, LINKS, DUPLICATE, ADDRESS, FLOOD)

MAX_LINKS = 2
DUPLICATE_DAYS = timedelta(days=7)
# Several people may write the same few words, but not the same sentence.
OWN_WORDS_LENGTH = 30
# A project that usually gets many may get a tenth of its last thirty days in an hour.
FLOOD_SHARE = 10
USUAL_DAYS = timedelta(days=30)
MAX_COUNTED = 20_000
# How long the inbox mentions a flood.
TOLD_DAYS = timedelta(days=7)

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
    project: Project,
    values: Mapping[str, Any],
    words: str | None,
    signs: Sequence[str],
    now: datetime,
) -> list[str]:
    """Return why a submission to the locked project is held; nothing if it isn't.

    `values` are its columns, `words` the fingerprint of its text, if it has any, and `signs` the
    reasons that the request itself gave.
    """
    found = set(signs)
    if not find_links(values["text"]):
        # People who paste a prepared text are just as quick.
        found.discard(FAST)
    answers = values.get("answers") or ()
    said = [values["text"], *(each["answer"] for each in answers if each["kind"] == "text")]
    if any(is_link_stuffed(text, values["author_name"]) for text in said):
        found.add(LINKS)
    if words and _has_duplicate(project, values, words, now):
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


@job(TELL_OF_FLOOD, "mail")
def tell_of_held(testimonial_id: str) -> None:
    with write(partial(take_up, testimonial_id)) as found:
        if found is not None:
            tell_of_flood(*found)


def tell_of_flood(project: Project, row: Testimonial) -> None:
    """Notify the project's people of the first submission of a day that is held as a flood.

    There may be a reason for it, such as an event of theirs.
    """
    midnight = row.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
    earlier = _find_flood(project, midnight).where(Testimonial.created_at < row.created_at)
    newest = earlier.order_by(Testimonial.created_at.desc()).limit(1)
    if db.session.scalar(newest) is not None:
        return
    for reader in list_readers(project):
        if reader.mode != "never":
            _send_flood_mail(project, reader)


def _send_flood_mail(project: Project, reader: Reader) -> None:
    """Tell somebody that a flood was held as spam, and that some of it may be real."""
    name = cut(project.name, NAME_LENGTH)
    send_plain_mail(
        reader.email,
        "flood",
        f"Many testimonials came at once for {name}",
        [
            f"More than {current_settings().flood_per_hour} testimonials arrived within an hour. "
            f"The rest are held as spam{_for_days(count_days('spam'))}, since it is mostly "
            "programs that send so many.",
            "If they came from an event or a newsletter, release them there; nothing is lost. The "
            "operator of this service can raise the limit.",
        ],
        footnote="You get this mail once a day at most, and never if you choose “Never” in the "
        "project’s settings, Mail to you.",
        link=f"{project_url(project.id, 'inbox')}?status=spam",
        button="Open the spam folder",
        list_unsubscribe=make_unsubscribe_url(project.id, reader.account_id),
    )


def _for_days(days: int) -> str:
    return f" for {days} day{'s' if days > 1 else ''}" if days else ""


def count_flood(project: Project) -> int:
    """Return how many testimonials of a recent flood are still in spam."""
    found = _find_flood(project, clock.now() - TOLD_DAYS).where(Testimonial.status == "spam")
    return int(db.session.scalar(select(func.count()).select_from(found.subquery())) or 0)


def _find_flood(project: Project, since: datetime) -> Select[str]:
    return select(Testimonial.id).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > since,
        Testimonial.held_for.contains(FLOOD),
    )


def _has_duplicate(project: Project, values: Mapping[str, Any], words: str, now: datetime) -> bool:
    # The newest are enough in a flood of the same words.
    names = db.session.scalars(
        select(Testimonial.author_name)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.text_fingerprint == words,
            Testimonial.created_at > now - DUPLICATE_DAYS,
            Testimonial.deleted_at.is_(None),
            # An author who withdrew may write again.
            Testimonial.status != "withdrawn",
        )
        .order_by(Testimonial.created_at.desc())
        .limit(50)
    ).all()
    if len(bare(values["text"])) >= OWN_WORDS_LENGTH:
        return bool(names)
    return bare(values["author_name"]) in map(bare, names)


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
