"""Looking at host names, in requests and in the background; nothing waits for the DNS with a
transaction."""

from testimonials.core.web.errors import NotFound
from testimonials.domains.looking import look_at
from testimonials.domains.services import list_due, note_finding
from testimonials.extensions import begin_write, db
from testimonials.projects.services import lock_project


def check_due_domains() -> int:
    """Look at the names that are due and store what is found; return how many. Commits each."""
    due = list_due()
    db.session.rollback()
    for project_id, host in due:
        finding = look_at(host)
        begin_write()
        try:
            note_finding(lock_project(project_id), host, finding)
        except NotFound:
            # Deleted in the meantime.
            db.session.rollback()
            continue
        db.session.commit()
    return len(due)
