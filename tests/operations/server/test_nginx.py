"""The service behind Debian's nginx, configured as packaged, with `packaging/nginx.conf`."""

import gzip
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.operations.server.hosts.nginx import run_nginx
from tests.support.process import Answer, Service, start_service
from tests.support.servers import PATIENCE, free_port, wait_for

pytestmark = [pytest.mark.process, pytest.mark.thorough]


@dataclass
class Proxy:
    service: Service
    port: int

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, object] | bytes | None = None,
        headers: dict[str, str] | None = None,
        address: str = "127.0.0.1",
    ) -> Answer:
        sent = dict(headers or {})
        if isinstance(body, dict):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection = HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE, source_address=(address, 0)
        )
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """nginx and the service, for every test that leaves them as they were."""
    with run_proxy(tmp_path_factory.mktemp("nginx") / "service") as proxy:
        yield proxy


@contextmanager
def run_proxy(instance: Path) -> Iterator[Proxy]:
    port = free_port()
    settings = {"trusted_proxies": "1", "base_url": f"http://127.0.0.1:{port}", "workers": "2"}
    service = start_service(instance, (), settings)
    try:
        with run_nginx(port, [service]):
            yield Proxy(service, port)
    finally:
        service.kill()


def _make_project(proxy: Proxy) -> tuple[str, dict[str, str]]:
    number = next(_numbers)
    body: dict[str, object] = {"email": f"owner{number}@example.com"}
    # From an address of its own, since each may sign up five times.
    answer = proxy.call("POST", "/v1/auth/agent-init", body, None, f"127.0.1.{number}")
    assert answer.status == 200, answer.body
    headers = {"x-service-account-id": answer.data["accountId"], "x-api-key": answer.data["apiKey"]}
    project = proxy.call("POST", "/v1/projects", {}, headers).data["_id"]
    return project, headers


def test_addresses_are_the_proxys(proxy):
    project, headers = _make_project(proxy)
    snippet = proxy.call("GET", f"/v1/projects/{project}/embed-snippet", headers=headers).data
    own = f"http://127.0.0.1:{proxy.port}"
    assert snippet["widgetUrl"].startswith(f"{own}/widget/v1.js?")
    assert f'href="{own}/widget/{project}"' in snippet["container"]


def test_each_visitor_has_a_rate_limit_of_their_own_and_can_not_forge_it(proxy):
    def init(number: int, address: str) -> int:
        headers = {"X-Forwarded-For": f"198.51.100.{number}", "X-Real-IP": "198.51.100.1"}
        body: dict[str, object] = {"email": f"owner{number}@example.com"}
        return proxy.call("POST", "/v1/auth/agent-init", body, headers, address).status

    assert [init(number, "127.0.0.2") for number in range(6)] == [200] * 5 + [429]
    assert init(7, "127.0.0.3") == 200
    # Nor that they come by https.
    answer = proxy.call("GET", "/healthz", headers={"X-Forwarded-Proto": "https"})
    assert "Strict-Transport-Security" not in answer.headers


def test_a_form_of_the_same_origin_is_taken_and_no_other_or_larger(proxy):
    form = b"email=nobody%40example.com&password=x"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    own = headers | {"Origin": f"http://127.0.0.1:{proxy.port}"}
    assert proxy.call("POST", "/login", form, own).status == 422
    foreign = headers | {"Origin": "https://evil.example"}
    assert proxy.call("POST", "/login", form, foreign).status == 403
    # Bodies up to the service's own limit reach it.
    small = {"email": "a" * 2_000_000}
    # More than nginx takes unless told; the service's own refusal is in the API's shape.
    refused = proxy.call("POST", "/v1/auth/agent-init", dict(small))
    assert (refused.status, refused.json["code"]) == (413, "BODY_TOO_LARGE")
    length = {"Content-Length": str(17 * 1024 * 1024), "Content-Type": "application/json"}
    assert proxy.call("POST", "/v1/auth/agent-init", b"", length).status == 413


@pytest.mark.parametrize("path", ["/widget/v1.js", "/widget/{project}/feed", "/static/css/app.css"])
def test_answers_are_compressed_once_and_keep_their_etag(proxy, path):
    path = path.format(project=_make_project(proxy)[0])
    direct = proxy.service.call("GET", path)
    for _ in range(2):
        zipped = proxy.call("GET", path, headers={"Accept-Encoding": "gzip"})
        assert zipped.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(zipped.body) == direct.body
        plain = proxy.call("GET", path)
        assert (plain.headers["Content-Encoding"], plain.body) == (None, direct.body)
        etag = plain.headers["ETag"]
        assert etag == direct.headers["ETag"]
        unchanged = proxy.call("GET", path, headers={"If-None-Match": etag})
        assert (unchanged.status, unchanged.body) == (304, b"")


def test_the_widgets_data_is_kept_and_asked_for_anew(tmp_path):
    with run_proxy(tmp_path / "service") as proxy:
        project, headers = _make_project(proxy)
        path = f"/widget/{project}/feed"

        def is_kept_as(word: str) -> bool:
            return proxy.call("GET", path).headers["X-Cache"] == word

        first = proxy.call("GET", path)
        assert first.headers["X-Cache"] == "MISS"
        assert first.headers["Access-Control-Allow-Origin"] == "*"
        wait_for(lambda: is_kept_as("HIT"), what="a kept answer")
        values: dict[str, object] = {"authorName": "Maya", "text": "New."}
        added = proxy.call("POST", f"/v1/projects/{project}/testimonials", values, headers)
        assert added.status == 200
        total = first.json["total"] + 1
        # The first visitor past that second sees the change, however long nobody has asked.
        answers = [proxy.call("GET", path)]

        def has_expired() -> bool:
            answers.append(proxy.call("GET", path))
            return answers[-1].headers["X-Cache"] != "HIT"

        wait_for(has_expired, what="a second")
        assert (answers[-1].headers["X-Cache"], answers[-1].json["total"]) == ("EXPIRED", total)
        # The answer that nothing has changed keeps it for a second more.
        wait_for(lambda: is_kept_as("REVALIDATED"), what="a second")
        # It stays there for the websites while the service is away.
        assert proxy.service.stop() == 0
        wait_for(lambda: is_kept_as("STALE"), what="its end")
        assert proxy.call("GET", path).json["total"] == total
        assert proxy.call("GET", "/healthz").status == 502


def test_private_pages_are_never_kept(proxy):
    project, headers = _make_project(proxy)
    for path in (f"/v1/projects/{project}", f"/widget/{project}", "/login"):
        assert proxy.call("GET", path, headers=headers).headers["X-Cache"] is None
