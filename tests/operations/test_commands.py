"""The admin commands: output for people and programs, and errors in one sentence."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask.cli import FlaskGroup

from testimonials.cli.main import main
from testimonials.cli.testimonials import STATES
from testimonials.core.settings.instance import AS_ITS_OWNER
from tests.operations.instances import make_instance
from tests.projects.proposals.agents import propose
from tests.support.commands import COMMANDS as SINGLE
from tests.support.commands import GROUPS, run, run_json
from tests.support.process import COMMAND, clean_environment, run_command, run_program
from tests.support.rows import add_testimonial, add_webhook

COMMANDS = {f"{group.name} {name}" for group in GROUPS for name in group.commands}
COMMANDS |= {str(command.name) for command in SINGLE}


def test_every_command_has_json_and_says_what_it_does():
    found = [command for group in GROUPS for command in group.commands.values()]
    for command in (*found, *SINGLE):
        options = [option for each in command.params for option in each.opts]
        assert "--json" in options, command.name
        assert command.help, command.name
        assert command.help.strip().split("\n")[0].endswith("."), command.name


def test_every_command_answers_json(app, agent, owner, make_caller, tmp_path):
    colleague = make_caller("colleague@example.com", is_claimed=True)
    archive, table, everything = (str(tmp_path / name) for name in ("a.zip", "b.csv", "c.zip"))
    Path(table).write_text("Name,Words\nLi,Good")
    project = owner.create_project(slug="kiln", skipDemoTestimonials=False)
    endpoint = add_webhook(app, project["_id"])
    answers: dict[str, Any] = {}

    def read(name: str, *arguments: str) -> Any:
        answers[name] = run_json(app, *name.split(), *arguments)
        return answers[name]

    created = read("accounts create", "new@example.com")
    assert set(created) == {"accountId", "email", "apiKey", "claimLink", "claimExpiresAt"}
    (mail,) = read("mail list")
    assert run_json(app, "mail", "list", "--state", "queued") == [mail]
    assert run_json(app, "mail", "list", "--state", "sent") == []
    read("tokens create", "--account", owner.email, "--name", "Till")
    first, second = (
        propose(owner, project["_id"], "page", {"headline": text})["_id"] for text in ("A?", "B?")
    )
    reported = add_testimonial(app, colleague.create_project(slug="reported")["_id"])
    values = {"reason": "other", "page": "testimonial", "testimonial": reported}
    assert app.test_client().post("/reported/report", data=values).status_code == 200
    report = str(run_json(app, "reports", "list")[0]["id"])
    read("record rotate-key")
    read("accounts suspend", agent.email, "--reason", "Invented praise.")
    read("accounts restore", agent.email)
    read("reports list")
    read("reports read", report, "--reason", "Somebody asked.")
    read("reports settle", report)
    read("accounts list")
    read("accounts show", owner.email)
    read("accounts set-limit", owner.email, "3")
    read("accounts set-plan", owner.email, "none")
    read("accounts rotate-key", agent.email)
    read("accounts unlink-company", owner.email)
    read("accounts sign-out", owner.email)
    read("accounts reset-sign-in", owner.email)
    read("tokens list", "--account", owner.email)
    read("tokens revoke", answers["tokens create"]["tokenId"])
    read("projects list")
    read("projects show", "kiln")
    read("projects brand", "kiln")
    read("projects insights", "kiln", "--days", "7")
    read("team set", owner.email, colleague.email, "reader")
    read("team list", owner.email)
    read("team remove", owner.email, colleague.email)
    read("testimonials list", "kiln")
    read("recordings list")
    read("forms add", "kiln", "After class", "--tag", "class")
    read("forms list", "kiln")
    read("forms delete", "kiln", "after-class", "--yes")
    read("proposals list", "--project", "kiln")
    read("proposals accept", first, "--project", "kiln")
    read("proposals decline", second, "--project", "kiln")
    unknown = run(app, "proposals", "accept", "unknown", "--project", "kiln")
    assert (unknown.exit_code, "unknown: " in unknown.stderr) == (1, True)
    read("projects export", "kiln", archive)
    read("projects import", archive, "--account", owner.email, "--slug", "copy")
    read("testimonials import", "copy", table)
    read("testimonials imports", "copy")
    read("testimonials undo-import", "copy", answers["testimonials import"]["import"])
    read("testimonials decide", "copy", "delete", answers["testimonials list"][0]["_id"])
    read("projects case-file", "copy", str(tmp_path / "case.json"))
    read("accounts export", owner.email, everything)
    read("authors erase", "nobody@example.com", "--yes")
    read("privacy export", owner.email, str(tmp_path / "person.json"))
    read("domains set", "kiln", "reviews.example.com")
    read("domains list")
    read("domains remove", "kiln")
    read("webhooks list")
    read("webhooks send-test", endpoint)
    read("webhooks deliveries", endpoint)
    read("webhooks redeliver", endpoint, "--since", "2020-01-01")
    read("activity list", "--account", owner.email)
    read("mail show", mail["id"])
    read("mail retry", mail["id"])
    read("mail drop", mail["id"])
    for name in (
        "prune", "db forget-secret", "db upgrade", "db current", "db check", "db reindex",
        "config show",
    ):  # fmt: skip
        read(name)
    read("projects transfer", "reported", owner.email)
    read("projects delete", "kiln", "--yes")
    read("accounts delete", owner.account_id, "--yes")
    # These need a mail or name server, a second database or SQLite, and have tests of their own.
    others = {"mail test", "db move", "domains check"}
    others |= {*(name for name in COMMANDS if name.startswith("backup "))}
    assert set(answers) | others >= {name for name in COMMANDS if " " in name}
    assert len(answers["accounts list"]) == 4
    assert [each["role"] for each in answers["team list"]] == ["reader"]
    assert answers["team remove"] == answers["team set"]
    assert answers["forms add"] | {"sent": 0} == answers["forms list"][0]
    assert [each["type"] for each in answers["webhooks deliveries"]] == ["webhook.test"]
    assert answers["accounts set-limit"]["projectLimit"] == 3
    assert answers["accounts show"]["tokens"] == 1
    assert [each["_id"] for each in answers["proposals list"]] == [second, first]
    assert answers["proposals accept"] == {"accepted": [first], "problems": {}}
    assert answers["projects show"]["testimonials"] == {"demo": 6}
    assert answers["projects show"]["_id"] == project["_id"]
    assert len(answers["testimonials list"]) == 6
    assert answers["mail show"]["text"].count(created["claimLink"]) == 1
    assert answers["db check"] == {"isSound": True, "findings": []}
    assert answers["projects delete"] == {
        "_id": project["_id"], "deleted": True, "testimonials": 6
    }  # fmt: skip
    assert answers["projects import"]["testimonials"] == 6
    assert answers["accounts export"]["bytes"] > answers["projects export"]["bytes"] > 500
    # The one that was imported, and the one that was handed over.
    assert (answers["accounts delete"]["projects"], owner.get("/v1/me").status_code) == (2, 401)


def test_what_a_person_reads_is_aligned_or_a_sentence(app, owner):
    for arguments, words in (
        (("projects", "list"), "There are no projects yet."),
        (("mail", "list"), "The outbox is empty."),
        (("mail", "list", "--state", "failed"), "There is no email in the state failed."),
        (("db", "upgrade"), "already at"),
        (("db", "current"), "database 0"),
    ):
        result = run(app, *arguments)
        assert result.exit_code == 0
        assert words in result.stdout
    owner.create_project(slug="kiln")
    assert "There are no testimonials here." in run(app, "testimonials", "list", "kiln").stdout
    owner.create_testimonial(
        run_json(app, "projects", "list")[0]["_id"], text="Line one\nline two " + "x" * 100
    )
    lines = run(app, "testimonials", "list", "kiln").stdout.splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert lines[0].index("status") == lines[1].index("approved")


def test_testimonials_list_shows_what_waits_or_was_refused(app, owner):
    project_id = owner.create_project(slug="kiln")["_id"]
    ids = [add_testimonial(app, project_id, status=state) for state in STATES]
    assert [row["_id"] for row in run_json(app, "testimonials", "list", "kiln")] == ids[::-1]
    for state, identifier in zip(STATES, ids, strict=True):
        rows = run_json(app, "testimonials", "list", project_id, "--status", state)
        assert [(row["_id"], row["status"]) for row in rows] == [(identifier, state)]
    assert len(run_json(app, "testimonials", "list", "kiln", "--limit", "2")) == 2


def test_a_failure_is_one_sentence_on_standard_error(app, owner):
    for arguments, sentence in (
        (("accounts", "show", "nobody@example.com"), "There is no account"),
        (("accounts", "create", "nonsense"), "email"),
        (("accounts", "create", "owner@example.com"), "exists and is claimed"),
        (("accounts", "set-limit", "owner@example.com", "-1"), "No such option"),
        (("accounts", "set-limit", "owner@example.com", "1.5"), "whole number"),
        (("accounts", "set-limit", "owner@example.com", "٣"), "whole number"),
        (("projects", "show", "nothing"), "There is no project"),
        (("testimonials", "list", "nothing"), "There is no project"),
        (("testimonials", "list", "x", "--status", "lost"), "is not one of"),
        (("testimonials", "list", "x", "--limit", "0"), "0 is not in the range"),
        (("mail", "show", "x"), "There is no email with the id x."),
        (("mail", "retry", "x"), "There is no failed or waiting email"),
        (("mail", "test", "x@example.com"), "TESTIMONIALS_SMTP_URL is not set"),
        (("accounts", "show", "\udcff"), "not valid UTF-8"),
        (("nonsense",), "No such command"),
        (("accounts", "lis"), "No such command"),
    ):
        result = run(app, *arguments)
        assert result.exit_code not in (0, None)
        assert isinstance(result.exception, SystemExit), result.exception
        assert result.stdout == ""
        assert sentence in result.stderr, arguments
        assert "Traceback" not in result.stderr


def test_a_removal_that_is_not_confirmed_removes_nothing(app, owner):
    project = owner.create_project(slug="kiln")
    for arguments in (("accounts", "delete", owner.email), ("projects", "delete", "kiln")):
        for typed in ("n\n", "", "maybe\n"):
            result = run(app, *arguments, typed=typed)
            assert result.exit_code == 1
            assert "Aborted!" in result.output
    assert owner.get(f"/v1/projects/{project['_id']}").status_code == 200


@pytest.mark.process
def test_python_m_testimonials_is_the_command(tmp_path):
    environment = clean_environment(make_instance(tmp_path / "service", "owner@example.com"), {})
    usage = run_command(["--help"], environment).stdout
    for command in (*GROUPS, *SINGLE):
        assert f"\n  {command.name} " in usage
    assert "\n  serve " in usage
    refused = run_command(["accounts", "show", "nobody"], environment)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "Error: There is no account with the id or email address nobody.\n"
    closed = ["/bin/sh", "-c", 'exec "$@" <&- >&-', "sh", *COMMAND]
    deletion = run_program([*closed, "accounts", "delete", "owner@example.com"], env=environment)
    assert deletion.stderr.endswith("Aborted!\n"), deletion.stderr
    assert "Traceback" not in deletion.stderr
    # Otherwise what is written to standard error would get into a socket or a file.
    code = "main(['config', 'show'], standalone_mode=False); print(os.readlink('/proc/self/fd/2'))"
    shown = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c"]
    shown.append(f"import os; from testimonials.cli.main import main; {code}")
    assert run_program(shown, env=environment).stdout.endswith("/dev/null\n")


@pytest.mark.parametrize("is_folder_there", [True, False])
def test_a_command_in_the_wrong_folder_makes_no_instance(tmp_path, monkeypatch, is_folder_there):
    monkeypatch.chdir(tmp_path)
    instance = tmp_path / "mistyped"
    if is_folder_there:
        instance.mkdir()
    for command in (
        "accounts list", "accounts create new@example.com", "projects list", "mail list", "prune",
        "doctor", "config show", "db current", "db check", "db upgrade --dry-run",
        "backup there.tar.gz",
    ):  # fmt: skip
        done = CliRunner(env={"TESTIMONIALS_INSTANCE_PATH": str(instance)}).invoke(
            main, command.split(), prog_name="testimonials"
        )
        if command != "config show":
            assert done.exit_code == 1, command
            assert f"here is no database at {instance}/testimonials.db" in done.output, command
        assert list(tmp_path.rglob("*")) == ([instance] if is_folder_there else []), command


def test_a_mistyped_command_does_nothing_and_is_told_the_nearest_one(tmp_path, monkeypatch):
    """Also where a path stands for a command, as for `backup`, and as commands of `flask`."""
    monkeypatch.chdir(tmp_path)
    instance = make_instance(tmp_path / "service", "owner@example.com")
    before = sorted(tmp_path.rglob("*"))
    runner = CliRunner(env={"TESTIMONIALS_INSTANCE_PATH": str(instance)})
    names = [*((str(each.name),) for each in (*GROUPS, *SINGLE)), ("serve",), ("mcp",)]
    names += [(str(group.name), name) for group in GROUPS for name in group.commands]
    for name in names:
        mistyped = (*name[:-1], name[-1] + name[-1][-1])
        done = runner.invoke(main, mistyped, prog_name="testimonials")
        assert (done.exit_code, done.stdout) == (2, ""), mistyped
        assert f"No such command {mistyped[-1]!r}. " in done.stderr
        assert repr(name[-1]) in done.stderr.partition("Did you mean ")[2]
    done = runner.invoke(main, ["backup", "nwo"], prog_name="testimonials")
    assert done.stderr.endswith("Error: No such command 'nwo'. Did you mean 'now'?\n")
    done = runner.invoke(FlaskGroup(), ["--app", "testimonials", "acounts", "list"])
    assert "No such command 'acounts'. Did you mean 'accounts'?" in done.stderr
    assert sorted({*tmp_path.rglob("*")} - {instance / "instance.lock"}) == before


def test_a_look_at_the_help_makes_no_instance(tmp_path, monkeypatch):
    """Nor does a command of `flask` in the wrong folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLASK_RUN_FROM_CLI", "true")
    monkeypatch.delenv("TESTIMONIALS_INSTANCE_PATH", raising=False)
    flask = "--app testimonials "
    for group, arguments, said in (
        (main, "--help", "serve"),
        (main, "--version", "testimonials, version"),
        (main, "backup --help", "verify"),
        (main, "serve --help", "--workers"),
        (FlaskGroup(), f"{flask}--help", "  backup "),
        (FlaskGroup(), f"{flask}backup --help", "verify"),
        (FlaskGroup(), f"{flask}routes", "/healthz"),
        (FlaskGroup(), f"{flask}accounts list", "There is no database at"),
    ):
        done = CliRunner().invoke(group, arguments.split(), prog_name="it")
        assert said in done.output, arguments
        assert list(tmp_path.iterdir()) == [], arguments


@pytest.mark.process
def test_who_may_not_use_the_instance_is_told_who_may():
    """As when the service's files were made by root, or a command is run by somebody else."""
    # The tests' own folders are closed to others, and root may read everything.
    others = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [*(others if os.geteuid() == 0 else []), *COMMAND, "accounts", "list"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment = clean_environment(folder, {})
        assert run_command(["db", "upgrade"], environment).returncode == 0
        for file in ("secret_key", "testimonials.db", "."):
            (folder / "secret_key").chmod(0o644)
            (folder / file).chmod(0)
            told = run_program(command, env=environment).stderr
            assert told.endswith(f". {AS_ITS_OWNER}\n"), told
            assert told.count("\n") == 1
