"""Let a webhook endpoint be a build hook, which only starts the build of a website."""

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"


def upgrade() -> None:
    template = sa.Column("template", sa.String(10), nullable=False, server_default="event")
    op.add_column("webhook_endpoint", template)
