"""Words that are written to break out, through every door to every exit.

Doors are found by themselves: the strings in the schemas of the API, and the fields of the forms on
all pages. So are the pages among the exits, and the commands.
"""

import csv
import gc
import io
import logging
from collections.abc import Iterator

import click
import pytest
from PIL import Image

from testimonials.core.logs import JsonFormatter, PlainFormatter
from tests.attacks.conftest import restore
from tests.attacks.forms import crawl
from tests.attacks.hostile import (
    MARK,
    TEXTS,
    check_mail,
    check_page,
    check_table,
    public_paths,
    write_all_at_once,
    write_everywhere,
)
from tests.attacks.world import SLUG
from tests.auth.links import mails
from tests.support.commands import COMMANDS, GROUPS
from tests.support.rows import deliver_mail
from tests.support.sampling import mostly_thorough

# Commands that this would stop, or that lead away from this machine or this database.
NOT_RUN = {"serve", "restore", "doctor", "mail test", "db move", "db upgrade"}
REFUSED = {"lines", "separators", "refused"}


class Lines(logging.Handler):
    """Writes each record in both formats, as the service does."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [PlainFormatter().format(record), JsonFormatter().format(record)]


@pytest.fixture
def lines() -> Iterator[list[str]]:
    handler, logger = Lines(), logging.getLogger("testimonials")
    level = logger.level
    logger.setLevel("INFO")
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.parametrize("name", mostly_thorough(TEXTS, "markup"))
def test_words_stay_words(app, instance, world, smtp, lines, name):
    taken = write_everywhere(app, world, TEXTS[name])
    assert taken >= (0 if name in REFUSED else 3), taken
    owner = world.open(app, "owner")
    crawl(owner, ["/dashboard/projects"], check_page)
    for path in public_paths(world):
        answer = owner.get(path, follow_redirects=True)
        assert answer.status_code == 200, path
        check_page(answer.text, path)
    # The widget may have been told to show only a tag that nobody has; the wall shows everything.
    assert "items" in owner.get(f"/widget/{world.ids['project_id']}/feed").get_json()
    assert "<figure" in owner.get(f"/{SLUG}/wall", follow_redirects=True).text
    picture = owner.get(f"/{SLUG}/share.png", follow_redirects=True)
    Image.open(io.BytesIO(picture.data)).load()
    table = owner.post(f"/dashboard/projects/{world.ids['project_id']}/export/csv", buffered=True)
    check_table(table.data)
    for line in lines:
        assert len(line.splitlines()) == 1, line
        assert line.isprintable(), line
    deliver_mail(app, smtp.url)
    recipients = [mail.recipient for mail in mails(app)]
    assert {mail.state for mail in mails(app)} == {"sent"}
    assert sorted(mail.recipients[0] for mail in smtp.received) == sorted(recipients)
    for mail in smtp.received:
        check_mail(mail)


@pytest.mark.parametrize("name", mostly_thorough(["markup", "code words", "refused"], "refused"))
def test_no_field_breaks_the_service(app, instance, world, name):
    for form in world.forms:
        write_all_at_once(app, world, form, TEXTS[name])
        restore(app, instance)


def commands() -> Iterator[tuple[str, click.Command]]:
    found = {
        f"{group.name} {name}": each for group in GROUPS for name, each in group.commands.items()
    }
    found |= {str(each.name): each for each in COMMANDS}
    return ((name, each) for name, each in found.items() if name not in NOT_RUN)


# The library leaves a file open that an unusable command line names.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", mostly_thorough(["wide formula", "separators"], "separators"))
def test_no_words_steer_a_terminal(app, instance, world, tmp_path, name):
    write_everywhere(app, world, TEXTS[name])
    table = tmp_path / "rows.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "text"), (TEXTS[name], "Words"), ("Maya", "")])
    known = {
        "account": "owner@example.com", "email": "owner@example.com", "file": str(table),
        "limit": TEXTS[name], "title": TEXTS[name], "name": world.ids["form_name"],
        "mail_id": mails(app)[-1].id, "plan": TEXTS[name], "owner": "owner@example.com",
        "person": "admin@example.com", "role": "reader", "host": TEXTS[name],
        "report_id": world.ids["report_id"], "recipient": "someone@example.com",
        "target": str(tmp_path / "target"), "project": world.ids["project_id"],
        "ids": world.ids["proposal_id"], "token_id": world.ids["token_id"],
        "webhook": world.ids["webhook_id"], "import_id": world.ids["import_id"],
        "decision": "approve",
    }  # fmt: skip
    seen = 0
    for full_name, command in commands():
        # A new kind of argument must be named above, so that no command is left out.
        arguments = [
            known[each.name] for each in command.params if isinstance(each, click.Argument)
        ]
        for more in ([], ["--json"]):
            result = app.test_cli_runner().invoke(
                args=[*full_name.split(), *arguments, *more], input="n\n"
            )
            text = result.stdout + result.stderr
            seen += MARK in text
            assert text.replace("\n", "").isprintable(), (full_name, text)
    assert seen > 3
    # Those files end here, and not in the middle of another test.
    gc.collect()
