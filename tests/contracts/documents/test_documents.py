"""What is written for people and agents is what the program does."""

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from flask import Flask

from testimonials.commands import COMMANDS, GROUPS
from testimonials.core.web.api.openapi import method_of, operations
from testimonials.settings.table import PREFIX, Settings
from tests.conftest import StartService
from tests.contracts.documents import (
    DOCS,
    GENERATED,
    QUICKSTART,
    read_between,
    render_agent_quickstart,
    render_api,
    render_commands,
    render_settings,
    write_between,
    write_documents,
)
from tests.support.process import Service
from tests.support.servers import PATIENCE

RENEW = "run `python -m tests.contracts.documents`"


@pytest.mark.parametrize("name", GENERATED)
def test_generated_part_is_as_rendered(name: str) -> None:
    _, marker, render = GENERATED[name]
    assert read_between((DOCS / name).read_text(), marker) == render(), RENEW


def test_quickstart_is_the_guide_that_is_served() -> None:
    assert (DOCS / QUICKSTART).read_text() == render_agent_quickstart(), RENEW


def test_writing_keeps_what_people_wrote_around_it(tmp_path: Path) -> None:
    write_documents(tmp_path)
    path = tmp_path / "settings.md"
    path.write_text(write_between(path.read_text(), "settings", "old") + "\nBehind it.\n")
    write_documents(tmp_path)
    text = path.read_text()
    assert text.endswith("\nBehind it.\n")
    assert read_between(text, "settings") == render_settings()


def test_each_test_that_the_threat_model_names_exists() -> None:
    root = DOCS.parent
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (root / "SECURITY.md").read_text())
    assert len(named) > 80
    files = {path: (root / "tests" / path).read_text() for path, _ in named}
    assert [name for path, name in named if f"def {name}(" not in files[path]] == []


def test_every_setting_is_listed() -> None:
    text = render_settings()
    missing = [
        variable
        for field in dataclasses.fields(Settings)
        if f"| `{(variable := PREFIX + field.name.upper())}` |" not in text
    ]
    assert missing == []


def test_every_command_and_option_is_listed() -> None:
    text = render_commands()
    for group in GROUPS:
        for command in group.commands.values():
            section = text.partition(f"### testimonials {group.name} {command.name}\n")[2]
            assert section, command.name
            section = section.partition("\n##")[0]
            assert command.help, command.name
            for option in command.params:
                if isinstance(option, click.Option) and option.name != "as_json":
                    assert option.opts[-1] in section
            assert "as_json" in {option.name for option in command.params}
    for name in ("serve", *(str(command.name) for command in COMMANDS)):
        assert f"## testimonials {name}\n" in text


@pytest.mark.parametrize("render", [render_api, render_agent_quickstart])
def test_every_call_is_mentioned(described_app: Flask, render: Callable[[], str]) -> None:
    text = render()
    for rule, _, view in operations(described_app):
        is_for_tokens = hasattr(view, "access") and not view.access.by_key
        if render is render_agent_quickstart and is_for_tokens:
            # The guide is for who comes without anything, and short.
            continue
        # In the guide an id is the shell's variable; a query or quote may follow.
        path = re.sub(
            r"<(?:path:)?(\w+)>",
            lambda name: rf"(?:\{{{name[1]}\}}|\${name[1].upper()})",
            rule.rule,
        )
        pattern = rf"{method_of(rule)} ['\"`]?(?:https://[a-z.]+)?{path}(?=['\"`?]|$)"
        if method_of(rule) == "GET":
            pattern += rf"|curl -sS ['\"]https://[a-z.]+{path}['\"]"
        assert re.search(pattern, text, re.MULTILINE), rule.rule


def commands_in(text: str) -> list[str]:
    """Return the shell commands of an indented text, continued lines put together."""
    lines = re.findall(r"(?m)^    ((?:curl|export) (?:.*\\\n)*.*)$", text)
    return [line.strip() for line in lines]


def run(command: str, variables: dict[str, str]) -> str:
    """Run a shell command as written; return what it printed."""
    shell = shutil.which("bash")
    assert shell is not None
    answer = subprocess.run(
        [shell, "-euc", command.replace("curl ", "curl --fail-with-body ")],
        env=variables | {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}{answer.stderr}"
    return answer.stdout


def follow(service: Service, text: str) -> list[str]:
    """Run every call of the guide in order, with the ids of the answers before; return paths."""
    variables: dict[str, str] = {}
    called = []
    for command in commands_in(text):
        for name, value in variables.items():
            command = command.replace(f"<{name}>", value)
        if command.startswith("export "):
            # What it sets is in `variables` already, as each command has a shell of its own.
            run(command, variables)
            continue
        data = json.loads(run(command, variables))["data"]
        if "apiKey" in data:
            variables |= {"ACCOUNT_ID": data["accountId"], "API_KEY": data["apiKey"]}
        elif "publicPageConfig" in data:
            variables["PROJECT_ID"] = data["_id"]
        called.append(command)
    assert set(variables) == {"ACCOUNT_ID", "API_KEY", "PROJECT_ID"}
    return called


@pytest.mark.process
def test_guide_for_agents_can_be_followed_to_the_letter(start: StartService) -> None:
    service = start()
    text = service.call("GET", "/llms.txt").body.decode()
    called = follow(service, text)
    assert len(called) == text.count("    curl ") >= 7
    # The addresses in it lead to this very service.
    for address in set(re.findall(rf"{re.escape(service.url)}(/[\w./-]*[\w/])", text)):
        if not address.startswith(("/v1/projects", "/v1/me", "/v1/auth", "/widget")):
            assert service.call("GET", address).status == 200, address


@pytest.mark.process
def test_reference_can_be_followed_too(start: StartService, tmp_path: Path) -> None:
    service = start()
    credentials = service.sign_up()
    project = service.call("POST", "/v1/projects", {}, credentials).data["_id"]
    path = f"/v1/projects/{project}/testimonials"
    row = service.call("POST", path, {"authorName": "Maya", "text": "Good."}, credentials).data
    change = {"kind": "widget", "values": {"showStars": False}}
    path = f"/v1/projects/{project}/proposals"
    variables = {
        "<PROPOSAL_ID>": service.call("POST", path, change, credentials).data["_id"],
        "<TESTIMONIAL_ID>": row["_id"],
        "<ACCOUNT_ID>": credentials["x-service-account-id"],
        "<API_KEY>": credentials["x-api-key"],
        "<PROJECT_ID>": project,
        "https://testimonials.example.com": service.url,
        # A second sign-up with the documented address would replace the key in use.
        "owner@example.com": "somebody-else@example.com",
    }
    blocks = re.findall(r"```sh\n(.*?)\n```", render_api(), re.DOTALL)
    # What the key doesn't reach needs a token, and often something that a call before has made.
    blocks = [block for block in blocks if "<TOKEN>" not in block]
    assert len(blocks) >= 12
    for block in blocks:
        for name, value in variables.items():
            block = block.replace(name, value)
        if "-o answer" in block:
            run(block.replace("-o answer", f"-o {tmp_path / 'answer'}"), {})
            assert (tmp_path / "answer").read_bytes().startswith(b"\x89PNG")
        else:
            assert "data" in json.loads(run(block, {}))
