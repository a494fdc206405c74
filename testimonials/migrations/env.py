"""Alembic's entry: runs the migrations on the connection that `runner` opened."""

from alembic import context
from sqlalchemy import Connection

# Imported for their tables.
import testimonials.access.models
import testimonials.activity.models
import testimonials.agents.models
import testimonials.collection.models
import testimonials.core.data.idempotency
import testimonials.core.data.leases
import testimonials.core.data.rate_limit_counters
import testimonials.core.mail.outbox
import testimonials.core.pictures.images
import testimonials.insights.models
import testimonials.operations.database.shared_secret
import testimonials.proposals.models
import testimonials.testimonials.counts.models
import testimonials.testimonials.models
import testimonials.transfer.models
import testimonials.webhooks.models
import testimonials.widget.models  # noqa: F401
from testimonials.core.data.database import Base


def run() -> None:
    """Migrate inside the transaction of the caller, whole or not at all."""
    connection: Connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
        compare_type=True,
    )
    context.run_migrations()


run()
