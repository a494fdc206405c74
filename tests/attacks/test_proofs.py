"""Every door that asks who is signed in to prove it again: all of them, and no other."""

from pathlib import Path

from flask import Flask
from sqlalchemy import update

from testimonials.auth.models import Session
from testimonials.extensions import db
from tests.attacks.conftest import restore
from tests.attacks.test_access import knock, of
from tests.attacks.world import World, find_doors
from tests.support.rows import everything

# By these, whoever has an open browser or its cookie would stay, or take everything along.
ASKING = {
    "/oauth/authorize",
    *(f"/dashboard/account/{path}" for path in (
        "company/link", "company/unlink", "delete", "email", "export", "key", "password/new",
        "password/remove", "person", "security/app", "security/app/new", "security/app/remove",
        "security/codes", "security/needed", "security/passkeys",
        "security/passkeys/<passkey_id>/remove", "security/passkeys/new", "security/team",
        "sessions/<session_id>/end", "sessions/end", "sessions/end/others", "team/invitations",
        "team/members/<account_id>/role",
    )),
    *(f"/dashboard/projects/<project_id>/{path}" for path in (
        "delete", "integrations/tokens", "integrations/webhooks",
        "integrations/webhooks/<webhook_id>", "integrations/webhooks/<webhook_id>/secret",
        "purchases/secret", "team/offer",
    )),
}  # fmt: skip


def forget_proofs(app: Flask, instance: Path) -> bytes:
    """Let every session have been proved long ago; return the database as it is then."""
    with app.app_context():
        with db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=None))
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return (instance / "testimonials.db").read_bytes()


def test_what_a_thief_would_do_asks_for_a_proof(app: Flask, instance: Path, world: World) -> None:
    content, before = forget_proofs(app, instance), everything(app)
    doors = [door for door in of(find_doors(app), "session") if not door.is_safe]
    asking = set()
    for door in doors:
        # A new password brings a new cookie, so each has the browser of the beginning.
        for answer in knock(world.open(app, "owner"), world, door):
            if answer.status_code == 401:
                asking.add(door.rule.rule)
                assert 'name="proof"' in answer.text, door
                assert everything(app) == before, door
        if door.rule.rule not in asking:
            restore(app, instance, content)
    assert asking == ASKING & {door.rule.rule for door in doors}
