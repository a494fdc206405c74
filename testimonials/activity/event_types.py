"""Everything that is recorded, by the name that is stored and, later, sent elsewhere."""

from enum import StrEnum


class EventType(StrEnum):
    """What happened: the subject, then what became of it. A name never changes its meaning."""

    SESSION_STARTED = "session.started"
    SESSION_REFUSED = "session.refused"
    SESSION_ENDED = "session.ended"


# Of these, the same by the same actor from the same network within an hour is one event with a
# count, so that whoever guesses passwords can't fill the disk.
COUNTED = {EventType.SESSION_REFUSED}
