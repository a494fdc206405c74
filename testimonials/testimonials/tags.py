"""Putting tags on testimonials and taking them off, recorded and undone as any other change."""

from collections.abc import Callable, Sequence

from testimonials.core.identifiers import new_identifier
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import change_testimonial
from testimonials.testimonials.tag_names import (
    MAX_TAGS,
    TagRefused,
    find_spellings,
    fold,
    read_tags,
    spell,
)


def set_tags(
    project: Project, row: Testimonial, names: Sequence[str], actor: str
) -> tuple[str, int]:
    """Give one testimonial exactly these tags; see `add_tag` for what comes back."""
    return _change_tags(project, [row], lambda _: list(names), actor)


def add_tag(
    project: Project, rows: Sequence[Testimonial], name: str, actor: str
) -> tuple[str, int]:
    """Put one tag on each of the rows that can have it; `project` is locked.

    Gives the batch, for undoing, and how many were changed: samples and what lies in the trash
    are passed over, and so is what has the tag already or has no room for one more. Raises
    `TagRefused` for a name that is no tag.
    """
    (tag,) = spell(find_spellings(project.id), [_read_one(name)])

    def with_tag(tags: list[str]) -> list[str]:
        return tags if len(tags) >= MAX_TAGS else [*tags, tag]

    return _change_tags(project, rows, with_tag, actor)


def remove_tag(
    project: Project, rows: Sequence[Testimonial], name: str, actor: str
) -> tuple[str, int]:
    """Take one tag off the rows that have it; see `add_tag`."""
    folded = fold(_read_one(name))
    return _change_tags(
        project, rows, lambda tags: [tag for tag in tags if fold(tag) != folded], actor
    )


def can_be_tagged(row: Testimonial) -> bool:
    """Tell whether a testimonial takes tags: samples don't, nor what lies in the trash or was
    withdrawn.
    """
    return row.deleted_at is None and row.status not in ("demo", "withdrawn")


def _change_tags(
    project: Project,
    rows: Sequence[Testimonial],
    make: Callable[[list[str]], list[str]],
    actor: str,
) -> tuple[str, int]:
    batch, count = new_identifier(), 0
    for row in rows:
        before = row.tags
        after = make(before)
        is_equal = set(map(fold, after)) == set(map(fold, before))
        if is_equal or not can_be_tagged(row):
            continue
        change_testimonial(row, {"tags": after}, batch, actor, "tag")
        count += 1
    if count:
        # A widget may show the testimonials of one tag.
        mark_changed(project)
        db.session.flush()
    return batch, count


def _read_one(text: str) -> str:
    names = read_tags(text)
    if len(names) != 1:
        raise TagRefused("Write one tag." if names else "Write the tag first.")
    return names[0]
