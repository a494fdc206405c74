"""What a tag may be called, and in which spelling a project knows it."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from marshmallow import ValidationError
from sqlalchemy import func, select

from testimonials.core.web.errors import ServiceError
from testimonials.core.web.fields import clean
from testimonials.extensions import db
from testimonials.testimonials.models import TAG_LENGTH, Testimonial, TestimonialTag

MAX_TAGS = 10
# Between tags in one line of text, in the scripts that have a comma of their own too.
SEPARATORS = ",،、，"


class TagRefused(ServiceError):
    """A tag can't be called this, or a testimonial can't have one more."""

    status = 422
    code = "TAG_REFUSED"


@dataclass(frozen=True)
class TagCount:
    """A tag of a project, and how many testimonials outside the trash have it."""

    name: str
    count: int


def read_tags(text: str) -> list[str]:
    """Return the tags of a line of text with commas between them, each once.

    Raises `TagRefused` for one that is too long, for control characters, and for too many.
    """
    for separator in SEPARATORS:
        text = text.replace(separator, ",")
    found: dict[str, str] = {}
    for part in text.split(","):
        if name := _read_tag(part):
            found.setdefault(fold(name), name)
    if len(found) > MAX_TAGS:
        raise TagRefused(f"Keep at most {MAX_TAGS} tags; these are {len(found)}.")
    return list(found.values())


def fold(name: str) -> str:
    """Return the form in which two spellings of one tag are equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def find_spellings(project_id: str) -> dict[str, str]:
    """Return the project's tags by their folded form, in the spelling used for each.

    For changes the project is locked, so that two spellings of one tag can't come about at once.
    """
    names = db.session.scalars(
        select(TestimonialTag.name).where(TestimonialTag.project_id == project_id).distinct()
    )
    return {fold(name): name for name in names}


def spell(known: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the names in the spelling that is `known`, where one is (`find_spellings`)."""
    return list({fold(name): known.get(fold(name), name) for name in names}.values())


def list_project_tags(project_id: str) -> Sequence[TagCount]:
    """Return the project's tags in alphabetical order, with how many testimonials have each."""
    rows = db.session.execute(
        select(TestimonialTag.name, func.count())
        .join(Testimonial, Testimonial.id == TestimonialTag.testimonial_id)
        .where(TestimonialTag.project_id == project_id, Testimonial.deleted_at.is_(None))
        .group_by(TestimonialTag.name)
    ).all()
    return sorted((TagCount(name, count) for name, count in rows), key=lambda tag: fold(tag.name))


def _read_tag(text: str) -> str:
    try:
        name = unicodedata.normalize("NFC", " ".join(clean(text, one_line=True).split()))
    except ValidationError:
        raise TagRefused("Remove the control characters and line breaks from the tags.") from None
    if len(name) > TAG_LENGTH:
        short = f"{name[:20]}…"
        raise TagRefused(f"Shorten the tag {short} to {TAG_LENGTH} characters; it has {len(name)}.")
    return name
