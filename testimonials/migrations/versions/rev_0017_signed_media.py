"""Keep digests of pictures and recordings, and whether authors agree that earlier words are shown.

A job fills in the digests of what is there, so that an upgrade reads no files.
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"


def upgrade() -> None:
    """Change the schema."""
    op.add_column("image", sa.Column("digest", sa.String(64)))
    op.add_column("recording", sa.Column("digest", sa.String(64)))
    agreed: sa.Column[bool] = sa.Column(
        "shows_earlier", sa.Boolean(), nullable=False, server_default=sa.false()
    )
    op.add_column("testimonial", agreed)
