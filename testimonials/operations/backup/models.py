"""What is kept off this machine, as it was when somebody last looked."""

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp

# The background jobs whose rows say how the last backup, copy and rehearsal went, and
# whether what was erased is known beside the copies.
BACKUP_JOB = "backup"
COPY_JOB = "backup-copy"
REHEARSAL_JOB = "backup-rehearsal"
LIST_JOB = "backup-erased-list"


class StoredBackup(Base):
    """A backup in BACKUP_TO; asking the place itself may take long, or fail."""

    __tablename__ = "stored_backup"

    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    # BACKUP_TO, which may have been another one.
    place: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(Timestamp)
