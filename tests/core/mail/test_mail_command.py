"""`testimonials mail test` against servers that refuse, and one that accepts."""

import json

from tests.auth.links import mails
from tests.conftest import MakeApp
from tests.support.mail_servers import PASSWORD, URL_USER, OddServer, secure_server
from tests.support.servers import PATIENCE, MailSink


def run(make_app: MakeApp, url: str, *arguments: str) -> tuple[int, str, str]:
    """Run the command with this SMTP_URL; return exit code, output and errors."""
    runner = make_app(smtp_url=url).test_cli_runner()
    done = runner.invoke(
        args=["mail", "test", "operator@example.com", "--timeout", str(PATIENCE), *arguments]
    )
    return done.exit_code, done.stdout, done.stderr


def test_the_conversation_is_shown_and_ends_with_the_words_of_the_server(make_app: MakeApp) -> None:
    server = OddServer(RCPT="451 4.7.1 Greylisted, come back")
    code, output, errors = run(make_app, server.url)
    server.stop()
    assert code == 1
    assert "C: mail FROM:<testimonials@testimonials.example.com>" in output
    assert "S: 451 4.7.1 Greylisted, come back" in output
    assert "was not sent: 451 4.7.1 Greylisted" in errors


def test_a_program_reads_the_same_as_json(make_app: MakeApp) -> None:
    server = OddServer(MAIL="550 5.7.1 No")
    code, output, _ = run(make_app, server.url, "--json")
    server.stop()
    outcome = json.loads(output)
    assert code == 1
    assert (outcome["sent"], outcome["problem"]) == (False, "550 5.7.1 No")
    assert outcome["warning"] is None
    assert "S: 550 5.7.1 No" in outcome["dialogue"]


def test_a_password_in_the_clear_works_and_is_warned_of(make_app: MakeApp) -> None:
    with secure_server(None, has_login=True, may_login_in_the_clear=True) as (sink, port):
        code, output, _ = run(make_app, f"smtp://{URL_USER}@127.0.0.1:{port}")
    assert code == 0
    assert len(sink.received) == 1
    assert "The password travelled unencrypted" in output
    assert PASSWORD not in output


def test_a_server_steers_no_terminal(make_app: MakeApp) -> None:
    server = OddServer(RCPT="550 \x1b[31mred\x1b]0;owned\x07")
    code, output, errors = run(make_app, server.url)
    server.stop()
    assert code == 1
    assert "[31mred" in output
    assert "[31mred" in errors
    assert not {"\x1b", "\x07"} & set(output + errors)


def test_a_mail_that_was_accepted_is_not_kept(make_app: MakeApp, smtp: MailSink) -> None:
    """Services that rate mail use disposable addresses, which can't sign up."""
    app = make_app(smtp_url=smtp.url)
    arguments = ["mail", "test", "Test-X1@mailinator.com", "--json"]
    outcome = json.loads(app.test_cli_runner().invoke(args=arguments).stdout)
    assert (outcome["recipient"], outcome["sent"]) == ("test-x1@mailinator.com", True)
    assert "C: rcpt TO:<test-x1@mailinator.com>" in outcome["dialogue"]
    assert outcome["dialogue"][-2:] == ["S: 250 OK", "C: quit"]
    (mail,) = smtp.wait()
    assert mail.message["Subject"] == "Test mail from Testimonials"
    assert mails(app) == []
