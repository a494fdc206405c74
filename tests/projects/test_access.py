"""A look-up for a change locks the row, which lets PostgreSQL make changes in turn."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from testimonials.auth.sessions import SignedIn
from testimonials.core.extensions import db
from testimonials.projects.access import Role, find_access

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("for_update", [True, False, None])
def test_look_ups_lock(app, owner, backend, for_update):
    if backend == "sqlite":
        pytest.skip("SQLite locks the whole file, and that when the write begins.")
    options = {} if for_update is None else {"for_update": for_update}
    project_id = owner.create_project()["_id"]
    lock = text("SELECT 1 FROM project WHERE id = :id FOR UPDATE NOWAIT")
    with app.app_context(), db.engine.connect() as other:
        user = SignedIn("", owner.account_id, "", None)
        assert find_access(user, project_id, Role.ADMIN, **options).role == Role.OWNER
        if for_update:
            with pytest.raises(OperationalError, match="could not obtain lock"):
                other.execute(lock, {"id": project_id})
        else:
            assert other.execute(lock, {"id": project_id}).scalar() == 1
        db.session.rollback()
