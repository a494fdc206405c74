"""Tags: their names, the spelling a project uses for each, and changing them."""

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
# All of them in a line, with as many spaces, accents and repetitions as anybody writes.
LONGEST_LINE = 2_000


class TagRefused(ServiceError):
    """A name isn't allowed, or a testimonial has too many tags."""

    status = 422
    meaning = "A tag's name isn't allowed, or there are too many tags."
    remedy = "Change the tags as `message` says."


@dataclass(frozen=True)
class TagCount:
    """A tag of a project; `count` leaves out the trash."""

    name: str
    count: int


def read_tags(text: str) -> list[str]:
    """Return the tags of a line of text with commas between them, each once; raise `TagRefused`."""
    if len(text) > LONGEST_LINE:
        raise TagRefused(
            gettext_noop("Shorten this to %(limit)s characters; it has %(count)s."),
            values={"limit": LONGEST_LINE, "count": len(text)},
        )
    for separator in TAG_SEPARATORS:
        text = text.replace(separator, ",")
    found: dict[str, str] = {}
    for part in text.split(","):
        if name := _read_tag(part):
            found.setdefault(fold(name), name)
    if len(found) > MAX_TAGS:
        raise TagRefused(
            gettext_noop("Use at most %(most)s tags; these are %(count)s."),
            values={"most": MAX_TAGS, "count": len(found)},
        )
    return list(found.values())


def fold(name: str) -> str:
    """Return the form in which two spellings of one tag are equal."""
    return normalize("NFKC", normalize("NFKC", name[:LONGEST_LINE]).casefold())


def find_spellings(project_id: str) -> dict[str, str]:
    """Return the project's tags by their folded form.

    Before a change the project is locked, so that two spellings of one tag can't appear at once.
    """
    return {fold(name): name for name in count_tags(project_id)}


def spell(known: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the names, each in its `known` spelling if it has one (`find_spellings`)."""
    return list({fold(name): known.get(fold(name), name) for name in names}.values())


def list_project_tags(project_id: str) -> Sequence[TagCount]:
    """Return the project's tags in alphabetical order, with how many testimonials have each."""
    found = [TagCount(name, kept) for name, (kept, _) in count_tags(project_id).items() if kept]
    return sorted(found, key=lambda tag: fold(tag.name))


# As many as a list to choose from may hold; an import brings any number.
MOST_OFFERED = 200


def offer_tags(project_id: str, *chosen: str) -> list[str]:
    """Return the tags that most testimonials have, in alphabetical order, and what is chosen."""
    tags = heapq.nlargest(MOST_OFFERED, list_project_tags(project_id), key=lambda tag: tag.count)
    return list(dict.fromkeys([*sorted((tag.name for tag in tags), key=fold), *chosen]))


def add_tag(project: Project, ids: Sequence[str], name: str, actor: str) -> tuple[str, int]:
    """Add one tag to those that can have it; `project` is locked. See `in_parts`.

    Raises `TagRefused` unless `name` is one valid tag.
    """
    (tag,) = spell(find_spellings(project.id), [_read_one(name)])

    def with_tag(tags: list[str]) -> list[str]:
        return tags if len(tags) >= MAX_TAGS else [*tags, tag]

    return _change_tags(project, ids, with_tag, actor)


def remove_tag(project: Project, ids: Sequence[str], name: str, actor: str) -> tuple[str, int]:
    """Remove one tag from those that have it; see `add_tag`."""
    folded = fold(_read_one(name))
    return _change_tags(
        project, ids, lambda tags: [tag for tag in tags if fold(tag) != folded], actor
    )


# Sent with the project, once all of its testimonials have the new name.
tag_renamed = Signal()


def rename_tag(project: Project, name: str, new: str, actor: str) -> tuple[str, int]:
    """Rename a tag of the locked project, in the trash too; return its name and how many have it.

    If there is a tag of the new name, the two become one. Raises `NotFound` and `TagRefused`.
    """
    known = find_spellings(project.id)
    old = _find_tag(known, name)
    wanted = _read_one(new)
    (tag,) = [wanted] if fold(wanted) == fold(old) else spell(known, [wanted])

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
    """Remove a tag from all testimonials of the locked project; return its name and the batch.

    See `in_parts`. Raises `NotFound`.
    """
    tag = _find_tag(find_spellings(project.id), name)
    return tag, *remove_tag(project, _list_tagged(project, tag), tag, actor)


def _find_tag(known: dict[str, str], name: str) -> str:
    if (tag := known.get(fold(name))) is None:
        raise NotFound(f"This project has no tag named {name[:TAG_LENGTH]}.")
    return tag


def _list_tagged(project: Project, name: str) -> Sequence[str]:
    tagged = select(TestimonialTag.testimonial_id).where(
        TestimonialTag.project_id == project.id, TestimonialTag.name == name
    )
    return db.session.scalars(tagged).all()


def _read_tag(text: str) -> str:
    line = text.strip()
    if UNUSABLE.search(text) or LINE_BREAK.search(line):
        raise TagRefused(
            gettext_noop("Remove the control characters and line breaks from the tags.")
        )
    name = normalize("NFC", " ".join(line.split()))
    if len(name) > TAG_LENGTH:
        short = f"{name[:20]}…"
        raise TagRefused(
            gettext_noop("Shorten the tag %(tag)s to %(most)s characters; it has %(count)s."),
            values={"tag": short, "most": TAG_LENGTH, "count": len(name)},
        )
    return name


def _change_tags(
    project: Project,
    ids: Sequence[str],
    make: Callable[[list[str]], list[str]],
    actor: str,
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
        raise TagRefused(
            gettext_noop("Enter one tag at a time.")
            if names
            else gettext_noop("Enter a tag first.")
        )
    return names[0]
