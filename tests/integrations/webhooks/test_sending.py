"""One try: only to public addresses, within its time, and what the log says of it."""

import contextlib
import subprocess
import sys
import threading

import pytest
from werkzeug.test import TestResponse

from testimonials.core.http_client import is_public
from testimonials.integrations.webhooks.payloads import NOWHERE, Message, Outcome, new_secret, send
from tests.auth.tokens import give_token
from tests.integrations.webhooks.receiver import Handler, add_hook, drip, receiving
from tests.support.process import run_program
from tests.support.racing import at_once
from tests.support.servers import PATIENCE, free_port

SECRET = new_secret()


def post(url: str, seconds: float = PATIENCE) -> Outcome:
    """Send something, to this machine too."""
    message = Message(url, "msg_1", b'{"type":"webhook.test"}', [SECRET])
    return send(message, lambda _address, _port: True, seconds)


def hang(_handler: Handler) -> None:
    threading.Event().wait(PATIENCE)


@pytest.mark.parametrize("behaviour", [hang, drip])
def test_a_receiver_has_so_many_seconds_altogether(receiver, behaviour):
    receiver.behaviour = behaviour  # type: ignore[assignment]
    outcome = post(receiver.url, seconds=0.5)
    assert outcome.error == "No complete answer came within 15 seconds."
    # Far less than the receiver takes, on a busy machine too.
    assert 400 < outcome.ms < 30_000


@pytest.mark.parametrize(
    ("begin", "line"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a\r\n"),
    ],
)
def test_what_is_sent_around_an_answer_has_an_end(receiver, begin, line):
    """Reading it would keep a core busy for as long as it comes."""

    def flood(handler: Handler) -> None:
        with contextlib.suppress(OSError):
            handler.wfile.write(begin)
            while True:
                handler.wfile.write(line * 1000)

    receiver.behaviour = flood
    outcome = post(receiver.url)
    assert outcome.ms < 1000 * PATIENCE / 2


def test_only_a_2xx_accepts_no_redirect_is_followed_and_little_is_kept(receiver):
    receiver.behaviour = lambda handler: handler.answer(302, Location=receiver.url)
    outcome = post(receiver.url)
    assert (outcome.status, outcome.is_accepted, len(receiver.bodies)) == (302, False, 1)
    receiver.behaviour = lambda handler: handler.answer(204)
    assert post(receiver.url).is_accepted
    # Of an answer its beginning is kept as text.
    content = b"\x00\xff" + b"x" * 10_000_000
    receiver.behaviour = lambda handler: handler.answer(200, content)
    outcome = post(receiver.url)
    assert outcome.is_accepted
    assert outcome.answer == "\ufffd\ufffd" + "x" * 1022


def test_no_environments_proxy_is_used(receiver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert post(receiver.url).is_accepted


def test_what_is_inside_looks_like_what_is_nowhere(app, receiver):
    """Whether a name or a port is there can't be told from the log."""
    port = receiver.url.partition("//")[2].partition("/")[0].rpartition(":")[2]
    urls = [receiver.url, "http://127.0.0.1:1/", "http://localhost/", "http://10.0.0.1/"]
    urls += [f"http://[::1]:{port}/", "https://nobody.invalid/", "http://[x/", "ftp://8.8.8.8/"]
    # Outside of what is given out, and within what leads to an IPv4 address inside.
    urls += ["http://[4000::1]/", "http://[::10.0.0.1]/", "http://[2002:a00:1::]/"]
    for url in urls:
        message = Message(url, "msg_1", b"{}", [SECRET])
        outcome = send(message, lambda address, _port: is_public(address))
        assert (outcome.error, outcome.status, outcome.answer) == (NOWHERE, None, ""), url
    assert receiver.bodies == []


REBIND = """
import sys
from testimonials.integrations.webhooks.payloads import Message, new_secret, send
hosts, first, second, url = sys.argv[1:]
def turn(address, _port):
    # Whoever owns the name lets it lead elsewhere once its address was checked.
    open(hosts, "w").write(f"{second} rebinding.example")
    return address == first
print(send(Message(url, "msg_1", b"{}", [new_secret()]), turn).status)
"""


def test_a_name_that_leads_elsewhere_once_it_was_checked_leads_nowhere(tmp_path):
    """In a file system of its own, in which the machine's list of names can be changed."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 rebinding.example")
    outer = ("unshare", "--mount", "--map-root-user", "sh", "-c")
    if subprocess.run([*outer, "true"], capture_output=True).returncode:
        pytest.skip("This machine lets nobody have a file system of their own.")
    inner = 'mount --bind "$0" /etc/hosts && exec "$@"'
    port = free_port()
    with receiving(port=port) as outside, receiving("127.0.0.2", port) as inside:
        url = outside.url.replace("127.0.0.1", "rebinding.example")
        script = [sys.executable, "-c", REBIND, str(hosts), "127.0.0.1", "127.0.0.2", url]
        done = run_program([*outer, inner, hosts, *script])
    assert done.stdout == "200\n", done.stderr
    assert (len(outside.bodies), inside.bodies) == (1, [])
    assert hosts.read_text().startswith("127.0.0.2")


def test_an_address_that_nothing_would_go_to_is_refused_at_once(app, owner):
    project, token = owner.create_project()["_id"], give_token(app, owner).headers
    path = f"/v1/projects/{project}/webhooks"
    for url in (
        "http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/",
        "https://10.1.2.3:8443/", "https://user:secret@example.com/", "https://a b/",
        "https://example.com:99999/", "javascript:alert(1)", f"https://example.com/{'x' * 500}",
    ):  # fmt: skip
        answer = owner.client.post(path, headers=token, json={"url": url})
        assert answer.status_code == 400, url
        assert list(answer.json["errors"]) == ["url"], url  # type: ignore[index]


def test_an_endpoint_is_changed_rotated_and_removed_and_there_are_ten(app, owner, receiver):
    hook = add_hook(app, owner, receiver.url, "testimonial.approved")
    base = hook.path.rpartition("/")[0]
    for n, status in enumerate([200] * 9 + [422]):
        body = {"url": f"{receiver.url}/{n}"}
        answer = owner.client.post(base, headers=hook.token, json=body)
        assert answer.status_code == status
    listed = owner.client.get(base, headers=hook.token)
    assert len(listed.json["data"]["items"]) == 10  # type: ignore[index]
    assert "whsec_" not in listed.text
    new = hook.call("POST", "/rotate")["secret"]
    assert new != hook.secret
    hook.call("POST", "/test")
    hook.deliver()
    # For a day both secrets verify it.
    for secret in (hook.secret, new):
        assert receiver.verify(secret)[0]["type"] == "webhook.test"
    assert hook.call("GET", "/deliveries")["items"][0]["attempts"][0]["answer"] == "Thanks"
    assert hook.call("PATCH", "", {"events": ["nothing"]}, 400)["errors"].keys() == {"events"}
    assert hook.call("PATCH", "", {"events": []})["events"] == []
    hook.call("DELETE")
    hook.call("GET", "", status=404)


@pytest.mark.postgres
def test_a_project_has_each_address_once(app, owner):
    hook = add_hook(app, owner, "https://example.com/hook")
    base, taken = hook.path.rpartition("/")[0], {"url": "https://Example.com:443/hook#here"}

    def post(body: dict[str, str]) -> TestResponse:
        return app.test_client().post(base, headers=hook.token, json=body)

    answer = post(taken)
    assert (answer.status_code, answer.json["code"]) == (409, "ENDPOINT_EXISTS")  # type: ignore[index]
    # Whoever asks first has it.
    answers = at_once(4, lambda _: post({"url": "https://example.com"}))
    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409]
    assert hook.call("PATCH", "", taken | {"events": []})["url"] == taken["url"]
    assert hook.call("PATCH", "", {"url": "https://example.com/"}, 409)["code"] == "ENDPOINT_EXISTS"
    # What leads elsewhere is another address, and another project has its own.
    assert post({"url": "https://example.com/hook?a=1"}).status_code == 200
    add_hook(app, owner, "https://example.com/hook", project=owner.create_project()["_id"])
