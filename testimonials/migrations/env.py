"""Run the migrations on the connection that `core.db.migrate` opened, as Alembic asks."""

from alembic import context
from sqlalchemy import Connection

from testimonials.core.db.engine import Base
from testimonials.core.late import load_all


def run() -> None:
    """Migrate inside the caller's transaction, all or nothing."""
    load_all()
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
