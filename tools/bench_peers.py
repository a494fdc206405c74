"""`scripts/bench peers`: the same load on this service and on Isso, in one run.

Isso is installed from PyPI into a folder of its own, so that its dependencies change nothing here.
Both have 50 items, on SQLite, with one process. Nothing here passes or fails.
"""

import json
import subprocess
import tempfile
import urllib.error
import urllib.request
import venv
from contextlib import ExitStack
from pathlib import Path

from tests.support.process import start_service
from tests.support.servers import free_port, wait_for
from tools.bench_paths import (
    ITEMS,
    TEXT,
    Case,
    make_project,
    open_floor,
    report_rates,
    resident_megabytes,
    writing,
)

ISSO = "isso==0.14.0"
PAGE = "?uri=%2Fpage"
# Without a title, Isso would request the page for it.
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
    """Load both in turn, for several rounds, and print the medians and their ratios."""
    with tempfile.TemporaryDirectory(prefix="testimonials-peers-") as home, ExitStack() as stack:
        folder = Path(home)
        floor = stack.enter_context(open_floor(folder))
        isso, peer = start_isso(folder)
        stack.callback(isso.kill)
        service = start_service(folder / "own", (), {"log_level": "warning"})
        stack.callback(service.kill)
        headers = service.sign_up()
        project = make_project(service, headers)
        as_json = {"Content-Type": "application/json"}
        pairs = (
            (
                Case("widget data, 50 items", f"{service.url}/widget/{project}/feed?lang=en", {}),
                Case("Isso, 50 items", f"{peer}/{PAGE}", {}),
            ),
            (
                writing(service, headers),
                Case("Isso, POST", f"{peer}/new?uri=%2Fother", as_json, COMMENT),
            ),
        )
        rates = report_rates([floor, *(case for pair in pairs for case in pair)], folder)
        for own, other in pairs:
            print(f"{own.name}: {rates[own.name] / rates[other.name]:.1f} times Isso's rate")
        (worker,) = service.workers
        memory = [resident_megabytes(pid) for pid in (worker, isso.pid)]
        print(f"memory of a worker: {memory[0]:.0f} MB, of Isso: {memory[1]:.0f} MB")


def start_isso(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Install and start Isso with 50 comments on a page; return its process and its URL."""
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


if __name__ == "__main__":
    main()
