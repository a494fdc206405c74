"""The part of `scripts/bench` about processes: two workers and one, memory, the single binary."""

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.process import COMMAND, Service, start_service

# What every start has to import.
IMPORTS = "import flask, flask_sqlalchemy, sqlalchemy.orm"
BINARY = Path(__file__).parents[1] / "dist" / "testimonials"


def measure_workers(
    service: Service, folder: Path, cases: Sequence[Any], measure: Callable[[Any], float]
) -> None:
    """Print the rates of two workers, and their ratios to the one of `service`, on one database.

    The load comes from the same machine: if that has two cores, the two workers share them with a
    third process, so this is a lower bound.
    """
    pair = start_service(folder, (), {"workers": "2", "log_level": "warning"})
    try:
        for case in cases:
            other = replace(case, url=case.url.replace(service.url, pair.url))
            one, two = [], []
            for _ in range(3):
                one.append(measure(case))
                two.append(measure(other))
            rates = statistics.median(one), statistics.median(two)
            ratio = rates[1] / rates[0]
            print(f"{case.name:32} {rates[1]:10,.0f} req/s  {ratio:6.2f} x one worker")
        print(f"memory of two workers and their parent: {_describe_memory(pair)}")
        own = [f"{read_megabytes(pid, 'Private_'):.0f}" for pid in pair.workers]
        print(f"of which the workers' own: {' + '.join(own)} MB")
    finally:
        pair.kill()


def _describe_memory(service: Service) -> str:
    pids = [service.process.pid, *service.workers]
    # Shared pages are counted once: each process has its share of them.
    return " + ".join(f"{read_megabytes(pid, 'Pss:'):.0f}" for pid in pids) + " MB"


def read_megabytes(pid: int, kind: str) -> float:
    """Return the sum of the lines in `smaps_rollup` that begin with `kind`."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.findall(rf"^{kind}\w*:?\s+(\d+) kB", text, re.MULTILINE)
    return sum(map(int, found)) / 1024


def measure_start(folder: Path, rounds: int) -> None:
    """Print how long it takes from the start to the first page, with a database and without."""
    for name, command in (("installed", COMMAND), ("one file", (str(BINARY),))):
        first = [_time_start(folder / f"{name}-{number}", command) for number in range(rounds)]
        later = [_time_start(folder, command) for _ in range(rounds)]
        print(
            f"start to first page, {name}: {statistics.median(later) * 1000:.0f} ms, "
            f"the very first {statistics.median(first) * 1000:.0f} ms"
        )
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORTS], check=True)
        times.append(time.perf_counter() - begun)
    print(f"importing Flask and SQLAlchemy alone: {statistics.median(times) * 1000:.0f} ms")
    print(f"size of the one file: {BINARY.stat().st_size / 1e6:.1f} MB")


def _time_start(instance: Path, command: Sequence[str]) -> float:
    begun = time.perf_counter()
    service = start_service(instance, (), {}, command=command)
    assert service.call("GET", "/").status == 200
    seconds = time.perf_counter() - begun
    # After `kill` alone, the single binary would leave behind what it has unpacked.
    assert service.stop() == 0
    service.kill()
    return seconds
