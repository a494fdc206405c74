"""The code in docs/webhooks.md verifies what the service sends, in each language that is here."""

import json
import re
import shutil
import sys
import time
from typing import Any

import pytest

from testimonials.dashboard.webhooks import EVENTS
from testimonials.integrations.webhooks.payloads import NAMES, TEST, new_secret, sign
from tests.contracts.documents import DOCS, render_everything
from tests.support.process import run_program

# By language: the program, its file, and what the code is put into.
FRAMES = {
    "python": (
        sys.executable, "verify.py",
        "import json, sys\nCODE\n"
        "print(json.dumps([verify(s, h, b.encode()) for s, h, b in json.load(sys.stdin)]))\n",
    ),
    "js": (
        "node", "verify.mjs",
        "import { readFileSync } from 'node:fs';\nCODE\n"
        "const cases = JSON.parse(readFileSync(0));\n"
        "console.log(JSON.stringify(cases.map(([s, h, b]) => verify(s, h, Buffer.from(b)))));\n",
    ),
    "php": (
        "php", "verify.php",
        "<?php\nCODE\n$cases = json_decode(stream_get_contents(STDIN), true);\n"
        "echo json_encode(array_map(fn ($each) => verify(...$each), $cases));\n",
    ),
    "ruby": (
        "ruby", "verify.rb",
        "require 'json'\nCODE\nputs JSON.parse($stdin.read).map { |each| verify(*each) }.to_json\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", FRAMES)
def test_code_accepts_what_is_sent_and_nothing_else(language, tmp_path):
    program, name, frame = FRAMES[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    text = (DOCS / "webhooks.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)\n```", text, re.DOTALL)
    file = tmp_path / name
    file.write_text(frame.replace("CODE", code), encoding="utf-8")
    now = int(time.time())
    secret, other = new_secret(), new_secret()
    body = '{"type":"webhook.test","data":{"text":"Schön 🍞"}}'
    good = write_headers(body, now, other, secret)
    cases: list[tuple[Any, bool]] = [
        ((secret, good, body), True),
        ((secret, good, body + " "), False),
        ((secret, write_headers(body, now, other), body), False),
        ((secret, write_headers(body, now - 3600, secret), body), False),
        ((secret, good | {"webhook-id": "msg_2"}, body), False),
        ((secret, good | {"webhook-signature": "v1,x"}, body), False),
    ]
    ran = run_program([program, file], input=json.dumps([case for case, _ in cases]))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [expected for _, expected in cases]


def test_an_agent_with_the_service_alone_reads_how_to_verify():
    _, _, section = render_everything().partition("# When a webhook arrives\n")
    section = section.partition("\n# ")[0]
    for word in ("webhook-id", "webhook-timestamp", "webhook-signature", "whsec_", "HMAC-SHA256"):
        assert word in section, word


def test_the_form_and_the_document_name_each_event():
    document = re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", (DOCS / "webhooks.md").read_text(), re.M)
    assert set(EVENTS) == set(NAMES)
    assert set(document) == {*NAMES, TEST}


def write_headers(body: str, time: int, *secrets: str) -> dict[str, str]:
    signatures = [sign(secret, "msg_1", time, body.encode()) for secret in secrets]
    named = {"webhook-id": "msg_1", "webhook-timestamp": str(time)}
    return named | {"webhook-signature": " ".join(signatures)}
