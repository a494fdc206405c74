"""Old and new values of changed settings, for the details of an event.

Changes of a model's `SETTINGS` (columns, each with a function that reads its value, or None) are
collected on flush; `core.audit.record` adds them to the project's event.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import event, inspect
from sqlalchemy.orm import Session

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db.engine import to_name
from testimonials.core.extensions import db

Change = dict[str, Any]
Settings = dict[str, Callable[[Any], Any] | None]

# Keys in `Session.info`, and in the details of an event.
NOTED, CHANGED = "changes_of_settings", "changed"
# The values of these aren't recorded: a gift code for authors, and somebody's name.
UNRECORDED = {"code", "signature"}
# Limits of a value, and of the changes in an event, beyond which those of a field are merged.
MAX_VALUE_LENGTH, MAX_CHANGES = 600, 80


def note_changes(state: Any) -> None:
    """Collect how an updated or deleted row differs from the database.

    A new row needs none: its first values follow from the current ones and later changes.
    """
    settings = getattr(state.class_, "SETTINGS", None)
    if settings is None or not state.persistent:
        return
    before, after = dict[str, Any](), dict[str, Any]()
    is_deleted = state.obj() in state.session.deleted
    # Only a project's further forms and widgets have a name.
    prefix = f"{state.dict['name']}." if "name" in settings else ""
    for column, read in settings.items():
        if not is_deleted and column not in state.committed_state:
            continue
        name, now = prefix + to_name(column), state.dict.get(column)
        old = state.committed_state.get(column, now)
        if is_deleted:
            before |= _flatten(name, now)
        # Another type means that the old value wasn't loaded, so there is nothing to compare.
        elif isinstance(old, dict | list | str | bool | None):
            before |= _flatten(name, read(old) if read else old)
            after |= _flatten(name, read(now) if read else now)
    names = [name for name in before | after if before.get(name) != after.get(name)]
    project_id = state.dict.get("project_id") or state.dict["id"]
    state.session.info.setdefault(NOTED, []).extend(
        (project_id, _describe(name, before.get(name), after.get(name))) for name in names
    )


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values nested in `value`, with names such as `pageConfig.collectFields.role`."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        value = {each.get("id", str(number)): each for number, each in enumerate(value)}
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flatten(f"{name}.{key}", each)
    elif value not in (None, "", []):
        yield name, value


def _describe(name: str, before: Any, after: Any) -> Change:
    change = {"field": name, "at": iso(clock.now())}
    if name.rpartition(".")[2] in UNRECORDED:
        return change
    return change | {"before": _cut(before), "after": _cut(after)}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def take_changes(project_id: str | None, details: dict[str, Any]) -> dict[str, Any]:
    """Move the collected changes of a project into the details of its event; return the details."""
    noted: list[tuple[str, Change]] = db.session().info.get(NOTED, [])
    own = [change for owner, change in noted if owner == project_id]
    if not own:
        return details
    noted[:] = [each for each in noted if each[0] != project_id]
    return details | {CHANGED: _limit([*details.get(CHANGED, []), *own])}


def _limit(changes: list[Change]) -> list[Change]:
    """Return at most MAX_CHANGES changes, merging later changes of a field into earlier ones."""
    kept = [dict(each) for each in changes[:MAX_CHANGES]]
    for change in changes[MAX_CHANGES:]:
        same = next((each for each in reversed(kept) if each["field"] == change["field"]), None)
        if same is None:
            del kept[0]
            kept.append(change)
        else:
            same |= {name: change[name] for name in ("at", "after") if name in change}
    return kept


@event.listens_for(Session, "before_flush")
def _note_written(session: Session, *_: Any) -> None:
    for row in (*session.dirty, *session.deleted):
        note_changes(inspect(row))


@event.listens_for(Session, "after_commit")
@event.listens_for(Session, "after_rollback")
def _forget(session: Session) -> None:
    session.info.pop(NOTED, None)
