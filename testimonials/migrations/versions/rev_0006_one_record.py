"""Move the history of testimonials into the events.

A change was a row of `testimonial_change` and an event; now the event stores the earlier values.
The old rows become events that nobody is notified of, since they already have their own. Rows that
were changed together get the type of that event, because webhooks may still have to read it.
"""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"

COLUMNS: tuple[sa.Column[Any], ...] = (
    sa.Column("number", sa.BigInteger()),
    sa.Column("testimonial_id", sa.String()),
    sa.Column("action", sa.String()),
    sa.Column("batch_id", sa.String()),
    sa.Column("actor", sa.String(254)),
    sa.Column("is_by_mail", sa.Boolean(), nullable=False, server_default=sa.false()),
    sa.Column("reason", sa.String(40)),
    sa.Column("before", sa.JSON()),
    sa.Column("undone_at", sa.BigInteger()),
    sa.Column("hash", sa.String(64)),
)
HISTORY = """
INSERT INTO event (id, account_id, project_id, testimonial_id, type, action, batch_id, actor_kind,
    actor, is_by_mail, times, "before", undone_at, details, created_at)
SELECT was.id, project.account_id, project.id, testimonial.id, '', was.action, was.batch_id,
    'system', was.actor, was.is_by_mail, 0, was."before", was.undone_at, '{}', was.created_at
FROM testimonial_change AS was
JOIN testimonial ON testimonial.id = was.testimonial_id
JOIN project ON project.id = testimonial.project_id
"""
INDEXES = (
    "CREATE INDEX ix_event_testimonial_id ON event (testimonial_id)",
    "CREATE INDEX ix_event_batch_id ON event (batch_id) WHERE batch_id IS NOT NULL",
    'CREATE INDEX ix_event_history ON event (project_id, created_at) WHERE "before" IS NOT NULL',
    'CREATE INDEX ix_event_no_history ON event (id) WHERE "before" IS NULL',
)
NUMBERS = (
    "UPDATE event SET number = ranked.place FROM (SELECT id, row_number() OVER (PARTITION BY "
    "project_id ORDER BY id) AS place FROM event WHERE project_id IS NOT NULL) AS ranked "
    "WHERE ranked.id = event.id",
    "UPDATE project SET event_number = coalesce((SELECT max(event.number) FROM event "
    "WHERE event.project_id = project.id), 0)",
)
# Earlier values go when their testimonial does. The history of a transferred project stays when its
# former owner's account is deleted.
FORGET = 'UPDATE event SET "before" = NULL, actor = NULL {} AND "before" IS NOT NULL'
KEEP = (
    "UPDATE event SET account_id = NULL, type = '' WHERE account_id = OLD.id AND \"before\" IS NOT "
    "NULL AND project_id IN (SELECT project.id FROM project WHERE project.account_id <> OLD.id)"
)
ON_SQLITE = (
    "CREATE TRIGGER forget_history AFTER DELETE ON testimonial FOR EACH ROW BEGIN "
    f"{FORGET.format('WHERE testimonial_id = OLD.id')}; END",
    f"CREATE TRIGGER keep_history BEFORE DELETE ON account FOR EACH ROW BEGIN {KEEP}; END",
)
ON_POSTGRESQL = (
    "CREATE FUNCTION forget_history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"{FORGET.format('FROM removed WHERE event.testimonial_id = removed.id')}; RETURN NULL; END $$",
    "CREATE TRIGGER forget_history AFTER DELETE ON testimonial REFERENCING OLD TABLE AS removed "
    "FOR EACH STATEMENT EXECUTE FUNCTION forget_history()",
    f"CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {KEEP}; "
    "RETURN OLD; END $$",
    "CREATE TRIGGER keep_history BEFORE DELETE ON account FOR EACH ROW "
    "EXECUTE FUNCTION keep_history()",
)
ID_LENGTH = 24


def upgrade() -> None:
    for column in COLUMNS:
        op.add_column("event", column._copy())
    number = sa.Column("event_number", sa.BigInteger(), nullable=False, server_default="0")
    op.add_column("project", number)
    op.execute(HISTORY)
    op.drop_table("testimonial_change")
    for statement in INDEXES:
        op.execute(statement)
    _name_columns(op.get_bind())
    for statement in (*NUMBERS, *(ON_SQLITE if _is_sqlite() else ON_POSTGRESQL)):
        op.execute(sa.text(statement))


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _name_columns(connection: sa.Connection) -> None:
    """Move the details of events about testimonials into columns."""
    event = sa.table(
        "event",
        *(sa.column(name) for name in ("id", "type", "testimonial_id", "action", "batch_id")),
        *(sa.column("times"), sa.column("details", sa.JSON())),
    )
    put = event.update().where(event.c.id == sa.bindparam("of"))
    query = sa.select(event.c.id, event.c.type, event.c.details).where(event.c.type != "")
    found: list[dict[str, Any]] = []
    for id, type, details in connection.execute(query).all():
        if not isinstance(details, dict) or not details.keys() & {
            "testimonial",
            "batch",
            "batches",
        }:
            continue
        batches = list((details.pop("batches", None) or {}).values())
        batches += [details.pop("batch")] if "batch" in details else []
        some, values = details.pop("some", False), {"of": id, "details": details}
        values |= {"action": details.pop("action", None), "batch_id": None}
        values["testimonial_id"] = details.pop("testimonial", None)
        if batches:
            values |= {"batch_id": min(batches)[:ID_LENGTH], "times": details.pop("count", 1)}
            for batch in batches:
                _name_type(connection, event, type, batch, some=some)
        found.append(values)
    for values in found:
        connection.execute(put, values)


def _name_type(connection: sa.Connection, event: Any, type: str, batch: str, *, some: bool) -> None:
    """Give the changes in a batch the type of their event."""
    is_one = (event.c.batch_id == batch, event.c.type == "")
    put = event.update().values(type=type).where(*is_one)
    if not some:
        connection.execute(put)
        return
    for id in _find_named(connection, batch, type):
        connection.execute(put.where(event.c.id == id))


def _find_named(connection: sa.Connection, batch: str, type: str) -> Iterator[str]:
    """Yield the ids of the changes of a type in a batch that has other types too."""
    query = sa.text(
        'SELECT event.id, event."before", testimonial.status, testimonial.held_for, '
        "testimonial.deleted_at FROM event JOIN testimonial ON testimonial.id = "
        "event.testimonial_id WHERE event.batch_id = :batch AND event.type = ''"
    )
    rows = connection.execute(query, {"batch": batch}).all()
    for id, before, status, held_for, deleted_at in rows:
        was = json.loads(before) if isinstance(before, str) else before
        if _name_change(status, held_for, deleted_at, was) == type:
            yield id


def _name_change(
    status: str, held_for: str | None, deleted_at: int | None, before: dict[str, Any]
) -> str:
    is_gone = "deleted_at" in before and deleted_at is not None
    if status == "demo":
        return "samples.deleted" if is_gone else ""
    was = before.get("status", status)
    if set((held_for or "owner").split(",")) - {"owner", "disowned"}:
        if was == "spam" and status == "pending":
            return "testimonial.submitted"
        if was == "spam" or (was, status) == ("withdrawn", "spam"):
            return "testimonials.deleted" if is_gone else ""
    if "deleted_at" in before:
        return "testimonial.deleted" if is_gone else "testimonial.updated"
    is_named = "status" in before and status in ("approved", "rejected", "withdrawn")
    return f"testimonial.{status if is_named else 'updated'}"
