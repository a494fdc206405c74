"""`scripts/bench costs`: what the largest input of each kind costs a running service.

For each input: the processor time of the worker, the longest time that anything in it held the
interpreter, and the slowest `/healthz` meanwhile. Other work on the machine can only add to these,
so the figures are the lowest of several rounds. Holds over 50 ms, and a `/healthz` over 100 ms, are
marked.
"""

import http.client
import mmap
import shutil
import struct
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from testimonials import create_app
from testimonials.core.extensions import limiter
from testimonials.core.settings.table import load_settings
from tests.support.largest_inputs import TAKEN, Input, Place, Sent, draw_words, list_inputs
from tests.support.process import Service, start_service
from tools.bench_memory import sign_in

ROUNDS = 5
MOST_HOLD, MOST_WAIT = 50.0, 100.0
SLUG = "costs"

# In each worker, a thread asks for the interpreter every millisecond. It notes how long it had to
# wait, and the processor time of the worker.
WATCHED = """
import mmap, os, struct, sys, threading, time
def watch():
    with open(f"{folder}/{{os.getpid()}}", "w+b") as file:
        file.write(bytes(16))
        file.flush()
        noted = mmap.mmap(file.fileno(), 16)
    while True:
        begin = time.perf_counter()
        time.sleep(0.001)
        waited = (time.perf_counter() - begin) * 1000 - 1
        waited = max(waited, struct.unpack("dd", noted)[0])
        noted[:] = struct.pack("dd", waited, time.process_time() * 1000)
os.register_at_fork(after_in_child=lambda: threading.Thread(target=watch, daemon=True).start())
sys.argv[0] = "testimonials"
from testimonials.__main__ import main
main()
"""


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="testimonials-costs-"))
    try:
        command = (sys.executable, "-c", WATCHED.format(folder=folder))
        settings = {"min_form_seconds": "0", "log_level": "error", "flood_per_hour": "0"}
        service = start_service(folder / "instance", (), settings, command=command)
        try:
            meter = Meter(service, folder)
            print("| input | at most | processor | longest hold | slowest /healthz |")
            print("|---|---|---|---|---|")
            for each in list_inputs():
                meter.measure(each)
        finally:
            service.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Meter:
    """A running service with a project, on which inputs are measured."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        with (folder / str(service.workers[0])).open("r+b") as file:
            self.noted = mmap.mmap(file.fileno(), 16)
        key = service.sign_up()
        project = service.make_project(key, slug=SLUG)
        said = {"authorName": "Maya", "text": draw_words(0, 2000)}
        made = service.call("POST", f"/v1/projects/{project}/testimonials", said, key)
        self.app = create_app(load_settings({}, {"instance_path": str(folder / "instance")}))
        session = {"Cookie": sign_in(self.app, key)}
        self.place = Place(project, SLUG, made.data["_id"], key, session)

    def measure(self, each: Input) -> None:
        if each.before is not None:
            self.send(each.before(self.place, each.size))
        sent = each.make(self.place, each.size)
        status = self.send(sent)
        assert status in TAKEN, (each.name, status)
        costs, holds, waits = zip(*(self.try_once(sent) for _ in range(ROUNDS)), strict=True)
        cost, hold, wait = min(costs), min(holds), min(waits)
        mark = " **too long**" * (hold > MOST_HOLD or wait > MOST_WAIT)
        cells = (each.name, each.most, f"{cost:.0f} ms", f"{hold:.0f} ms", f"{wait:.0f} ms{mark}")
        print(f"| {' | '.join(cells)} |", flush=True)

    def try_once(self, sent: Sent) -> tuple[float, float, float]:
        """Return the three figures of one request, in milliseconds."""
        self.noted[:8] = bytes(8)
        _, before = self.read_noted()
        self.send(sent)
        hold, after = self.read_noted()
        done = threading.Event()
        work = threading.Thread(target=lambda: (self.send(sent), done.set()))
        work.start()
        wait = self.watch_health(done)
        work.join()
        return after - before, hold, wait

    def watch_health(self, done: threading.Event) -> float:
        """Return how many milliseconds the slowest answer took until `done` was set."""
        longest = 0.0
        with closing(self.connect()) as connection:
            while not done.is_set():
                begin = time.perf_counter()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                longest = max(longest, time.perf_counter() - begin)
                time.sleep(0.002)
        return longest * 1000

    def send(self, sent: Sent) -> int:
        """Send a request, and open the preview if it was a file; return the status."""
        with self.app.app_context():
            limiter.storage.reset()
        headers = {"Origin": self.service.url} | sent.headers
        with closing(self.connect()) as connection:
            connection.request(sent.method, sent.path, sent.body, headers)
            answer = connection.getresponse()
            answer.read()
        if "/imports/" in (place := answer.headers.get("Location", "")):
            return self.send(Sent("GET", place, headers=sent.headers))
        return answer.status

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.service.url).netloc, timeout=60)

    def read_noted(self) -> tuple[float, float]:
        """Return the longest wait so far and the processor time, in milliseconds."""
        time.sleep(0.02)
        waited, used = struct.unpack("dd", self.noted)
        return waited, used


if __name__ == "__main__":
    main()
