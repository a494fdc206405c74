"""Tagging testimonials, recorded and undone like any other change."""

from collections.abc import Callable, Sequence

from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.changes import change_all
from testimonials.testimonials.moderation.tag_names import (
    MAX_TAGS,
    TagRefused,
    find_spellings,
    fold,
    read_tags,
    spell,
)


def add_tag(
    project: Project, rows: Sequence[Testimonial], name: str, actor: str
) -> tuple[str, int]:
    """Add one tag to the rows that can have it; `project` is locked.

    Returns the batch, for undoing, and how many rows were changed. Raises `TagRefused` for a name
    that is no tag.
    """
    (tag,) = spell(find_spellings(project.id), [_read_one(name)])

    def with_tag(tags: list[str]) -> list[str]:
        return tags if len(tags) >= MAX_TAGS else [*tags, tag]

    return _change_tags(project, rows, with_tag, actor)


def remove_tag(
    project: Project, rows: Sequence[Testimonial], name: str, actor: str
) -> tuple[str, int]:
    """Remove one tag from the rows that have it; see `add_tag`."""
    folded = fold(_read_one(name))
    return _change_tags(
        project, rows, lambda tags: [tag for tag in tags if fold(tag) != folded], actor
    )


def _change_tags(
    project: Project,
    rows: Sequence[Testimonial],
    make: Callable[[list[str]], list[str]],
    actor: str,
) -> tuple[str, int]:
    changes = []
    for row in rows:
        before, can_be_tagged = row.tags, row.deleted_at is None
        after = make(before)
        is_equal = set(map(fold, after)) == set(map(fold, before))
        if can_be_tagged and row.status not in ("demo", "withdrawn") and not is_equal:
            changes.append((row, {"tags": after}))
    return change_all(project, changes, actor, "tag")


def _read_one(text: str) -> str:
    names = read_tags(text)
    if len(names) != 1:
        raise TagRefused("Enter one tag at a time." if names else "Enter a tag first.")
    return names[0]
