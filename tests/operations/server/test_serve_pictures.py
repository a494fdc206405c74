"""Photos sent to a running service: they are decoded beside it, and hold nothing up."""

import html
import os
import signal
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.hostile_pictures import HOSTILE, many_scans
from tests.support.pictures import photo, to_bytes
from tests.support.process import Answer, Service, start_service
from tests.support.servers import PATIENCE, wait_for
from tests.support.visitors import form_token

pytestmark = [pytest.mark.process, pytest.mark.thorough]

TYPED = {"name": "Noor", "text": "They listened.", "rating": "4", "consent": "yes"}


def start(folder: Path) -> Service:
    """Start a service of one worker with the usual four threads, and a project at /kiln."""
    service = start_service(folder, (), {})
    assert service.call("POST", "/v1/projects", {"slug": "kiln"}, service.sign_up()).status == 200
    return service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = start(tmp_path_factory.mktemp("instance"))
    yield service
    service.kill()


def send_photo(service: Service, picture: bytes) -> Answer:
    values = TYPED | {"token": form_token(service.call("GET", "/kiln").body.decode())}
    parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in values.items()]
    parts.append(b'name="photo"; filename="me.jpg"\r\n\r\n' + picture)
    start = b"--limit\r\nContent-Disposition: form-data; "
    body = start + (b"\r\n" + start).join(parts) + b"\r\n--limit--\r\n"
    return service.call(
        "POST", "/kiln", body, {"Content-Type": "multipart/form-data; boundary=limit"}
    )


def children(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        found = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for tasks in found for child in tasks.read_text().split()]
    return []


@pytest.mark.parametrize(("words", "make"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_picture_is_taken_or_refused(service, words, make):
    (worker,) = service.workers
    answer = send_photo(service, make())
    page = html.unescape(answer.body.decode())
    assert words in page
    assert answer.status == (422 if words else 200)
    assert ("They listened.</textarea>" in page) is bool(words)
    # The worker itself never so much as loads a decoder, and what did is gone.
    assert service.workers == [worker]
    assert "PIL" not in Path(f"/proc/{worker}/maps").read_text()
    (decoder,) = children(worker)
    wait_for(lambda: not children(decoder), what="the end of the picture's process")


def test_others_are_answered_while_pictures_wait(service):
    (decoder,) = children(service.workers[0])
    os.kill(decoder, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(3) as pool:
            sent = [pool.submit(send_photo, service, many_scans(5000, 99)) for _ in range(3)]
            # Half of the threads may wait for pictures, so the third is sent away, with its words.
            done, waiting = wait(sent, PATIENCE, FIRST_COMPLETED)
            (busy,) = (each.result() for each in done)
            for path in ("/healthz", "/kiln", "/widget/v1.js"):
                assert service.call("GET", path).status == 200
            assert not any(each.done() for each in waiting)
            os.kill(decoder, signal.SIGCONT)
            assert {each.result().status for each in waiting} == {200}
    finally:
        os.kill(decoder, signal.SIGCONT)
    assert (busy.status, busy.headers["Retry-After"]) == (503, "5")
    page = html.unescape(busy.body.decode())
    assert "They listened.</textarea>" in page
    assert "The server is busy with other pictures." in page


def test_a_decoder_that_is_gone_is_replaced_and_ends_with_its_worker(tmp_path):
    service = start(tmp_path)
    try:
        (worker,) = service.workers
        (first,) = children(worker)
        os.kill(first, signal.SIGKILL)
        picture = to_bytes(photo(), "PNG")
        assert send_photo(service, picture).status == 200
        (decoder,) = children(worker)
        assert decoder != first
        assert service.stop() == 0
        wait_for(lambda: not Path(f"/proc/{decoder}").exists(), what="the decoder's end")
    finally:
        service.kill()
