"""Writing down where widgets were seen, which each process notes in its memory."""

from testimonials.extensions import begin_write, db
from testimonials.widget.sightings import take_sightings, write_sightings


def write_seen_websites() -> None:
    """Write down what this process has noted since the last time; commits."""
    if seen := take_sightings():
        begin_write()
        write_sightings(seen)
        db.session.commit()
