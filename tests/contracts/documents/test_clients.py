"""Clients are generated from the description as docs/clients.md says, and work."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from testimonials.core.http.openapi import build_openapi
from tests.contracts.documents import DOCS
from tests.contracts.documents.test_documents import give_token
from tests.support.process import run_program

pytestmark = [pytest.mark.process, pytest.mark.thorough]

TOOLS = Path(__file__).parents[3] / "packages/examples/node_modules"


def read_code(language: str) -> str:
    text = (DOCS / "clients.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)\n```", text, re.DOTALL)
    return str(code)


def run(*command: str | Path, folder: Path) -> str:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = run_program(command, cwd=folder, env=os.environ | {"PATH": programs, "NO_COLOR": "1"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_python_client_is_generated_and_calls(start, tmp_path):
    service = start()
    credentials = service.sign_up()
    project = service.call("POST", "/v1/projects", {"slug": "fern"}, credentials).data["_id"]
    token = give_token(service, credentials["x-service-account-id"])
    (tmp_path / "client.yaml").write_text(read_code("yaml"))
    command = "openapi-python-client generate --config client.yaml --meta none"
    places = "--output-path", "testimonials_client", "--url", f"{service.url}/v1/openapi.json"
    said = run(*command.split(), *places, folder=tmp_path)
    assert "WARNING" not in said, said
    code = f"URL, TOKEN = {service.url!r}, {token!r}\n{read_code('python')}"
    assert run(sys.executable, "-c", code, folder=tmp_path).split() == [project, "fern"]


def test_types_for_typescript_are_generated_and_fit(described_app, tmp_path):
    if not (TOOLS / "openapi-typescript").exists():
        pytest.skip("run scripts/test, which installs what packages/examples needs")
    description = build_openapi(described_app, "1")
    (tmp_path / "node_modules").symlink_to(TOOLS)
    (tmp_path / "openapi.json").write_text(json.dumps(description))
    program = TOOLS / ".bin/openapi-typescript"
    run(program, "openapi.json", "--output", "testimonials.d.ts", folder=tmp_path)
    values = "declare const URL: string, TOKEN: string, PROJECT_ID: string;\n"
    use = "const slug: string | undefined = data?.data.publicPageConfig.slug;\n"
    wrong = "// @ts-expect-error\ndata?.data.slug;\nexport { error, slug };\n"
    (tmp_path / "use.ts").write_text(f"{values}{read_code('ts')}\n{use}{wrong}")
    flags = "--noEmit --strict --skipLibCheck --module esnext --target esnext"
    flags += " --moduleResolution bundler"
    run(TOOLS / ".bin/tsc", *flags.split(), "use.ts", folder=tmp_path)
