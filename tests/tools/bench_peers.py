"""`scripts/bench peers`: the same load on this service and on Isso, in one run.

Isso comes from PyPI into a folder of its own, so that its dependencies touch nothing here. Both
hold 50 items, on SQLite, with one process. Nothing here passes or fails.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
from pathlib import Path

from tests.support.process import start_service
from tests.support.servers import free_port, wait_for
from tests.tools.bench_paths import (
    FLOOR,
    ITEMS,
    ROUNDS,
    SECONDS,
    TEXT,
    VALUES,
    Case,
    make_project,
    measure,
    resident_megabytes,
)

ISSO = "isso==0.14.0"
PAGE = "?uri=%2Fpage"
# With a title, or it would ask the page for its own.
COMMENT: dict[str, object] = {"author": "Maya Kowalski", "text": TEXT * 3, "title": "Page"}
CONFIG = """
[general]
dbpath = {folder}/comments.db
host = http://127.0.0.1:{port}/
[server]
listen = http://127.0.0.1:{port}
[guard]
enabled = false
"""


def main() -> None:
    """Load both in turn, some rounds of it, and print the medians and their ratios."""
    if shutil.which("wrk") is None:
        sys.exit("scripts/bench needs wrk: apt-get install wrk")
    folder = Path(tempfile.mkdtemp(prefix="testimonials-peers-"))
    isso, peer = start_isso(folder)
    port = free_port()
    floor = subprocess.Popen([sys.executable, "-c", FLOOR, str(port)])
    service = start_service(folder / "own", (), {"log_level": "warning"})
    try:
        headers = service.sign_up()
        project, second = make_project(service, headers), make_project(service, headers)
        posted = headers | {"Content-Type": "application/json"}
        cases = [
            Case("bare waitress, 1 kB (floor)", f"http://127.0.0.1:{port}/", {}),
            Case("widget data, 50 items", f"{service.url}/widget/{project}/feed?lang=en", {}),
            Case("Isso, 50 items", f"{peer}/{PAGE}", {}),
            Case(
                "POST testimonial, durable",
                f"{service.url}/v1/projects/{second}/testimonials",
                posted,
                dict(VALUES),
            ),
            Case(
                "Isso, POST",
                f"{peer}/new?uri=%2Fother",
                {"Content-Type": "application/json"},
                COMMENT,
            ),
        ]
        wait_for(lambda: measure(cases[0], 1, folder) > 0, what="the floor")
        report(cases, folder)
        (worker,) = service.workers
        own, other = (resident_megabytes(pid) for pid in (worker, isso.pid))
        print(f"memory of a worker: {own:.0f} MB, of Isso: {other:.0f} MB")
    finally:
        for process in (floor, isso):
            process.kill()
        service.kill()
        shutil.rmtree(folder, ignore_errors=True)


def start_isso(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Install and start Isso with 50 comments of a page; return it with its address."""
    port, config = free_port(), folder / "isso.conf"
    config.write_text(CONFIG.format(folder=folder, port=port))
    venv.create(folder / "isso", with_pip=True)
    subprocess.run([folder / "isso/bin/pip", "install", "--quiet", ISSO], check=True)
    log = (folder / "isso.log").open("wb")
    process = subprocess.Popen(
        [folder / "isso/bin/isso", "-c", config, "run"], stdout=log, stderr=subprocess.STDOUT
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: _answers(url), what="Isso")
        body = json.dumps(COMMENT).encode()
        for _ in range(ITEMS):
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{url}/new{PAGE}", body, headers)
            urllib.request.urlopen(request).close()
    except BaseException:
        process.kill()
        raise
    return process, url


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/info").close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def report(cases: list[Case], folder: Path) -> None:
    """Load the cases and print each one's median and its ratio to the first one."""
    rates: dict[str, list[float]] = {case.name: [] for case in cases}
    for _ in range(ROUNDS):
        for case in cases:
            rates[case.name].append(measure(case, SECONDS, folder))
    medians = {name: statistics.median(values) for name, values in rates.items()}
    floor = medians[cases[0].name]
    for name, rate in medians.items():
        print(f"{name:32} {rate:10,.0f} req/s  {rate / floor:6.3f} of the floor")
    for own, peer in (cases[1:3], cases[3:5]):
        print(f"{own.name}: {medians[own.name] / medians[peer.name]:.1f} times Isso's rate")


if __name__ == "__main__":
    main()
