"""Upgrades: from every schema in use, with everything in it, whole or not at all."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask

from testimonials.core.db.migrate import FORMER_HEAD, current, head, revisions, upgrade
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.counts import find_wrong_counts
from testimonials.testimonials.new_numbers import follow_old_numbers
from testimonials.widget.settings import describe_header, rate
from testimonials.widget.wall import count_figures
from tests.migrations.conftest import execute
from tests.operations.instances import app_on, query, restore_here
from tests.support.killing import run_until_statement
from tests.support.process import clean_environment
from tests.support.schemas import KEPT, ROWS, Rows, in_use, kept, make_filled, read

pytestmark = pytest.mark.postgres


def backups(database: dict[str, str]) -> list[Path]:
    return sorted((Path(database["instance_path"]) / "backups").glob("*.tar.gz"))


def check(app: Flask) -> str:
    result = app.test_cli_runner().invoke(args=["db", "check"])
    assert (result.exit_code == 0) is ("sound" in result.output)
    return result.output


def assert_kept(before: Rows, revision: str) -> None:
    """Compare what the database of `revision` had, and was not to lose, with what is there."""
    expected, found = kept(before, read(db.engine), revision)
    assert found == expected


@pytest.mark.parametrize("revision", in_use())
def test_an_upgrade_keeps_every_row(app, revision):
    make_filled(db.engine, revision)
    # What is counted by day.
    execute("UPDATE testimonial SET status = 'approved', source = 'public_page'")
    before = read(db.engine)
    assert all(rows for table, rows in before.items() if table not in KEPT)
    assert f"at {revision}, this program needs {head()}" in check(app)
    result = app.test_cli_runner().invoke(args=["db", "upgrade"])
    done = f"The database was upgraded from {revision} to {head()}.\n"
    assert result.output.endswith(done), result
    assert_kept(before, revision)
    assert check(app) == f"The database is sound, and at {head()}.\n"
    assert sum(row["sent"] for row in read(db.engine)["day_count"]) == ROWS


def test_an_upgrade_leaves_out_what_only_retired_features_wrote(app):
    make_filled(db.engine, FORMER_HEAD)
    execute(
        "UPDATE background_job SET name = 'publish' WHERE name LIKE '2%'",
        "UPDATE proposal SET token_id = NULL WHERE token_id LIKE '2%'",
        "UPDATE access_token SET token_hash = NULL WHERE id LIKE '2%'",
        "UPDATE outbox_mail SET state = 'unconfirmed' WHERE id LIKE '2%'",
        "UPDATE event SET type = 'access.requested' WHERE id LIKE '2%'",
        "UPDATE event SET actor_kind = 'operator', actor_name = 'accounts list' WHERE id LIKE '0%'",
        f"UPDATE event SET actor_kind = 'operator', actor_name = '{'a1' * 12}' WHERE id LIKE '1%'",
    )
    expected = read(db.engine)
    for table, column, value in (
        ("background_job", "name", "publish"),
        ("access_token", "token_hash", None),
        ("event", "type", "access.requested"),
    ):
        left = [row for row in expected[table] if row[column] != value]
        assert len(left) == ROWS - 1
        expected[table] = left
    for table, column, old, new in (
        ("outbox_mail", "state", "unconfirmed", "sent"),
        ("event", "actor_name", "a1" * 12, "on a page"),
    ):
        (row,) = (row for row in expected[table] if row[column] == old)
        row[column] = new
    upgrade(db.engine)
    assert_kept(expected, FORMER_HEAD)
    assert check(app) == f"The database is sound, and at {head()}.\n"


def test_an_upgrade_keeps_every_role_and_invitation(app):
    make_filled(db.engine, FORMER_HEAD)
    before = read(db.engine)
    upgrade(db.engine)
    after = read(db.engine)
    for table, parts in {
        "member": ("project_member", "workspace_member"),
        "team_invitation": ("member_invitation", "workspace_invitation"),
    }.items():
        found = {row["id"]: row for row in after[table]}
        assert len(found) == 2 * ROWS
        for part in parts:
            other = "owner_id" if part == parts[0] else "project_id"
            for old in before[part]:
                assert any(old.items() <= new.items() and not new[other] for new in found.values())


def test_the_history_comes_into_the_record(app):
    """Each change keeps who made it and what was before; batches get the type of their event."""
    make_filled(db.engine, "0005")
    first, second = (row["id"] for row in read(db.engine)["testimonial"][:2])
    names = {"testimonial": first, "batch": "b" * 24, "part": "b" * 24 + "0001"}
    execute(
        "DELETE FROM event WHERE id LIKE '2%'", "DELETE FROM testimonial_change",
        f"UPDATE testimonial SET status = 'approved', held_for = NULL WHERE id = '{first}'",
        f"UPDATE testimonial SET status = 'demo' WHERE id = '{second}'",
        *(
            "INSERT INTO testimonial_change (id, testimonial_id, batch_id, actor, action, "
            "\"before\", is_by_mail, created_at) VALUES "
            f"('{id}', '{of}', '{batch}', 'a@b.example', 'approve', '{before}', true, 7)"
            for id, of, batch, before in (
                ("c1", first, names["batch"], '{"status": "pending"}'),
                ("c2", second, names["part"], '{"is_pinned": true}'),
                ("c3", first, "d" * 24, "{}"),
            )
        ),
        "UPDATE event SET type = 'testimonial.approved', details = "
        f"'{{\"testimonial\": \"{first}\", \"action\": \"edit\"}}' WHERE id LIKE '0%'",
        "UPDATE event SET type = 'testimonial.approved', details = "
        f"'{{\"batches\": {{\"e1\": \"{names['batch']}\", \"e2\": \"{names['part']}\"}}, "
        "\"count\": 2, \"some\": true, \"action\": \"approve\"}' WHERE id LIKE '1%'",
    )  # fmt: skip
    upgrade(db.engine)
    found = {row["id"][:2]: row for row in read(db.engine)["event"]}
    assert (found["0 "]["testimonial_id"], found["0 "]["action"]) == (first, "edit")
    assert (found["1 "]["batch_id"], found["1 "]["times"]) == (names["batch"], 2)
    assert [found[each]["details"] for each in ("0 ", "1 ")] == [{}, {}]
    changes = [found[each] for each in ("c1", "c2", "c3")]
    # A sample is nobody's business.
    assert [row["type"] for row in changes] == ["testimonial.approved", "", ""]
    assert [row["before"] for row in changes] == [{"status": "pending"}, {"is_pinned": True}, {}]
    assert {(row["actor"], row["times"], row["is_by_mail"]) for row in changes} == {
        ("a@b.example", 0, True)
    }
    projects = {row["id"]: row["event_number"] for row in read(db.engine)["project"]}
    for row in changes:
        assert 0 < row["number"] <= projects[row["project_id"]]
    # What was before goes with its testimonial.
    execute(f"DELETE FROM testimonial WHERE id = '{first}'")
    left = {row["id"]: row["before"] for row in read(db.engine)["event"]}
    assert [left[each] for each in ("c1", "c2", "c3")] == [None, {"is_pinned": True}, None]


@pytest.mark.parametrize("revision", [FORMER_HEAD, "0013"])
def test_the_numbers_of_before_stand_until_their_day(app, revision, moved_clock):
    make_filled(db.engine, revision)
    ids = sorted(row["id"] for row in read(db.engine)["testimonial"])
    project_id = min(row["id"] for row in read(db.engine)["project"])
    for id, rating, status in zip(
        ids, (5, 4, 1), ("approved", "approved", "rejected"), strict=True
    ):
        execute(
            f"UPDATE testimonial SET project_id = '{project_id}', rating = {rating}, status = "
            f"'{status}', source = 'public_page', deleted_at = NULL WHERE id = '{id}'"
        )
    upgrade(db.engine)
    execute(
        "UPDATE project SET status = 'active', deleted_at = NULL",
        "UPDATE account SET suspended_at = NULL",
        # Their ids are made up.
        "DELETE FROM event",
    )
    assert check(app) == f"The database is sound, and at {head()}.\n"

    def read_all() -> set[tuple[float, int]]:
        """Return the average and number of ratings that widget, badge, wall and summary say."""
        project = db.session.get_one(Project, project_id, populate_existing=True)
        header, figures = describe_header(project), count_figures(project)
        found = {rate(project), *((each["average"], each["count"]) for each in (header, figures))}
        db.session.rollback()
        return found

    assert read_all() == {(4.5, 2)}
    moved_clock.move(days=59)
    # The owner is told, once.
    assert [follow_old_numbers(), follow_old_numbers()] == [1, 0]
    assert read_all() == {(4.5, 2)}
    moved_clock.move(days=1, minutes=1)
    assert read_all() == {(3.3, 3)}
    version = db.session.get_one(Project, project_id).feed_version
    db.session.rollback()
    assert follow_old_numbers() == 1
    project = db.session.get_one(Project, project_id, populate_existing=True)
    assert (project.old_numbers, project.numbers_from) == (None, None)
    assert project.feed_version > version
    assert find_wrong_counts(db.session.connection()) == []


def test_what_waits_and_how_jobs_went_becomes_rows_of_jobs(app):
    make_filled(db.engine, FORMER_HEAD)
    for digit, state in enumerate(("queued", "sending", "failed")):
        execute(f"UPDATE outbox_mail SET state = '{state}' WHERE id LIKE '{digit}%'")
    execute("UPDATE table_import SET state = 'running' WHERE id LIKE '0%'")
    before = read(db.engine)
    upgrade(db.engine)
    after = read(db.engine)
    jobs = {row["id"]: row for row in after["job"]}
    waiting = [row for row in before["outbox_mail"] if row["state"] != "failed"]
    asked, repeated = before["link_request"], before["background_job"]
    (running,) = (row for row in before["table_import"] if row["state"] == "running")
    job = jobs[running["id"]]
    assert (job["kind"], job["run_at"]) == ("import", running["leased_until"])
    assert len(jobs) == len(waiting) + len(asked) + len(repeated) + 1
    for row in waiting:
        job = jobs[row["id"]]
        found = job["kind"], job["run_at"], job["attempts"], job["leased_until"]
        assert found == ("mail.send", row["next_attempt_at"], row["attempts"], None)
    for row in asked:
        asked_for = {"purpose": row["purpose"], "email": row["email"]}
        assert (jobs[row["id"]]["kind"], jobs[row["id"]]["payload"]) == ("mail.link", asked_for)
    for row in repeated:
        job = jobs[row["name"]]
        assert {name: job[name] for name in row if name != "name"} | {"name": job["id"]} == row
        assert (job["kind"], job["run_at"]) == (row["name"], None)
    (failed,) = [row for row in after["outbox_mail"] if row["state"] == "failed"]
    (old,) = [row for row in before["outbox_mail"] if row["state"] == "failed"]
    assert failed["tried_at"] == old["next_attempt_at"] - 180_000


def test_a_dry_run_says_what_it_would_do_and_does_nothing(app, database):
    make_filled(db.engine, FORMER_HEAD)
    before = read(db.engine)
    runner = app.test_cli_runner()
    result = runner.invoke(args=["db", "upgrade", "--dry-run"])
    pending = ", ".join(revisions()[1:])
    assert f"from 0021 would run {pending}. It was tried successfully" in result.output
    assert (current(db.engine), read(db.engine), backups(database)) == (FORMER_HEAD, before, [])
    # One that fails is told as such.
    execute("ALTER TABLE notification_choice DROP COLUMN told_of_month")
    result = runner.invoke(args=["db", "upgrade", "--dry-run"])
    assert (result.exit_code, current(db.engine)) == (1, FORMER_HEAD)
    assert "The upgrade would fail, and leave the database as it is" in result.stderr
    execute("ALTER TABLE notification_choice ADD COLUMN told_of_month VARCHAR(7)")
    upgrade(db.engine)
    result = runner.invoke(args=["db", "upgrade", "--dry-run"])
    assert result.output == f"The database is already at {head()}.\n"


def test_a_check_names_all_that_is_not_as_it_should_be(app):
    upgrade(db.engine)
    for statement, finding in (
        ("ALTER TABLE testimonial ADD COLUMN extra INTEGER", "remove column testimonial extra"),
        ("DROP TABLE widget_sighting", "add table widget_sighting"),
        ("DROP INDEX uq_invitation_project_id_email", "uq_invitation_project_id_email"),
        ("UPDATE alembic_version SET version_num = '0021'", "the schema is at 0021"),
    ):
        execute(statement)
        assert finding in check(app)


def test_a_check_of_a_file_finds_damage_and_lost_rows(tmp_path):
    instance = tmp_path / "instance"
    app = app_on(instance)
    with app.app_context():
        upgrade(db.engine)
        db.session.remove()
        db.engine.dispose()
    query(instance, "INSERT INTO old_slug VALUES ('a', 'nobody', 1)")
    assert "row 1 of old_slug refers to a row of project that is gone" in check(app)
    with app.app_context():
        db.engine.dispose()
    file = instance / "testimonials.db"
    content = bytearray(file.read_bytes())
    content[-4096:] = b"\xaa" * 4096
    file.write_bytes(content)
    assert "malformed" in check(app)


@pytest.mark.process
@pytest.mark.parametrize(
    "statement",
    ["UPDATE alembic_version", "DROP TABLE former_address", "DROP COLUMN told", "num='0002'"],
)
def test_killed_in_the_middle_it_goes_on_at_the_next_start(app, database, statement):
    make_filled(db.engine, FORMER_HEAD)
    before = read(db.engine)
    db.engine.dispose()
    settings = {name: value for name, value in database.items() if name != "instance_path"}
    environment = clean_environment(Path(database["instance_path"]), settings)
    run_until_statement(statement, ["db", "upgrade"], environment)
    assert current(db.engine) == FORMER_HEAD
    assert read(db.engine) == before
    db.engine.dispose()
    upgrade(db.engine)
    assert_kept(before, FORMER_HEAD)
    assert check(app) == f"The database is sound, and at {head()}.\n"


@pytest.mark.process
def test_starts_at_once_upgrade_once_after_one_backup(app, database, start, backend, tmp_path):
    make_filled(db.engine, FORMER_HEAD)
    # These services have another one.
    execute("DELETE FROM secret_mark")
    db.engine.dispose()
    instance = Path(database["instance_path"])
    settings = {name: value for name, value in database.items() if name != "instance_path"}
    with ThreadPoolExecutor(2) as pool:
        services = list(
            pool.map(lambda _: start(instance=instance, backup_hours="0", **settings), range(2))
        )
    logs = ["".join(service.output) for service in services]
    assert sum(f"database upgraded from 0021 to {head()}" in log for log in logs) == 1
    if backend == "postgresql":
        assert sum("without a backup: `testimonials backup now`" in log for log in logs)
        return
    (kept,) = backups(database)
    assert kept.name.startswith(f"before-{head()}-")
    assert sum(f"is kept in {kept}" in log for log in logs) == 1
    for service in services:
        service.kill()
    # The backup of the older schema is upgraded when it is restored. Beside it may be the list of
    # what was deleted since, which a restore would delete, too.
    old = tmp_path / "old"
    assert restore_here(old, Path(shutil.copy(kept, tmp_path)))["schemaRevision"] == "0021"
    assert query(old, "SELECT version_num FROM alembic_version") == [(head(),)]


def test_without_its_backup_nothing_is_upgraded_unless_told(tmp_path):
    app = app_on(tmp_path / "instance")
    with app.app_context():
        make_filled(db.engine, FORMER_HEAD)
        db.engine.dispose()
    (tmp_path / "instance" / "backups").write_text("no folder")
    refused = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert refused.exit_code == 1
    assert "The backup before the upgrade failed, so nothing was upgraded" in refused.stderr
    assert query(tmp_path / "instance", "SELECT version_num FROM alembic_version") == [("0021",)]
    done = app.test_cli_runner().invoke(args=["db", "upgrade", "--no-backup"])
    assert f"from 0021 to {head()}" in done.stdout
    with app.app_context():
        db.engine.dispose()
