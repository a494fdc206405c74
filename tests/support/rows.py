"""Rows as the doors write them, for tests of those that only read them."""

from pathlib import Path
from typing import Any

from flask import Flask, g
from sqlalchemy import delete, func, select

from testimonials import create_app
from testimonials.auth.models import Account, Passkey
from testimonials.collection.author_rights import MAIL_LINK
from testimonials.core import clock
from testimonials.core.db import engine
from testimonials.core.db.engine import Base
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.jobs import KINDS, Job, enqueue, run_due
from testimonials.core.mail.outbox import SEND, MailState, OutboxMail
from testimonials.core.settings.table import load_settings
from testimonials.integrations.webhooks.endpoints import add_endpoint
from testimonials.projects.models import Member, Project
from testimonials.projects.projects import lock_account, lock_project, mark_changed
from testimonials.projects.team import set_role
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.notifications import NOTIFY
from testimonials.widget.settings import save_widget
from tests.conftest import Caller
from tests.support.applications import change_settings


def add_passkey(app: Flask, account_id: str) -> str:
    """Give an account a passkey that nobody has; return its id."""
    with app.app_context():
        lock_for_writing()
        passkey = Passkey(
            account_id=account_id, credential_id=f"of-{account_id}", sign_count=0, is_synced=False,
            public_key=b"nobody has the other half", name="Phone", challenged_at=clock.now(),
        )  # fmt: skip
        db.session.add(passkey)
        db.session.commit()
        return passkey.id


def add_testimonial(app: Flask, project_id: str, **values: Any) -> str:
    """Add a testimonial with columns of the test's choice, approved unless told; return its id."""
    with app.app_context():
        lock_for_writing()
        project = lock_project(project_id)
        mark_changed(project)
        time = project.next_time()
        columns = {
            "status": "approved", "source": "public_page", "author_name": "Visitor",
            "author_role": "", "text": "Seen on the page.", "submitted_at": time,
            "created_at": time, "updated_at": time,
        }  # fmt: skip
        row = Testimonial(project_id=project_id, **(columns | values))
        db.session.add(row)
        db.session.commit()
        return row.id


def add_recording(app: Flask, testimonial_id: str, kind: str = "video", **values: Any) -> str:
    """Give a testimonial a recording that is ready, without its file; return its id."""
    with app.app_context():
        lock_for_writing()
        row = db.session.get_one(Testimonial, testimonial_id)
        row.kind = kind
        mark_changed(lock_project(row.project_id))
        columns: dict[str, Any] = {"state": "ready", "size": 1, "received": 1, "seconds": 58.2}
        columns |= {"media_type": "video/webm", "width": 480, "height": 640}
        row.recording = Recording(project_id=row.project_id, kind=kind, **(columns | values))
        db.session.commit()
        return row.recording.id


def change_testimonial(app: Flask, testimonial_id: str, **values: Any) -> None:
    with app.app_context(), write():
        row = db.session.get_one(Testimonial, testimonial_id)
        mark_changed(lock_project(row.project_id))
        for name, value in values.items():
            setattr(row, name, value)


def change_project(app: Flask, project_id: str, **values: Any) -> None:
    """Set columns of a project; `page_config` is merged into what it has."""
    with app.app_context(), write():
        project = lock_project(project_id)
        mark_changed(project)
        for name, value in values.items():
            setattr(project, name, project.page_config | value if name == "page_config" else value)


def count_for_planner(app: Flask) -> None:
    """Let PostgreSQL see that a test has put in many rows, as it does by itself after a minute."""
    with app.app_context():
        tables = Base.metadata.sorted_tables
        engine.count_for_planner(db.session.connection(), tables)
        db.session.commit()


def add_member(app: Flask, project_id: str, caller: Caller, role: str) -> None:
    """Make an account a colleague in a project, as accepting an invitation does."""
    with app.app_context(), write():
        row = Member(project_id=project_id, account_id=caller.account_id, role=role)
        db.session.add(row)


def add_workspace_member(app: Flask, owner: Caller, caller: Caller, role: str) -> None:
    with app.app_context(), write():
        assert set_role(lock_account(owner.account_id), caller.account_id, role)


def add_widget(app: Flask, project_id: str, name: str) -> None:
    """Save a widget that is a copy of the project's own."""
    with app.app_context(), write():
        save_widget(lock_project(project_id), name)


def add_webhook(app: Flask, project_id: str) -> str:
    with app.app_context():
        lock_for_writing()
        project = lock_project(project_id)
        endpoint = add_endpoint(
            project, "https://example.com/hook", [], "owner@example.com", project.account_id
        )
        db.session.commit()
        return endpoint.id


def expire_account(app: Flask, account_id: str) -> None:
    with app.app_context(), write():
        db.session.get_one(Account, account_id).claim_expires_at = clock.EPOCH


def read_testimonials(app: Flask, project_id: str) -> list[Testimonial]:
    """Return every testimonial of a project in the order of their times, in any state."""
    query = select(Testimonial).where(Testimonial.project_id == project_id)
    with app.app_context():
        rows = list(db.session.scalars(query.order_by(Testimonial.created_at, Testimonial.id)))
        db.session.expunge_all()
        db.session.rollback()
        return rows


def count_rows(app: Flask, model: type[Any]) -> int:
    with app.app_context():
        count = int(db.session.scalar(select(func.count()).select_from(model)) or 0)
        db.session.expunge_all()
        db.session.rollback()
        return count


def read_project(app: Flask, project_id: str) -> Project:
    with app.app_context():
        project = db.session.get_one(Project, project_id)
        db.session.expunge_all()
        db.session.rollback()
        return project


def read_account(app: Flask, account_id: str) -> Account:
    with app.app_context():
        return db.session.get_one(Account, account_id)


def everything(app: Flask) -> dict[str, set[str]]:
    """Return every row of the database, except the counters of limits."""
    with app.app_context():
        return {
            table.name: {repr(tuple(row)) for row in db.session.execute(select(table))}
            for table in Base.metadata.sorted_tables
            if table.name != RateLimitCounter.__tablename__
        }


def put_mail(app: Flask, count: int = 1, **values: Any) -> None:
    """Let mails wait in the outbox, or be in another state."""
    with app.app_context(), write():
        for number in range(count):
            fields = {"recipient": "owner@example.com", "subject": f"Number {number}"}
            fields |= {"purpose": "test", "text": "Grüße", "html": "<p>Grüße</p>"}
            mail = OutboxMail(id=new_identifier(), **(fields | values))
            db.session.add(mail)
            if values.get("state", MailState.QUEUED) == MailState.QUEUED:
                enqueue(SEND, id=mail.id)


def deliver_mail(app: Flask, url: str = "", **settings: str) -> int:
    """Do what the thread for mail does in a round; return how many jobs it tried."""
    change_settings(app, smtp_url=url, **settings)
    with app.app_context():
        return run_due("mail")


def do_jobs(app: Flask, *kinds: str) -> None:
    """Do the jobs of these kinds that wait."""
    with app.app_context():
        rows = list(db.session.scalars(select(Job).where(Job.kind.in_(kinds)).order_by(Job.id)))
        # They stay as they are, whatever their work does with the session.
        db.session.expunge_all()
        for row in rows:
            g.job = row
            KINDS[row.kind].work(**row.payload)
        with write():
            db.session.execute(delete(Job).where(Job.id.in_([row.id for row in rows])))


def write_mail(app: Flask) -> None:
    """Let the mail about what visitors sent be written."""
    do_jobs(app, NOTIFY, MAIL_LINK)


def fill_outbox(instance: Path, count: int) -> None:
    """Let `count` mails wait in the outbox of an instance on SQLite."""
    app = create_app(load_settings({}, {"instance_path": str(instance)}))
    for number in range(count):
        put_mail(app, recipient=f"person{number}@example.com")
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
