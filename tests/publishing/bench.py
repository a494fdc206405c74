"""`scripts/bench publishing`: how soon a change is out, and what one core of a static host serves.

The host is nginx with the lines of docs/publishing.md.
"""

import contextlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.support.process import Service, start_service
from tests.support.servers import find_program, free_port, wait_for
from tests.tools.bench_paths import VALUES, Case, make_project, measure

DOCUMENT = Path(__file__).parents[2] / "docs" / "publishing.md"
TESTIMONIALS = 300
CHANGES = 12
OTHERS = 5
SECONDS = 4
VIEWS_A_DAY = 100_000_000
FRAME = """daemon off; user root; pid {folder}/pid; error_log {folder}/error.log;
worker_processes 1; worker_cpu_affinity {mask:b}; events {{ worker_connections 512; }}
http {{ include /etc/nginx/mime.types; access_log off;
server {{ listen 127.0.0.1:{port}; {location} }} }}
"""


def main() -> None:
    """Publish, change and serve; print what it took."""
    folder = Path(tempfile.mkdtemp(prefix="testimonials-bench-"))
    settings = {
        "publish_to": str(folder / "reviews"),
        "publish_url": "https://static.example.com/reviews",
        "log_level": "warning",
    }
    service = start_service(folder / "instance", (), settings)
    try:
        headers = service.sign_up()
        projects = [make_project(service, headers) for _ in range(1 + OTHERS)]
        path = f"/v1/projects/{projects[0]}/testimonials"
        for _ in range(TESTIMONIALS - 50):
            service.call("POST", path, VALUES, headers)
        own = folder / "reviews" / "widget" / projects[0]
        wait_for(lambda: len(list(own.glob("*.json"))) > 50, what="the files")
        print(f"{TESTIMONIALS} testimonials: {len(list(own.iterdir()))} files")
        print_changes("idle", service, headers, path, own)
        with load(service, headers, projects[1:], folder):
            print_changes("under load", service, headers, path, own)
        with serve(folder) as url:
            print_rates(f"{url}/reviews/widget/{projects[0]}/feed.lang-en.json", folder)
    finally:
        service.kill()
        shutil.rmtree(folder, ignore_errors=True)


def print_changes(
    name: str, service: Service, headers: dict[str, str], path: str, own: Path
) -> None:
    """Add testimonials, and print after how long what the widget shows was out, and all."""
    files = ("feed.lang-en.json", "wall.lang-en.html", "feed.shape-popup.lang-en.json")
    times: dict[str, list[float]] = {file: [] for file in files}
    for number in range(CHANGES):
        text = f"Words that nobody else wrote, {name} {number}."
        assert service.call("POST", path, VALUES | {"text": text}, headers).status == 200
        start = time.monotonic()
        for file in files:
            wait_for(partial(_holds, own / file, text), what=file)
            times[file].append(time.monotonic() - start)
        # For the rest of the files.
        time.sleep(1)
    for file, seconds in times.items():
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{name}: {file:32} out after {middle:.2f} s, at most {most:.2f} s")


def _holds(file: Path, text: str) -> bool:
    return text in file.read_text()


@contextmanager
def load(
    service: Service, headers: dict[str, str], projects: list[str], folder: Path
) -> Iterator[None]:
    """Let visitors ask for as much as is answered, and others write twice a second."""
    ending = threading.Event()

    def write() -> None:
        number = 0
        while not ending.wait(0.5):
            number += 1
            path = f"/v1/projects/{projects[number % len(projects)]}/testimonials"
            service.call("POST", path, VALUES, headers)

    case = Case("load", f"{service.url}/widget/{projects[0]}/feed?lang=en", {})
    views: list[float] = []
    threads = [
        threading.Thread(target=write),
        threading.Thread(target=lambda: views.append(measure(case, 3 * CHANGES, folder))),
    ]
    for thread in threads:
        thread.start()
    yield
    ending.set()
    for thread in threads:
        thread.join()
    print(f"meanwhile {views[0]:,.0f} views a second, and 2 writes to other projects")


def _is_answered(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve what is published with nginx on one core, as the document says."""
    program, port = find_program("nginx") or "/usr/sbin/nginx", free_port()
    found = re.search(r"```nginx\n(.*?)```", DOCUMENT.read_text(), re.S)
    assert found is not None
    location = found[1].replace("root /srv;", f"root {folder};")
    frame = FRAME.format(folder=folder, mask=1, port=port, location=location)
    (folder / "nginx.conf").write_text(frame)
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(partial(_is_answered, port), what="nginx")
        yield url
    finally:
        process.terminate()
        process.wait()


def print_rates(url: str, folder: Path) -> None:
    """Print what the host answers in a second, and what that is for a hundred million views."""
    with urllib.request.urlopen(url) as answer:
        etag, size = answer.headers["ETag"], len(answer.read())
    peak = 3 * VIEWS_A_DAY / 86400
    print(
        f"data of {size:,} bytes; {VIEWS_A_DAY:,} views a day are {peak:,.0f} a second at the peak"
    )
    for name, headers in (
        ("unchanged, 304", {"If-None-Match": etag}),
        ("whole", {}),
        ("compressed anew for each", {"Accept-Encoding": "gzip"}),
    ):
        rate = measure(Case(name, url, headers), SECONDS, folder)
        print(f"{name:32} {rate:10,.0f} a second, {rate / peak:.1f} times the peak")


if __name__ == "__main__":
    sys.exit(main())
