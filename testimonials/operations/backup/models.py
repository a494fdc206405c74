"""What has left this machine, as it was when somebody last looked."""

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp

# The background jobs whose rows say how the last backup, copy and restore on trial went, and
# whether the operator's command has the list of what was erased.
BACKUP_JOB = "backup"
COPY_JOB = "backup-copy"
VERIFY_JOB = "backup-verify"
LIST_JOB = "backup-erased-list"


class StoredBackup(Base):
    """A backup in BACKUP_TO; asking the place itself may take long, or fail.

    Without one, the backup that BACKUP_COMMAND took last.
    """

    __tablename__ = "stored_backup"

    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    # BACKUP_TO, which may have been another one, or what stands for the command.
    place: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(Timestamp)
