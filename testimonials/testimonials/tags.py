"""Tags: parsing and changing them, and a project's spelling of each."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.late import Signal
from testimonials.core.text import LINE_BREAK, TAG_LENGTH, TAG_SEPARATORS, UNUSABLE, normalize
from testimonials.projects.models import Project
from testimonials.testimonials.counts import count_tags
from testimonials.testimonials.history import Part, change_all, in_parts
from testimonials.testimonials.inbox import find_rows
from testimonials.testimonials.models import TestimonialTag

MAX_TAGS = 10
# More than ten tags need, even with spaces and accents.
LONGEST_LINE = 2_000


class TagRefused(ServiceError):
    """A name isn't allowed, or a testimonial has too many tags."""

    status = 422
    meaning = "A tag's name isn't allowed, or there are too many tags."
    remedy = "Change the tags as `message` says."


@dataclass(frozen=True)
class Tag:
    """A tag of a project, and how many testimonials outside the trash have it."""

    name: str
    count: int


def read_tags(text: str) -> list[str]:
    """Return the tags in a comma-separated line, without duplicates. Raises `TagRefused`."""
    if len(text) > LONGEST_LINE:
        raise TagRefused(
            gettext_noop("Shorten this to %(limit)s characters; it has %(count)s."),
            values={"limit": LONGEST_LINE, "count": len(text)},
        )
    for separator in TAG_SEPARATORS:
        text = text.replace(separator, ",")
    tags: dict[str, str] = {}
    for part in text.split(","):
        if name := _read_tag(part):
            tags.setdefault(fold(name), name)
    if len(tags) > MAX_TAGS:
        raise TagRefused(
            gettext_noop("Use at most %(most)s tags; these are %(count)s."),
            values={"most": MAX_TAGS, "count": len(tags)},
        )
    return list(tags.values())


def fold(name: str) -> str:
    """Return a form that is the same for all spellings of a tag."""
    return normalize("NFKC", normalize("NFKC", name[:LONGEST_LINE]).casefold())


def find_spellings(project_id: str) -> dict[str, str]:
    """Return the project's tags by their folded form.

    Lock the project before a change, so that two spellings of a tag can't be added at once.
    """
    return {fold(name): name for name in count_tags(project_id)}


def spell(known: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the names in their `known` spellings (`find_spellings`), without duplicates."""
    return list({fold(name): known.get(fold(name), name) for name in names}.values())


def list_project_tags(project_id: str) -> Sequence[Tag]:
    """Return the tags of testimonials outside the trash, in alphabetical order."""
    tags = [Tag(name, kept) for name, (kept, _) in count_tags(project_id).items() if kept]
    return sorted(tags, key=lambda tag: fold(tag.name))


def offer_tags(project_id: str, *chosen: str) -> list[str]:
    """Return the 200 most frequent tags in alphabetical order, then the `chosen` ones."""
    tags = heapq.nlargest(200, list_project_tags(project_id), key=lambda tag: tag.count)
    return list(dict.fromkeys([*sorted((tag.name for tag in tags), key=fold), *chosen]))


def add_tag(project: Project, ids: Sequence[str], name: str, actor: str) -> tuple[str, int]:
    """Add a tag to those testimonials of the locked project that can take one, with `in_parts`.

    Raises `TagRefused` unless `name` is one valid tag.
    """
    (tag,) = spell(find_spellings(project.id), [_read_one(name)])

    def with_tag(tags: list[str]) -> list[str]:
        return tags if len(tags) >= MAX_TAGS else [*tags, tag]

    return _change_tags(project, ids, with_tag, actor)


def remove_tag(project: Project, ids: Sequence[str], name: str, actor: str) -> tuple[str, int]:
    """Remove a tag from testimonials of the locked project, like `add_tag`."""
    folded = fold(_read_one(name))
    return _change_tags(
        project, ids, lambda tags: [tag for tag in tags if fold(tag) != folded], actor
    )


# Sent with the project, `old` and `new`, once all of its testimonials have the new name.
tag_renamed = Signal()


def rename_tag(project: Project, name: str, new: str, actor: str) -> tuple[str, int]:
    """Rename a tag of the locked project; return its new name and how many testimonials changed.

    If there is already a tag with the new name, the two become one. Raises `NotFound` and
    `TagRefused`.
    """
    known = find_spellings(project.id)
    old = _find_tag(known, name)
    new_name = _read_one(new)
    (tag,) = [new_name] if fold(new_name) == fold(old) else spell(known, [new_name])

    def work(some: Sequence[str], part: Part) -> int:
        changes = [
            (row, {"tags": sorted({*row.tags} - {old} | {tag}, key=str.casefold)})
            for row in find_rows(project.id, some)
        ]
        return change_all(project, changes, actor, "tag", part)[1]

    ids = _list_tagged(project, old) if tag != old else ()
    count = in_parts(ids, work)[1]
    tag_renamed.send(project, old=old, new=tag)
    return tag, count


def delete_tag(project: Project, name: str, actor: str) -> tuple[str, str, int]:
    """Remove a tag from all testimonials of the locked project; return its name, batch and count.

    Raises `NotFound`.
    """
    tag = _find_tag(find_spellings(project.id), name)
    return tag, *remove_tag(project, _list_tagged(project, tag), tag, actor)


def _find_tag(known: dict[str, str], name: str) -> str:
    if (tag := known.get(fold(name))) is None:
        raise NotFound(f"This project has no tag named {name[:TAG_LENGTH]}.")
    return tag


def _list_tagged(project: Project, name: str) -> Sequence[str]:
    row = TestimonialTag
    query = select(row.testimonial_id).where(row.project_id == project.id, row.name == name)
    return db.session.scalars(query).all()


def _read_tag(text: str) -> str:
    line = text.strip()
    if UNUSABLE.search(text) or LINE_BREAK.search(line):
        raise TagRefused(
            gettext_noop("Remove the control characters and line breaks from the tags.")
        )
    name = normalize("NFC", " ".join(line.split()))
    if len(name) > TAG_LENGTH:
        raise TagRefused(
            gettext_noop("Shorten the tag %(tag)s to %(most)s characters; it has %(count)s."),
            values={"tag": f"{name[:20]}…", "most": TAG_LENGTH, "count": len(name)},
        )
    return name


def _change_tags(
    project: Project, ids: Sequence[str], make: Callable[[list[str]], list[str]], actor: str
) -> tuple[str, int]:
    def work(some: Sequence[str], part: Part) -> int:
        changes = []
        for row in find_rows(project.id, some):
            if row.deleted_at is not None or row.status in ("demo", "withdrawn"):
                continue
            after = make(row.tags)
            if set(map(fold, after)) != set(map(fold, row.tags)):
                changes.append((row, {"tags": after}))
        return change_all(project, changes, actor, "tag", part)[1]

    return in_parts(ids, work)


def _read_one(text: str) -> str:
    names = read_tags(text)
    if len(names) != 1:
        raise TagRefused(gettext_noop("Enter one tag at a time."))
    return names[0]
