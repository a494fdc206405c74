"""What changed of settings, from what to what, for the event that tells of it.

Changes of a model's `SETTINGS` (column to what reads its value, if anything does) are noted when
they are written; `core.audit.record` takes them into the details of the project's event.
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

# In `Session.info`, and in the details of an event.
NOTED, CHANGED = "changes_of_settings", "changed"
# Of these only that they changed: what is for those who wrote, and whose name it is.
UNTOLD = {"code", "signature"}
# So long is a value, and so many changes has an event; of more, those of a field become one.
LONGEST, MOST = 600, 80


def note_changes(state: Any) -> None:
    """Note what a row that is written, or deleted, has other than the database has.

    Nothing of a new one: that starts with what is there now, less its changes.
    """
    settings = getattr(state.class_, "SETTINGS", None)
    if settings is None or not state.persistent:
        return
    before, after = dict[str, Any](), dict[str, Any]()
    is_deleted = state.obj() in state.session.deleted
    # Of those with a name, which the project's own form and widget don't have.
    prefix = f"{state.dict['name']}." if "name" in settings else ""
    for column, read in settings.items():
        if not is_deleted and column not in state.committed_state:
            continue
        name, now = prefix + to_name(column), state.dict.get(column)
        old = state.committed_state.get(column, now)
        if is_deleted:
            before |= _flatten(name, now)
        # Without the value that was there, it isn't known whether it is another.
        elif isinstance(old, dict | list | str | bool | None):
            before |= _flatten(name, read(old) if read else old)
            after |= _flatten(name, read(now) if read else now)
    names = [name for name in before | after if before.get(name) != after.get(name)]
    made = [_describe(name, before.get(name), after.get(name)) for name in names]
    noted = state.session.info.setdefault(NOTED, [])
    noted += [(state.dict.get("project_id") or state.dict["id"], each) for each in made]


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what lies in a value, each with a name such as `pageConfig.collectFields.role`."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        value = {each.get("id", str(number)): each for number, each in enumerate(value)}
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flatten(f"{name}.{key}", each)
    elif value not in (None, "", []):
        yield name, value


def _describe(name: str, before: Any, after: Any) -> Change:
    told = {"field": name, "at": iso(clock.now())}
    if name.rpartition(".")[2] in UNTOLD:
        return told
    return told | {"before": _cut(before), "after": _cut(after)}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def take_changes(project_id: str | None, details: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a project's event with what was noted of the project, once."""
    noted: list[tuple[str, Change]] = db.session().info.get(NOTED, [])
    taken = [change for of, change in noted if of == project_id]
    if not taken:
        return details
    noted[:] = [each for each in noted if each[0] != project_id]
    return details | {CHANGED: _limit([*details.get(CHANGED, []), *taken])}


def _limit(changes: list[Change]) -> list[Change]:
    """Return the changes, of very many the last of a field with what was before the first."""
    kept = [dict(each) for each in changes[:MOST]]
    for change in changes[MOST:]:
        same = next((each for each in reversed(kept) if each["field"] == change["field"]), None)
        if same is None:
            kept[0:1] = []
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
