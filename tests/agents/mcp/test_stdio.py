"""`testimonials mcp` where things go wrong; the official clients try where they don't."""

import json

from click.testing import CliRunner, Result

from testimonials.cli import main
from tests.support.servers import free_port


def run(*lines: str, **environment: str) -> Result:
    """Run the command with these lines as its input."""
    return CliRunner(env=environment).invoke(main, ["mcp"], input="\n".join(lines))


def test_each_line_that_asks_gets_an_error_and_the_next_is_read() -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    lines = (
        '{"jsonrpc": "2.0", "id": 5, "method": "ping"}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        "",
        "nonsense",
        "[]",
        '{"jsonrpc": "2.0", "id": "é", "method": "tools/call", "params": {"_meta": []}}',
    )
    done = run(*lines, TESTIMONIALS_URL=url, TESTIMONIALS_TOKEN="tst_tok_x")
    assert done.exit_code == 0, done.output
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [5, None, None, "é"]
    assert [answer["error"]["code"] for answer in answers] == [-32000, -32700, -32600, -32000]
    assert f"{url}mcp can't be reached" in answers[0]["error"]["message"]
    assert "tst_tok_x" not in done.output


def test_it_needs_a_url_and_a_token() -> None:
    assert "--url" in run().stderr
    assert "--token" in run(TESTIMONIALS_URL="https://reviews.example.com").stderr
    refused = run('{"id": 1}', TESTIMONIALS_URL="file:///etc", TESTIMONIALS_TOKEN="x")
    assert "can't be reached" in refused.stdout
