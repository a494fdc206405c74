"""Tagging testimonials, recorded and undone like any other change."""

from collections.abc import Callable, Sequence

from testimonials.core.data.identifiers import new_identifier
from testimonials.projects.models import Project
from testimonials.testimonials.moderation.changes import Change, Facts, load_tags, write_changes
from testimonials.testimonials.moderation.tag_names import (
    MAX_TAGS,
    TagRefused,
    find_spellings,
    fold,
    read_tags,
    spell,
)


def add_tag(project: Project, rows: Sequence[Facts], name: str, actor: str) -> tuple[str, int]:
    """Add one tag to the rows that can have it; `project` is locked.

    Returns the batch, for undoing, and how many rows were changed. Raises `TagRefused` for a name
    that is no tag.
    """
    (tag,) = spell(find_spellings(project.id), [_read_one(name)])

    def with_tag(tags: list[str]) -> list[str]:
        return tags if len(tags) >= MAX_TAGS else [*tags, tag]

    return _change_tags(project, rows, with_tag, actor)


def remove_tag(project: Project, rows: Sequence[Facts], name: str, actor: str) -> tuple[str, int]:
    """Remove one tag from the rows that have it; see `add_tag`."""
    folded = fold(_read_one(name))
    return _change_tags(
        project, rows, lambda tags: [tag for tag in tags if fold(tag) != folded], actor
    )


def can_be_tagged(row: Facts) -> bool:
    return row.deleted_at is None and row.status not in ("demo", "withdrawn")


def _change_tags(
    project: Project,
    rows: Sequence[Facts],
    make: Callable[[list[str]], list[str]],
    actor: str,
) -> tuple[str, int]:
    tags, changes = load_tags([row.id for row in rows]), []
    for row in rows:
        before = tags.get(row.id, [])
        after = make(before)
        is_equal = set(map(fold, after)) == set(map(fold, before))
        if not is_equal and can_be_tagged(row):
            changes.append(Change(row, {"tags": before}, {"tags": after}))
    batch = new_identifier()
    # A widget may show the testimonials of one tag, so what is shown may change.
    write_changes(project, changes, batch, actor, "tag")
    return batch, len(changes)


def _read_one(text: str) -> str:
    names = read_tags(text)
    if len(names) != 1:
        raise TagRefused("Enter one tag at a time." if names else "Enter a tag first.")
    return names[0]
