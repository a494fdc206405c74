"""How much recordings take, and how much they may."""

from dataclasses import dataclass

from sqlalchemy import func, select

from testimonials.extensions import db
from testimonials.media.refusals import NoRoom
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Recording

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Share:
    """How many recordings there are, the bytes they take, and the bytes they may take."""

    count: int
    bytes: int
    limit: int

    @property
    def is_nearly_full(self) -> bool:
        return self.bytes >= self.limit * 0.8


def find_account_share(account_id: str) -> Share:
    """Return what an account's recordings take; those on their way count with all they will."""
    query = _TAKEN.join(Project).where(Project.account_id == account_id)
    count, size = db.session.execute(query).one()
    return Share(count, size, current_settings().account_recordings_megabytes * MEGABYTE)


def find_whole_share() -> Share:
    count, size = db.session.execute(_TAKEN).one()
    return Share(count, size, current_settings().all_recordings_megabytes * MEGABYTE)


def require_share(project: Project, size: int) -> None:
    """Raise `NoRoom` if `size` more bytes are too many for the account, or for all together."""
    for share in (find_account_share(project.account_id), find_whole_share()):
        if share.bytes + size > share.limit:
            raise NoRoom


_TAKEN = select(func.count(Recording.id), func.coalesce(func.sum(Recording.size), 0))
