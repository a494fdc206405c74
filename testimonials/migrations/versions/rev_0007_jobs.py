"""Put all background jobs into one table: repeated ones, waiting mail and requested links."""

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"

JOB = sa.table(
    "job", *map(sa.column, ("id", "kind", "run_at", "attempts")), sa.column("payload", sa.JSON)
)
ROWS = (
    "INSERT INTO job (id, kind, payload, attempts, leased_by, leased_until, started_at, "
    "finished_at, failed_at, error) SELECT name, name, '{}', 0, leased_by, leased_until, "
    "started_at, finished_at, failed_at, error FROM background_job",
    "INSERT INTO job (id, kind, payload, attempts, run_at) SELECT id, 'mail.send', '{}', attempts, "
    "next_attempt_at FROM outbox_mail WHERE state IN ('queued', 'sending')",
    # An attempt's lease ended three minutes after the attempt began.
    "UPDATE outbox_mail SET tried_at = next_attempt_at - 180000 WHERE state <> 'queued'",
)


def upgrade() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("lane", sa.String()),
        sa.Column("account_id", sa.String()),
        sa.Column("run_at", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("leased_by", sa.String()),
        sa.Column("leased_until", sa.BigInteger()),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("failed_at", sa.BigInteger()),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_kind", "job", ["kind", "run_at"])
    op.create_index("ix_job_lane", "job", ["lane", "id"])
    op.add_column("outbox_mail", sa.Column("tried_at", sa.BigInteger()))
    for statement in ROWS:
        op.execute(statement)
    asked = op.get_bind().execute(sa.text("SELECT id, purpose, email FROM link_request"))
    links = [
        {"id": id, "kind": "mail.link", "payload": {"purpose": purpose, "email": email}}
        for id, purpose, email in asked
    ]
    op.bulk_insert(JOB, [each | {"run_at": 0, "attempts": 0} for each in links])
    op.drop_table("background_job")
    op.drop_table("link_request")
    op.drop_index("ix_outbox_mail_state", "outbox_mail")
    op.drop_index("ix_outbox_mail_next_attempt_at", "outbox_mail")
    op.drop_column("outbox_mail", "next_attempt_at")
    op.create_index("ix_outbox_mail_state", "outbox_mail", ["state", "tried_at"])
    op.create_index("ix_outbox_mail_tried_at", "outbox_mail", ["tried_at"])
