"""What is written for people and agents is what the program does."""

import json
import re
import shutil
from pathlib import Path

import pytest

from testimonials import create_app
from testimonials.auth.accounts import claim_account
from testimonials.auth.models import Account
from testimonials.auth.tokens import Scope, make_token
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.http.openapi import operations
from testimonials.core.settings.table import load_settings
from tests.conftest import hash_of_password
from tests.contracts.documents import (
    DOCS,
    EXAMPLE_URL,
    RENDERED,
    render_agent_quickstart,
    render_api,
    render_everything,
    write_documents,
)
from tests.support.pictures import photo, to_bytes
from tests.support.process import Service, run_program
from tests.support.sampling import mostly_thorough

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


def test_every_document_is_written_whole(tmp_path):
    write_documents(tmp_path / "new" / "folder")
    written = {path.name: path.read_text() for path in (tmp_path / "new" / "folder").iterdir()}
    assert written.keys() == RENDERED.keys()
    for name, render in RENDERED.items():
        assert written[name].endswith(render().rstrip("\n") + "\n")
        assert re.match(r"# \w+.*\n\n", written[name])


def test_every_link_leads_to_something():
    """In what was written by people: to a file of the repository, and to a heading in it."""
    documents = [*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")]
    assert len(documents) > 20
    dead = [
        f"{document.name}: {file}#{anchor}"
        for document in documents
        for file, anchor in LINK.findall(document.read_text())
        if not leads_somewhere(document.parent / file if file else document, anchor)
    ]
    assert dead == []


def leads_somewhere(path: Path, anchor: str) -> bool:
    """Tell whether a file is there and has the heading that is named, if one is."""
    if not path.exists():
        return False
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text()) if anchor else []
    named = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
    return not anchor or anchor in named


def test_each_file_and_each_test_that_is_named_exists():
    root = DOCS.parent
    files = [*DOCS.glob("*.md"), *root.glob("*.md"), *root.glob("compose*.yaml")]
    assert [
        (file.name, name)
        for file in files
        for name in re.findall(
            r"(?<![\w/])(?:testimonials|tests|tools|scripts|packaging)/[\w/]+\.\w+",
            file.read_text(),
        )
        # architecture.md names files from the package on, SECURITY.md from the tests' folder.
        if not any((root / start / name).exists() for start in ("", "testimonials", "tests"))
    ] == []
    # And each test that the threat model names.
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", (root / "SECURITY.md").read_text())
    assert len(named) > 80
    sources = {path: (root / "tests" / path).read_text() for path, _ in named}
    assert [name for path, name in named if f"def {name}(" not in sources[path]] == []


def test_guide_for_agents_is_short_and_names_the_whole_one():
    text = render_agent_quickstart()
    assert len(text.split()) < 1_000
    assert f"{EXAMPLE_URL}/llms-full.txt" in text
    assert render_everything().startswith(text.rstrip())


def test_every_call_that_the_short_guide_names_is_there(described_app):
    there = {
        f"{operation.method} {re.sub('<(?:path:)?([a-z_]+)>', '{}', rule.rule)}"
        for rule, operation in operations(described_app)
    }
    named = re.findall(r"`([A-Z|]+) ([/.][\w/.$-]+)", render_agent_quickstart())
    calls = {
        f"{method} {re.sub(r'[$][A-Z_]+', '{}', path.replace('...', '/v1/projects/{}'))}"
        for methods, path in named
        for method in methods.split("|")
    }
    assert len(calls) > 20
    assert calls - there == set()


@pytest.mark.parametrize("render", [render_api, render_everything])
def test_every_call_is_mentioned(described_app, render):
    text = render()
    for rule, operation in operations(described_app):
        # In the guide an id is the shell's variable; a query or quote may follow.
        path = re.sub(
            r"<(?:path:)?(\w+)>",
            lambda name: rf"(?:\{{{name[1]}\}}|\${name[1].upper()})",
            rule.rule,
        )
        pattern = rf"{operation.method} ['\"`]?(?:https://[a-z.]+)?{path}(?=['\"`?]|$)"
        if operation.method == "GET":
            pattern += rf"|curl -sS ['\"]https://[a-z.]+{path}['\"]"
        assert re.search(pattern, text, re.MULTILINE), rule.rule


def test_every_shape_that_is_named_is_described():
    text = render_api()
    types = re.findall(r"(?m)^\| `\w+` \| ([^|]+) \||`data(?:\.items)?`: ([\w ]+)\.$", text)
    named = set(re.findall(r"\b[A-Z]\w+", " ".join(map(" ".join, types))))
    assert named - set(re.findall(r"(?m)^(?:### |The body is a `)(\w+)", text)) == set()
    # A picture is the only answer without data.
    assert text.count("Answers 200") == len(re.findall(r"Answers 200.+`data", text)) + 1


def commands_in(text: str) -> list[str]:
    """Return the shell commands of an indented text, continued lines put together."""
    return re.findall(r"(?m)^    ((?:curl|export) .*(?:\n    .+)*)", text)


def run(command: str, variables: dict[str, str], *, may_fail: bool = False) -> str:
    shell = shutil.which("bash")
    assert shell is not None
    script = command.replace("curl ", "curl --fail-with-body ")
    environment = variables | {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    answer = run_program([shell, "-euc", script], env=environment)
    assert answer.returncode == 0 or may_fail, f"{command}\n{answer.stdout}{answer.stderr}"
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
        project = data.get("project", data) if isinstance(data, dict) else {}
        if "publicPageConfig" in project:
            variables["PROJECT_ID"] = project["_id"]
        if "authorName" in data:
            variables["TESTIMONIAL_ID"] = data["_id"]
        called.append(command)
    assert set(variables) >= {"ACCOUNT_ID", "API_KEY", "PROJECT_ID"}
    return called


@pytest.mark.process
# The whole guide begins with the short one.
@pytest.mark.parametrize(
    ("path", "least"),
    mostly_thorough([("/llms.txt", 2), ("/llms-full.txt", 7)], ("/llms-full.txt", 7)),
)
def test_guide_can_be_followed_to_the_letter(start, path, least):
    # As `./scripts/run` starts it, where a project has its address already.
    service = start("--sample")
    text = service.call("GET", path).body.decode()
    called = follow(service, text)
    assert len(called) == text.count("    curl ") >= least
    # The addresses in it lead to this very service.
    for address in set(re.findall(rf"{re.escape(service.url)}(/[\w./-]*[\w/])", text)):
        if address == "/v1/openapi.json" or not address.startswith(("/v1/", "/widget")):
            # MCP wants credentials.
            assert service.call("GET", address).status in (200, 401), address


# What the examples refer to isn't there, or its state doesn't allow it.
REFUSALS = {"NOT_FOUND", "LINK_INVALID", "ACTION_REFUSED", "NO_DOMAIN"}


@pytest.mark.thorough
@pytest.mark.process
def test_reference_can_be_followed_too(start, tmp_path):
    service = start()
    credentials = service.sign_up()
    project = service.call("POST", "/v1/projects", {}, credentials).data["_id"]
    path = f"/v1/projects/{project}/testimonials"
    row = service.call("POST", path, {"authorName": "Maya", "text": "Good."}, credentials).data
    change = {"kind": "widget", "values": {"showStars": False}}
    path = f"/v1/projects/{project}/proposals"
    (tmp_path / "file").write_bytes(to_bytes(photo(), "PNG"))
    proposal = service.call("POST", path, change, credentials).data["_id"]
    account = credentials["x-service-account-id"]
    variables = {
        "<PROPOSAL_ID>": proposal, "<TESTIMONIAL_ID>": row["_id"], "<ACCOUNT_ID>": account,
        "<API_KEY>": credentials["x-api-key"], "<TOKEN>": give_token(service, account),
        "<PROJECT_ID>": project, "<FILE>": str(tmp_path / "file"), EXAMPLE_URL: service.url,
        # A second sign-up with the documented address would replace the key in use.
        "owner@example.com": "somebody-else@example.com",
    }  # fmt: skip
    blocks = re.findall(r"```sh\n(.*?)\n```", render_api(), re.DOTALL)
    assert len(blocks) >= 13
    # What is removed is removed last.
    for block in sorted(blocks, key=lambda each: "-X DELETE" in each):
        command = block
        for name, value in variables.items():
            command = command.replace(name, value)
        command = re.sub(r"<[A-Z_]+>", "0" * 24, command)
        if "-o answer" in command:
            run(command.replace("-o answer", f"-o {tmp_path / 'answer'}"), {})
            assert (tmp_path / "answer").read_bytes().startswith(b"\x89PNG")
        else:
            answer = json.loads(run(command, {}, may_fail=True))
            assert "data" in answer or answer["code"] in REFUSALS, f"{command}\n{answer}"


def give_token(service: Service, account_id: str) -> str:
    """Return an access token with all scopes, as the owner makes it who claimed the account."""
    with create_app(load_settings(service.environment, {})).app_context():
        lock_for_writing()
        claim_account(db.session.get_one(Account, account_id), hash_of_password())
        _, plain = make_token(account_id, None, "Helper", Scope, None, account_id)
        db.session.commit()
        db.engine.dispose()
    return plain
