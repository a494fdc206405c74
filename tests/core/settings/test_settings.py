"""Settings: typed, checked at the start, from the environment or a file."""

import dataclasses
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testimonials.cli.database import describe_settings
from testimonials.cli.main import main
from testimonials.core.settings.table import (
    PREFIX,
    SettingError,
    Settings,
    listening_url,
    load_settings,
    unknown_variables,
)
from tests.contracts.documents import read_meanings
from tests.support.racing import at_once


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """An instance folder that is not there yet."""
    return tmp_path / "of" / "ours"


def load(instance: Path, **environ: str) -> Settings:
    named = {PREFIX + name.upper(): value for name, value in environ.items()}
    return load_settings({PREFIX + "INSTANCE_PATH": str(instance)} | named)


def write(instance: Path, text: str | bytes) -> None:
    instance.mkdir(parents=True, exist_ok=True)
    content = text.encode() if isinstance(text, str) else text
    (instance / "testimonials.toml").write_bytes(content)


def test_it_starts_with_no_setting_at_all(instance):
    settings = load(instance)
    assert settings.base_url == settings.app_url == "http://127.0.0.1:8000"
    assert settings.database_url == f"sqlite:///{instance}/testimonials.db"
    assert settings.is_sqlite
    assert settings.mail_from == "Testimonials <testimonials@127.0.0.1>"
    assert (settings.project_limit, settings.claim_days, settings.signup) == (10, 7.0, "open")
    assert settings.trusted_proxies == 0


def test_relative_files_are_those_of_the_instance(instance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = load(instance, database_url="sqlite:///data/shop.db", backup_path="../copies")
    assert settings.database_url == f"sqlite:///{instance}/data/shop.db"
    assert settings.backup_path == str(instance.parent / "copies")
    elsewhere = load(instance, database_url="sqlite:////var/shop.db", backup_path="/mnt/copies")
    assert elsewhere.database_url == "sqlite:////var/shop.db"
    assert elsewhere.backup_path == "/mnt/copies"


def test_every_setting_has_a_sentence_and_a_parser():
    meanings = read_meanings()
    for field in dataclasses.fields(Settings):
        assert meanings[field.name].endswith(".")
        assert callable(field.metadata["parse"])


def test_the_secret_is_made_once_and_readable_by_the_owner_alone(instance):
    assert load(instance, secret_key="s" * 32).secret_key == "s" * 32
    assert list(instance.iterdir()) == []
    first, second = load(instance), load(instance)
    assert stat.S_IMODE(instance.stat().st_mode) == 0o700
    assert first.secret_key == second.secret_key
    assert len(first.secret_key) >= 32
    assert stat.S_IMODE((instance / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in instance.iterdir()] == ["secret_key"]


def test_two_first_starts_at_once_make_one_secret(instance):
    assert len(set(at_once(8, lambda _: load(instance).secret_key))) == 1
    assert [path.name for path in instance.iterdir()] == ["secret_key"]


def test_a_broken_secret_file_is_refused_and_kept(instance):
    instance.mkdir(parents=True)
    for content in (b"", b"short\n", b"\xff" * 40):
        (instance / "secret_key").write_bytes(content)
        with pytest.raises(SettingError, match="secret_key"):
            load(instance)
        assert (instance / "secret_key").read_bytes() == content


def test_overrides_win_over_the_environment_over_the_file_over_the_default(instance):
    write(instance, "port = 1\nthreads = 1\nproject_limit = 1\n")
    environ = {
        PREFIX + "INSTANCE_PATH": str(instance),
        PREFIX + "PORT": "2",
        PREFIX + "THREADS": "2",
    }
    settings = load_settings(environ, {"port": 3})
    found = (settings.port, settings.threads, settings.project_limit, settings.claim_days)
    assert found == (3, 2, 1, 7.0)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("port", "", "whole number from 0 to 65535"), ("port", "65536", "from 0 to 65535"),
        ("host", "http://h", "without a port"), ("host", "127.0.0.1:80", "without a port"),
        ("port", "８０００", "whole number"), ("threads", "0", "from 1 to 64"),
        ("hsts", "max-age=1 year", "must look like"),
        ("hsts", "max-age=31536000; preload", "includeSubDomains"),
        ("hsts", "max-age=300; includeSubDomains; preload", "max-age=31536000 or more"),
        ("project_limit", "1000001", "from 0 to 1000000"), ("claim_days", "0", "above 0"),
        ("trash_days", "-1", "above 0"), ("claim_days", "nan", "above 0"),
        ("claim_days", "3651", "3650"), ("signup", "maybe", "one of open, domains, closed"),
        ("log_level", "loud", "one of debug"), ("base_url", "example.com", "http:// or https://"),
        ("base_url", "https://example.com/a/../b", "a host and optionally a path"),
        ("base_url", "https://example.com/a?b", "a host and optionally a path"),
        ("base_url", "https://user:pw@example.com", "must be http:// or https://, a host"),
        ("base_url", "https://example.com:99999", "a host"),
        ("base_url", "https://<example>.com", "a host"), ("app_url", "https://[::1", "a host"),
        ("database_url", "mysql://x", "sqlite:/// or postgresql://"),
        ("smtp_url", "mail.example.com:25", "must look like smtp://"),
        ("smtp_url", "smtp://h:99999", "must look like smtp://"),
        ("smtp_url", "smtp://h?tls=1", "starttls"),
        ("smtp_url", "smtps://h?starttls=1", "must look like smtp://"),
        ("smtp_url", "SMTPS://h?starttls=1", "must look like smtp://"),
        ("ratelimit_storage_url", "memory://", "redis://"),
        ("mail_from", "nobody", "email address"),
        ("mail_from", "a@example.com\nBcc: b@example.com", "email address"),
        ("mail_from", "Foo, Bar <a@example.com>", "email address"),
        ("secret_key", "short", "at least 32"),
        ("plans", "starter=five", "must list plans such as"),
        ("plans", "starter=5:price_a price_b", "must list plans such as"),
        ("plans", "a=1,A=2", "names the plan a twice"),
        ("plans", "a=1:price_a,b=2:price_a", "names the price price_a twice"),
        ("plans", "none=1", "which means no plan"),
        ("plans", "a=1000001", "more than 1000000 projects"),
        ("more_projects_url", "javascript:alert(1)", "must be an https://"),
        ("more_projects_url", "https://{account}.example.com", "must be an https://"),
        ("more_projects_url", "https://example.com/{email}", "{account}"),
        ("more_projects_url", "https://[::1/{account", "must be an https://"),
        ("operator_email", "Me <me@example.com>", "an email address such as"),
        ("stripe_webhook_secret", "sk_live_abcdefghijkl", "starts with whsec_"),
        ("metrics_token", "short", "at least 16"),
        ("sentry_dsn", "https://sentry.example.com/7", "must look like https://key@host/1"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_the_rule(instance, name, value, rule):
    with pytest.raises(SettingError) as caught:
        load(instance, **{name: value})
    assert caught.value.message.startswith(PREFIX + name.upper())
    assert rule in caught.value.message


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("base_url", "https://Example.COM:8443/", "https://example.com:8443"),
        ("base_url", " http://[::1]:8000 ", "http://[::1]:8000"),
        ("host", "fe80::1%br-lan", "fe80::1%br-lan"),
        ("claim_days", "0.5", 0.5), ("trash_days", "0", 0.0), ("signup", " CLOSED ", "closed"),
        ("email_deny_domains", "A.example, @b.example,", ("a.example", "b.example")),
        ("database_url", "postgresql+psycopg://h/db", "postgresql://h/db"),
        ("database_url", "postgres://h/db", "postgresql://h/db"),
        ("mail_from", "mail@example.com", "mail@example.com"),
        ("mail_from", '"Foo, Bar" <a@example.com>', '"Foo, Bar" <a@example.com>'),
        ("smtp_url", "smtp://u:p%40@h:587?starttls=1", "smtp://u:p%40@h:587?starttls=1"),
        (
            "plans", "Pro plan = 50 : price_b | price_c,free=1,",
            (("Pro plan", 50, ("price_b", "price_c"), False), ("free", 1, (), False)),
        ),
        ("more_projects_url", "https://a.example/?{account}", "https://a.example/?{account}"),
        ("more_projects_url", "mailto:me@example.com", "mailto:me@example.com"),
        ("more_projects_url", *["mailto:me+{account}@example.com"] * 2),
    ],
)  # fmt: skip
def test_a_value_is_taken_plain(instance, name, value, kept):
    assert getattr(load(instance, **{name: value}), name) == kept


def test_what_needs_another_setting_says_so(instance):
    with pytest.raises(SettingError, match="SIGNUP_DOMAINS must name at least one domain"):
        load(instance, signup="domains")
    secret = "whsec_abcdefghijkl"
    with pytest.raises(SettingError, match="PLANS must name a plan with its price"):
        load(instance, stripe_webhook_secret=secret, plans="starter=5")
    settings = load(instance, stripe_webhook_secret=secret, plans="starter=5:price_a")
    assert settings.stripe_webhook_secret == secret
    shown = describe_settings(settings)
    assert shown[PREFIX + "STRIPE_WEBHOOK_SECRET"] == "(hidden)"
    assert shown[PREFIX + "PLANS"] == ["starter=5:price_a"]


@pytest.mark.parametrize(
    ("name", "value", "module", "extra", "shown"),
    [
        ("metrics_token", "a-token-of-16-letters", "prometheus_client", "metrics", "(hidden)"),
        (
            "sentry_dsn", "https://abc123@sentry.example.com/7", "sentry_sdk", "sentry",
            "https://(hidden)@sentry.example.com/7",
        ),
    ],
)  # fmt: skip
def test_what_needs_a_package_says_which_and_is_hidden(
    instance, monkeypatch, name, value, module, extra, shown
):
    variable = PREFIX + name.upper()
    assert describe_settings(load(instance, **{name: value}))[variable] == shown
    # What an import finds where a package is not installed.
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingError) as caught:
        load(instance, **{name: value})
    needed = f"needs an extra package: pip install 'testimonials[{extra}]'"
    assert caught.value.message == f"{variable} {needed}"


def test_a_file_may_hold_lists_and_numbers(instance):
    write(
        instance,
        'plans = ["starter=5:price_a", "pro=50 unbranded"]\n'
        'signup_domains = ["B.example"]\nport = 80',
    )
    settings = load(instance)
    assert [str(plan) for plan in settings.plans] == ["starter=5:price_a", "pro=50 unbranded"]
    assert (settings.signup_domains, settings.port) == (("b.example",), 80)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("prot = 80", "prot in"), ("instance_path = 'x'", "instance_path in"),
        ("port = true", "port in"), ("port = 80.0", "port in"),
        ("signup_domains = [5]", "signup_domains in"), ("base_url = 5", "base_url in"),
        ("port = ", "can't be read"), (b"\xff", "can't be read"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(instance, content, problem):
    write(instance, content)
    with pytest.raises(SettingError) as caught:
        load(instance)
    assert problem in caught.value.message
    assert "testimonials.toml" in caught.value.message
    environ = {PREFIX + "PROT": "1", PREFIX + "PORT": "1", "OTHER": "1"}
    assert unknown_variables(environ) == [PREFIX + "PROT"]


def test_a_folder_that_can_not_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="INSTANCE_PATH can't be created"):
        load(tmp_path / "file" / "instance")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("instance_path", "~nobody-at-all/data", "Could not determine home"),
        ("backup_path", "/data/\udcff", "surrogates not allowed"),
    ],
)
def test_a_path_that_is_none_is_refused(instance, name, value, rule):
    with pytest.raises(SettingError, match=f"TESTIMONIALS_{name.upper()} .*{rule}"):
        load(instance, **{name: value})


def test_the_listening_address_is_one_that_a_browser_here_can_open():
    for host, opened in (
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),  # noqa: S104 - compared, not bound
        ("::", "[::1]"),
        ("[::1]", "[::1]"),
        ("name.example", "name.example"),
    ):
        assert listening_url(host, 80) == f"http://{opened}:80"


def run(instance: Path, *arguments: str, **settings: str) -> Result:
    """Run a command with these settings in the environment."""
    named = {PREFIX + name.upper(): value for name, value in settings.items()}
    environ = {PREFIX + "INSTANCE_PATH": str(instance)} | named
    return CliRunner(env=environ).invoke(main, arguments)


WRONG_PORT = "Error: TESTIMONIALS_PORT must be a whole number from 0 to 65535, not 'many'\n"


def test_a_wrong_setting_ends_a_command_with_one_sentence(instance):
    done = run(instance, "accounts", "list", port="many")
    assert (done.exit_code, done.stderr) == (1, WRONG_PORT)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_config_show_hides_every_secret(instance, flags):
    settings = {
        "secret_key": "s3cret" * 8,
        "smtp_url": "smtp://user:s3cret@h",
        "database_url": "postgresql://user:s3cret@127.0.0.1/db",
        "ratelimit_storage_url": "redis://:s3cret@h/0",
    }
    result = run(instance, "config", "show", *flags, **settings)
    assert result.exit_code == 0, result.output
    assert "s3cret" not in result.output
    assert "TESTIMONIALS_PORT" in result.stdout
