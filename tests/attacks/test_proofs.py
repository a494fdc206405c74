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
    "/dashboard/account/company/link", "/dashboard/account/company/unlink",
    "/dashboard/account/delete", "/dashboard/account/email", "/dashboard/account/export",
    "/dashboard/account/key", "/dashboard/account/password/new",
    "/dashboard/account/password/remove", "/dashboard/account/person",
    "/dashboard/account/security/app", "/dashboard/account/security/app/new",
    "/dashboard/account/security/app/remove", "/dashboard/account/security/codes",
    "/dashboard/account/security/needed", "/dashboard/account/security/passkeys",
    "/dashboard/account/security/passkeys/<passkey_id>/remove",
    "/dashboard/account/security/passkeys/new", "/dashboard/account/security/team",
    "/dashboard/account/sessions/<session_id>/end", "/dashboard/account/sessions/end",
    "/dashboard/account/sessions/end/others", "/dashboard/account/team/invitations",
    "/dashboard/account/team/members/<account_id>/role", "/dashboard/projects/<project_id>/delete",
    "/dashboard/projects/<project_id>/integrations/tokens",
    "/dashboard/projects/<project_id>/integrations/webhooks",
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>",
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret",
    "/dashboard/projects/<project_id>/purchases/secret",
    "/dashboard/projects/<project_id>/team/offer", "/oauth/authorize",
}  # fmt: skip


def forget_proofs(app: Flask, instance: Path) -> bytes:
    """Let every session have been proved long ago; return the database as it is then."""
    with app.app_context():
        with db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=None))
        db.session.execute(db.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    return (instance / "testimonials.db").read_bytes()


def test_what_a_thief_would_do_asks_for_a_proof_and_nothing_else_does(
    app: Flask, instance: Path, world: World
) -> None:
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
