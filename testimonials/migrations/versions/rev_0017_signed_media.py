"""Store digests of pictures and recordings, and whether authors let earlier words be shown.

A job computes the missing digests, so that the upgrade reads no files.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"


def upgrade() -> None:
    op.add_column("image", sa.Column("digest", sa.String(64)))
    op.add_column("recording", sa.Column("digest", sa.String(64)))
    agreed: sa.Column[bool] = sa.Column(
        "shows_earlier", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("testimonial", agreed)
